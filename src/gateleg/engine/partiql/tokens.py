"""The tokens of a PartiQL statement."""

import re
from typing import Final, NamedTuple

from gateleg.engine.partiql.errors import TextRange, malformed
from gateleg.engine.partiql.keywords import KEYWORDS

NAME: Final = "name"
QUOTED: Final = "quoted"
KEYWORD: Final = "keyword"
STRING: Final = "string"
NUMBER: Final = "number"
PARAMETER: Final = "parameter"
SYMBOL: Final = "symbol"
END: Final = "end"

#: Whitespace and both kinds of comments separate tokens.
_TOKEN = re.compile(
    r"(?:[ \t\r\n\f\v\xa0]|--[^\r\n]*|/\*.*?\*/)++"
    r"|(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)"
    r'|(?P<quoted>"(?:[^"]|"")*")'
    r"|(?P<string>'(?:[^']|'')*')"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![A-Za-z0-9_$.]))"
    r"|(?P<parameter>\?)"
    r"|(?P<wrong>/\*|[0-9])"
    r"|(?P<symbol><<|>>|<>|<=|>=|!=|\|\||[=<>()\[\]{},:;.*+/%-])",
    re.DOTALL,
)

_INTEGER_MAX = 2**31 - 1
_INTEGER_MIN = -(2**31)


class Token(NamedTuple):
    """A token: kind, text (keywords in lower case, quoted text without quotes), and position."""

    kind: str
    text: str
    text_range: TextRange


def tokenize(text: str) -> list[Token]:
    """The tokens of a statement, and a final END token."""
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup == "wrong":
            raise malformed()
        position = match.end()
        if match.lastgroup is not None:
            tokens.append(_token(match.lastgroup, match.group(), (match.start(), position)))
    tokens.append(Token(END, "", (len(text), len(text))))
    return tokens


def _token(kind: str, word: str, text_range: TextRange) -> Token:
    if kind == NAME:
        lower = word.lower()
        return Token(KEYWORD, lower, text_range) if lower in KEYWORDS else Token(NAME, word, text_range)
    if kind == QUOTED:
        return Token(QUOTED, word[1:-1].replace('""', '"'), text_range)
    if kind == STRING:
        return Token(STRING, word[1:-1].replace("''", "'"), text_range)
    if kind == NUMBER:
        _check_scale(word)
    elif word == "!=":
        return Token(SYMBOL, "<>", text_range)
    return Token(kind, word, text_range)


def _check_scale(word: str) -> None:
    """Refuse a number that Java cannot parse as a decimal, because its exponent or scale exceeds 32 bits."""
    mantissa, mark, exponent = word.lower().partition("e")
    if not mark:
        return
    if len(exponent) > 12:
        raise malformed()
    power = int(exponent)
    scale = len(mantissa.partition(".")[2]) - power
    if not (_INTEGER_MIN <= power <= _INTEGER_MAX and _INTEGER_MIN <= scale <= _INTEGER_MAX):
        raise malformed()
