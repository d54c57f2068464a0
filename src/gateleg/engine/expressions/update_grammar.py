"""The grammar of UpdateExpression. Like that of conditions, it has its own stack, so that no input can exhaust Python's."""

from dataclasses import dataclass, field
from typing import Final, cast

from gateleg.engine.expressions.nodes import Action, Add, Arithmetic, Call, Delete, Operand, Path, Remove, Set, Value
from gateleg.engine.expressions.tokens import ALIAS, END, KEYWORD, NAME, SYMBOL, VALUE, Token, TokenCursor

KEYWORDS: Final = frozenset({"SET", "REMOVE", "ADD", "DELETE"})


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
class _Term:
    node: Operand | Arithmetic
    parens: int = 0


@dataclass(slots=True)
class _Pending:
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
        self.cursor = TokenCursor(self.text, KEYWORDS)

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
    terms: list[_Term] = field(default_factory=list)
    pending: list[_Pending] = field(default_factory=list)

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
            self.pending.append(_Pending("("))
            return True
        if token.kind == NAME and cursor.tokens[token.place + 1].text == "(":
            cursor.take()
            cursor.take()
            self.pending.append(_Pending("call", token.text, len(self.terms)))
            return True
        reference: Path | Value
        if token.kind in (NAME, ALIAS):
            reference = cursor.path()
        elif token.kind == VALUE:
            reference = Value(cursor.take().text)
        else:
            raise cursor.unexpected(token)
        self.parser.references.append(reference)
        self.terms.append(_Term(reference))
        return False

    def _follow(self, token: Token) -> bool:
        """Consume what follows a term; returns whether a term is expected next."""
        if token.text == ")":
            self._close(token)
            return False
        if token.text in ("+", "-"):
            if any(mark.kind != "(" for mark in self.pending) or isinstance(self.terms[-1].node, Arithmetic):
                raise self.parser.cursor.unexpected(token)
            self.pending.append(_Pending("sum", token.text))
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
        self.terms.append(_Term(call))

    def _reduce(self) -> None:
        """Build the sum that ends here, if one does."""
        if self.pending and self.pending[-1].kind == "sum":
            mark = self.pending.pop()
            right, left = self.terms.pop().node, self.terms.pop().node
            node = Arithmetic(mark.text, cast("Operand", left), cast("Operand", right))
            self.parser.calls.append(node)
            self.terms.append(_Term(node))
