"""The grammar of ConditionExpression, FilterExpression and KeyConditionExpression.

An operator-precedence parser with its own stacks instead of recursion: 4,096 bytes of parentheses must end in DynamoDB's error,
not in ours.
"""

from dataclasses import dataclass, field
from typing import Final, cast

from gateleg.engine.expressions.nodes import And, Between, Call, Compare, In, Literal, Node, Not, Operand, Or, Path, Value
from gateleg.engine.expressions.tokens import ALIAS, END, KEYWORD, NAME, SYMBOL, VALUE, Token, TokenCursor

KEYWORDS: Final = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN"})
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
class _Term:
    node: Operand | Node
    #: pairs of parentheses directly around it
    parens: int = 0
    settled: bool = False


@dataclass(slots=True)
class _Pending:
    """An open construct on the stack: `( call in cmp between high not and or`."""

    kind: str
    text: str = ""
    start: int = 0
    operands_only: bool = False


@dataclass(slots=True)
class _ConditionParser:
    text: str
    terms: list[_Term] = field(default_factory=list)
    pending: list[_Pending] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    references: list[Path | Value] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    operators: int = 0
    redundant: bool = False
    cursor: TokenCursor = field(init=False)

    def __post_init__(self) -> None:
        self.cursor = TokenCursor(self.text, KEYWORDS)

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
            self.pending.append(_Pending("(", operands_only=not self._boolean()))
        elif token.kind == NAME and self.cursor.tokens[token.place + 1].text == "(":
            self.cursor.take()
            self.cursor.take()
            self.pending.append(_Pending("call", token.text, len(self.terms)))
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
            self._compare(token, _Pending("cmp", token.text))
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
            self._compare(token, _Pending("between"))
        elif token.kind == KEYWORD and token.text == "IN":
            self._compare(token, _Pending("in", start=len(self.terms)))
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
        self.pending.append(_Pending(kind))

    def _refer(self, reference: Path | Value) -> None:
        self.references.append(reference)
        self.terms.append(_Term(reference))

    def _compare(self, token: Token, mark: _Pending) -> None:
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
        self.terms[-1] = _Term(longer)

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
            self.terms.append(_Term(call))
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
        self.terms.append(_Term(node, settled=True))

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
            self.terms.append(_Term(node, settled=True))


def _flat(kind: type[And] | type[Or], node: Node) -> tuple[Node, ...]:
    return node.parts if isinstance(node, And | Or) and isinstance(node, kind) else (node,)
