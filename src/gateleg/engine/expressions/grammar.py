"""The tokens and the grammar of expressions: conditions (also filters and key conditions), and updates.

The parsers have their own stacks instead of recursion: 4,096 bytes of parentheses must end in DynamoDB's error, not in ours.
"""

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

from gateleg.engine.expressions.nodes import (
    Action,
    Add,
    Alias,
    And,
    Arithmetic,
    Between,
    Call,
    Compare,
    Delete,
    In,
    InvalidExpression,
    Literal,
    Node,
    Not,
    Operand,
    Or,
    Part,
    Path,
    Remove,
    Set,
    Value,
)

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


CONDITION_KEYWORDS: Final = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN"})
COMPARATORS: Final = frozenset({"=", "<>", "<", "<=", ">", ">="})

_OPERAND = (Path, Value, Literal, Call)


@dataclass(frozen=True, slots=True)
class Clause:
    """A condition without AND, OR and NOT, with its paths and values (in order) and its calls (innermost first)."""

    node: Compare | Between | In | Call
    references: tuple[Path | Value, ...]
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class ConditionSource:
    """A parsed condition: the tree, and flat views of it for the rules."""

    root: Node
    clauses: tuple[Clause, ...]
    operators: int
    redundant: bool

    @property
    def references(self) -> tuple[Path | Value, ...]:
        """All paths and values, in order."""
        return tuple(reference for clause in self.clauses for reference in clause.references)

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls, innermost first."""
        return tuple(call for clause in self.clauses for call in clause.calls)


def parse_condition(text: str) -> ConditionSource:
    """Parse a condition; raises `InvalidExpression` for a syntax error."""
    return _ConditionParser(text).parse()


@dataclass(slots=True)
class _ConditionTerm:
    node: Operand | Node
    #: pairs of parentheses directly around it
    parens: int = 0
    settled: bool = False


@dataclass(slots=True)
class _PendingCondition:
    """An open construct on the stack: `( call in cmp between high not and or`."""

    kind: str
    text: str = ""
    start: int = 0
    operands_only: bool = False


@dataclass(slots=True)
class _ConditionParser:
    text: str
    terms: list[_ConditionTerm] = field(default_factory=list)
    pending: list[_PendingCondition] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    references: list[Path | Value] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    operators: int = 0
    redundant: bool = False
    cursor: TokenCursor = field(init=False)

    def __post_init__(self) -> None:
        self.cursor = TokenCursor(self.text, CONDITION_KEYWORDS)

    def parse(self) -> ConditionSource:
        wants_term = True
        while True:
            token = self.cursor.next
            if wants_term:
                wants_term = self._open(token)
            elif token.kind == END:
                return self._finish(token)
            else:
                wants_term = self._follow(self.cursor.take())

    def _open(self, token: Token) -> bool:
        """Consume the start of a term; returns whether a term is still expected."""
        if token.kind == KEYWORD and token.text == "NOT" and self._boolean():
            self.cursor.take()
            self._push("not")
        elif token.kind == SYMBOL and token.text == "(":
            self.cursor.take()
            self.pending.append(_PendingCondition("(", operands_only=not self._boolean()))
        elif token.kind == NAME and self.cursor.tokens[token.place + 1].text == "(":
            self.cursor.take()
            self.cursor.take()
            self.pending.append(_PendingCondition("call", token.text, len(self.terms)))
        elif token.kind in (NAME, ALIAS):
            self._refer(self.cursor.path())
            return False
        elif token.kind == VALUE:
            self._refer(Value(self.cursor.take().text))
            return False
        else:
            raise self.cursor.unexpected(token)
        return True

    def _follow(self, token: Token) -> bool:
        """Consume what follows a term; returns whether a term is expected next."""
        if token.kind == SYMBOL and token.text in COMPARATORS:
            self._compare(token, _PendingCondition("cmp", token.text))
        elif token.kind == SYMBOL and token.text == ")":
            self._close(token)
            return False
        elif token.kind == SYMBOL and token.text == ",":
            if not self.pending or self.pending[-1].kind not in ("call", "in"):
                raise self.cursor.unexpected(token)
        elif token.kind == SYMBOL and token.text in (".", "["):
            self._extend(token)
            return False
        elif token.kind == KEYWORD and token.text == "BETWEEN":
            self._compare(token, _PendingCondition("between"))
        elif token.kind == KEYWORD and token.text == "IN":
            self._compare(token, _PendingCondition("in", start=len(self.terms)))
            self.cursor.take_symbol("(")
        elif token.kind == KEYWORD and token.text in ("AND", "OR"):
            self._join(token)
        else:
            raise self.cursor.unexpected(token)
        return True

    def _boolean(self) -> bool:
        """Whether a condition is allowed here, and not only an operand."""
        if not self.pending:
            return True
        mark = self.pending[-1]
        return mark.kind in ("not", "and", "or") or (mark.kind == "(" and not mark.operands_only)

    def _push(self, kind: str) -> None:
        self.operators += 1
        self.pending.append(_PendingCondition(kind))

    def _refer(self, reference: Path | Value) -> None:
        self.references.append(reference)
        self.terms.append(_ConditionTerm(reference))

    def _compare(self, token: Token, mark: _PendingCondition) -> None:
        term = self.terms[-1]
        if term.settled or not isinstance(term.node, _OPERAND) or not self._boolean():
            raise self.cursor.unexpected(token)
        self.operators += 1
        self.pending.append(mark)

    def _extend(self, token: Token) -> None:
        """Continue a path in parentheses, as in `(a.b).c`."""
        term = self.terms[-1]
        if not isinstance(term.node, Path) or not term.parens:
            raise self.cursor.unexpected(token)
        self.cursor.index -= 1
        longer = self.cursor.extend(term.node)
        self.references[-1] = longer
        self.terms[-1] = _ConditionTerm(longer)

    def _join(self, token: Token) -> None:
        if token.text == "AND" and self.pending and self.pending[-1].kind == "between":
            self.pending[-1].kind = "high"
            return
        self._reduce(token)
        if not self._boolean():
            raise self.cursor.unexpected(token)
        self._condition(token)
        self._collapse(("not", "and") if token.text == "AND" else ("not", "and", "or"))
        self._push(token.text.lower())

    def _close(self, token: Token) -> None:
        self._reduce(token)
        if self.pending and self.pending[-1].kind in ("not", "and", "or"):
            self._condition(token)
            self._collapse(("not", "and", "or"))
        if not self.pending:
            raise self.cursor.unexpected(token)
        mark = self.pending.pop()
        if mark.kind == "(":
            term = self.terms[-1]
            term.parens += 1
            self.redundant = self.redundant or term.parens > 1
            return
        args = tuple(cast("Operand", term.node) for term in self.terms[mark.start :])
        del self.terms[mark.start :]
        if mark.kind == "call":
            call = Call(mark.text, args)
            self.calls.append(call)
            self.terms.append(_ConditionTerm(call))
        else:
            self._settle(In(self._pop(), args))

    def _finish(self, token: Token) -> ConditionSource:
        self._reduce(token)
        if not self._boolean():
            raise self.cursor.unexpected(token)
        self._condition(token)
        self._collapse(("not", "and", "or"))
        if self.pending:
            raise self.cursor.unexpected(token)
        return ConditionSource(cast("Node", self.terms[0].node), tuple(self.clauses), self.operators, self.redundant)

    def _reduce(self, token: Token) -> None:
        """Build the comparison that ends here, if one does."""
        if not self.pending:
            return
        mark = self.pending[-1]
        if mark.kind == "between":
            raise self.cursor.unexpected(token)
        if mark.kind == "cmp":
            self.pending.pop()
            right, left = self._pop(), self._pop()
            self._settle(Compare(mark.text, left, right))
        elif mark.kind == "high":
            self.pending.pop()
            high, low, operand = self._pop(), self._pop(), self._pop()
            self._settle(Between(operand, low, high))

    def _pop(self) -> Operand:
        return cast("Operand", self.terms.pop().node)

    def _settle(self, node: Compare | Between | In | Call) -> None:
        """Record a finished clause with everything read since the one before."""
        self.clauses.append(Clause(node, tuple(self.references), tuple(self.calls)))
        self.references.clear()
        self.calls.clear()
        self.terms.append(_ConditionTerm(node, settled=True))

    def _condition(self, token: Token) -> None:
        """Require the last term to be a condition; a call becomes one here."""
        term = self.terms[-1]
        if term.settled:
            return
        if not isinstance(term.node, Call):
            raise self.cursor.unexpected(token)
        self.terms.pop()
        self._settle(term.node)
        self.terms[-1].parens = term.parens

    def _collapse(self, kinds: tuple[str, ...]) -> None:
        """Apply pending connectives of these kinds; nested ANDs and ORs are flattened."""
        while self.pending and self.pending[-1].kind in kinds:
            kind = self.pending.pop().kind
            node = cast("Node", self.terms.pop().node)
            if kind == "not":
                node = Not(node)
            elif kind == "and":
                node = And(_flat(And, cast("Node", self.terms.pop().node)) + _flat(And, node))
            else:
                node = Or(_flat(Or, cast("Node", self.terms.pop().node)) + _flat(Or, node))
            self.terms.append(_ConditionTerm(node, settled=True))


def _flat(kind: type[And] | type[Or], node: Node) -> tuple[Node, ...]:
    return node.parts if isinstance(node, And | Or) and isinstance(node, kind) else (node,)


UPDATE_KEYWORDS: Final = frozenset({"SET", "REMOVE", "ADD", "DELETE"})


@dataclass(frozen=True, slots=True)
class UpdateSource:
    """A parsed update: the actions, and flat views of them for the rules."""

    actions: tuple[Action, ...]
    #: the keywords of the sections, in order
    sections: tuple[str, ...]
    #: all paths and values, in order
    references: tuple[Path | Value, ...]
    #: all calls and sums, innermost first
    calls: tuple[Call | Arithmetic, ...]
    redundant: bool


def parse_update(text: str) -> UpdateSource:
    """Parse an update; raises `InvalidExpression` for a syntax error."""
    return _UpdateParser(text).parse()


@dataclass(slots=True)
class _UpdateTerm:
    node: Operand | Arithmetic
    parens: int = 0


@dataclass(slots=True)
class _PendingUpdate:
    """An open construct on the stack: `(`, `call` or `sum`."""

    kind: str
    text: str = ""
    start: int = 0


@dataclass(slots=True)
class _UpdateParser:
    text: str
    actions: list[Action] = field(default_factory=list)
    sections: list[str] = field(default_factory=list)
    references: list[Path | Value] = field(default_factory=list)
    calls: list[Call | Arithmetic] = field(default_factory=list)
    redundant: bool = False
    cursor: TokenCursor = field(init=False)

    def __post_init__(self) -> None:
        self.cursor = TokenCursor(self.text, UPDATE_KEYWORDS)

    def parse(self) -> UpdateSource:
        while True:
            token = self.cursor.take()
            if token.kind != KEYWORD:
                raise self.cursor.unexpected(token)
            self._section(token.text)
            if self.cursor.next.kind == END:
                break
        return UpdateSource(tuple(self.actions), tuple(self.sections), tuple(self.references), tuple(self.calls), self.redundant)

    def _section(self, keyword: str) -> None:
        self.sections.append(keyword)
        while True:
            self.actions.append(self._action(keyword))
            if not self.cursor.at_symbol(","):
                return
            self.cursor.take()

    def _action(self, keyword: str) -> Action:
        path = self.cursor.path()
        self.references.append(path)
        if keyword == "REMOVE":
            return Remove(path)
        if keyword == "SET":
            self.cursor.take_symbol("=")
            return Set(path, _ValueParser(self).parse())
        token = self.cursor.take()
        if token.kind != VALUE:
            raise self.cursor.unexpected(token)
        value = Value(token.text)
        self.references.append(value)
        return Add(path, value) if keyword == "ADD" else Delete(path, value)


@dataclass(slots=True)
class _ValueParser:
    """Parses the right-hand side of one SET action."""

    parser: _UpdateParser
    terms: list[_UpdateTerm] = field(default_factory=list)
    pending: list[_PendingUpdate] = field(default_factory=list)

    def parse(self) -> Operand | Arithmetic:
        cursor = self.parser.cursor
        wants_term = True
        while True:
            token = cursor.next
            if wants_term:
                wants_term = self._open(token)
            elif token.kind == SYMBOL and token.text in ("+", "-", ")", ","):
                if token.text == "," and not self._inside_call():
                    break
                cursor.take()
                wants_term = self._follow(token)
            else:
                break
        self._reduce()
        if self.pending:
            raise cursor.unexpected(cursor.next)
        return self.terms[0].node

    def _open(self, token: Token) -> bool:
        """Consume the start of a term; returns whether a term is still expected."""
        cursor = self.parser.cursor
        if token.kind == SYMBOL and token.text == "(":
            cursor.take()
            self.pending.append(_PendingUpdate("("))
            return True
        if token.kind == NAME and cursor.tokens[token.place + 1].text == "(":
            cursor.take()
            cursor.take()
            self.pending.append(_PendingUpdate("call", token.text, len(self.terms)))
            return True
        reference: Path | Value
        if token.kind in (NAME, ALIAS):
            reference = cursor.path()
        elif token.kind == VALUE:
            reference = Value(cursor.take().text)
        else:
            raise cursor.unexpected(token)
        self.parser.references.append(reference)
        self.terms.append(_UpdateTerm(reference))
        return False

    def _follow(self, token: Token) -> bool:
        """Consume what follows a term; returns whether a term is expected next."""
        if token.text == ")":
            self._close(token)
            return False
        if token.text in ("+", "-"):
            if any(mark.kind != "(" for mark in self.pending) or isinstance(self.terms[-1].node, Arithmetic):
                raise self.parser.cursor.unexpected(token)
            self.pending.append(_PendingUpdate("sum", token.text))
        return True

    def _inside_call(self) -> bool:
        return bool(self.pending) and self.pending[-1].kind == "call"

    def _close(self, token: Token) -> None:
        self._reduce()
        if not self.pending:
            raise self.parser.cursor.unexpected(token)
        mark = self.pending.pop()
        if mark.kind == "(":
            term = self.terms[-1]
            term.parens += 1
            self.parser.redundant = self.parser.redundant or term.parens > 1
            return
        call = Call(mark.text, tuple(cast("Operand", term.node) for term in self.terms[mark.start :]))
        del self.terms[mark.start :]
        self.parser.calls.append(call)
        self.terms.append(_UpdateTerm(call))

    def _reduce(self) -> None:
        """Build the sum that ends here, if one does."""
        if self.pending and self.pending[-1].kind == "sum":
            mark = self.pending.pop()
            right, left = self.terms.pop().node, self.terms.pop().node
            node = Arithmetic(mark.text, cast("Operand", left), cast("Operand", right))
            self.parser.calls.append(node)
            self.terms.append(_UpdateTerm(node))
