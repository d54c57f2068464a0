"""The tokens of an expression, and syntax errors."""

import re
from typing import Final, NamedTuple

from gateleg.engine.expressions.errors import InvalidExpression
from gateleg.engine.expressions.nodes import Alias, Part, Path

#: DynamoDB's limit for an expression in UTF-8.
MAX_SIZE: Final = 4096

NAME: Final = "name"
KEYWORD: Final = "keyword"
ALIAS: Final = "alias"
VALUE: Final = "value"
NUMBER: Final = "number"
SYMBOL: Final = "symbol"
END: Final = "end"

_TOKEN = re.compile(
    r"[ \t\r\n]+"
    r"|(?P<name>[A-Za-z][A-Za-z0-9_]*)"
    r"|(?P<alias>#[A-Za-z0-9_]+)"
    r"|(?P<value>:[A-Za-z0-9_]+)"
    r"|(?P<number>[0-9]+)"
    r"|(?P<symbol><>|<=|>=|[=<>()\[\],.+-])"
    r"|(?P<unexpected>.)",
    re.DOTALL,
)


class Token(NamedTuple):
    """A token: kind, text (keywords in upper case), and position."""

    kind: str
    text: str
    start: int
    end: int
    place: int


def tokenize(text: str, keywords: frozenset[str]) -> list[Token]:
    """The tokens of a text, and a final END token; keywords are recognised in any case."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind is None:
            continue
        word = match.group()
        if kind == NAME and word.upper() in keywords:
            kind, word = KEYWORD, word.upper()
        tokens.append(Token(kind, word, match.start(), match.end(), len(tokens)))
    tokens.append(Token(END, "<EOF>", len(text), len(text), len(tokens)))
    return tokens


class TokenCursor:
    """A position in the tokens of an expression."""

    def __init__(self, text: str, keywords: frozenset[str] = frozenset()) -> None:
        if not text:
            raise InvalidExpression("The expression can not be empty;")
        self.text = text
        self.tokens = tokenize(text, keywords)
        self.index = 0

    @property
    def next(self) -> Token:
        """The next token, without consuming it."""
        return self.tokens[self.index]

    def take(self) -> Token:
        """Consume the next token; END is never consumed."""
        token = self.tokens[self.index]
        if token.kind != END:
            self.index += 1
        return token

    def take_symbol(self, text: str) -> Token:
        """Consume the next token, which must be this symbol."""
        token = self.take()
        if token.kind != SYMBOL or token.text != text:
            raise self.unexpected(token)
        return token

    def at_symbol(self, text: str) -> bool:
        """Whether the next token is this symbol."""
        token = self.tokens[self.index]
        return token.kind == SYMBOL and token.text == text

    def unexpected(self, token: Token) -> InvalidExpression:
        """The syntax error at a token: DynamoDB quotes it, and the text from the preceding to the following token."""
        index = token.place
        first = self.tokens[index - 1] if index else token
        last = token
        if token.kind == END:
            last = first
        elif self.tokens[index + 1].kind != END:
            last = self.tokens[index + 1]
        word = token.text if token.kind == END else self.text[token.start : token.end]
        return InvalidExpression(f'Syntax error; token: "{word}", near: "{self.text[first.start : last.end]}"')

    def path(self) -> Path:
        """Parse the document path at this position."""
        return self.extend(Path((self.element(self.take()),)))

    def extend(self, path: Path) -> Path:
        """Parse the `.member` and `[index]` parts that follow a path."""
        parts: list[Part] = list(path.parts)
        while True:
            if self.at_symbol("."):
                self.take()
                parts.append(self.element(self.take()))
            elif self.at_symbol("["):
                self.take()
                token = self.take()
                if token.kind != NUMBER:
                    raise self.unexpected(token)
                parts.append(int(token.text))
                self.take_symbol("]")
            else:
                return Path(tuple(parts))

    def element(self, token: Token) -> Part:
        """A name or alias as a part of a path."""
        if token.kind == NAME:
            return token.text
        if token.kind == ALIAS:
            return Alias(token.text)
        raise self.unexpected(token)
