"""The grammar of PartiQL statements."""

from dataclasses import dataclass
from functools import lru_cache

from gateleg.engine.partiql.errors import TextRange, malformed
from gateleg.engine.partiql.grammar import Expressions
from gateleg.engine.partiql.tokens import END, KEYWORD, NAME, QUOTED, Token
from gateleg.engine.partiql.trees import (
    Assign,
    CollectionLiteral,
    DeleteStatement,
    Drop,
    ExpressionStatement,
    InsertStatement,
    OrderTerm,
    SelectStatement,
    Statement,
    Tree,
    UpdateStatement,
)

_RETURNING = "Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element."
_RESERVED = frozenset({"update", "delete", "select", "from", "where", "set", "remove"})
#: Binds tighter than the operators that join whole queries.
_IN_SELECT = 6


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A statement and its number of parameters."""

    statement: Statement
    parameters: int


@lru_cache(maxsize=1024)
def parse(text: str) -> ParsedStatement:
    """Parse a statement, cached; raises `StatementError` for a syntax error."""
    reader = _Statements(text)
    statement = reader.statement()
    if reader.skip(";"):
        if reader.next.kind != END:
            raise malformed("Unexpected token after semicolon. (Only one query is allowed.)")
    elif reader.next.kind != END:
        raise malformed("Unexpected token after expression")
    return ParsedStatement(statement, reader.parameters)


class _Statements(Expressions):
    def statement(self) -> Statement:
        first = self.next
        if first.kind == KEYWORD:
            if first.text == "select":
                return self._select(self.take())
            if first.text == "insert" and self.at("into", 1):
                return self._insert(self.take())
            if first.text == "update":
                return self._update(self.take())
            if first.text == "delete":
                return self._delete(self.take())
            if first.text == "from":
                return self._from_first(self.take())
            if first.text in ("set", "remove"):
                self._actions()
                raise malformed("Unexpected keyword")
        return ExpressionStatement(self.expression())

    def _select(self, first: Token) -> SelectStatement:
        unsupported: tuple[str, TextRange] | None = None
        if self.at("distinct"):
            unsupported = ("DISTINCT", self.take().text_range)
        else:
            self.skip("all")
        if self.at("value"):
            unsupported = unsupported or ("SELECT VALUE", self.next.text_range)
            self.take()
        columns, aliased = self._columns()
        if not self.skip("from"):
            raise malformed("Expected FROM after SELECT list")
        source, alias = self._source()
        where = self.expression(_IN_SELECT) if self.skip("where") else None
        unsupported = unsupported or self._unsupported_clause(("group", "having"))
        order: tuple[OrderTerm, ...] = ()
        if self.skip("order"):
            self.expect("by", "BY")
            order = tuple(self.listed(self._order))
        unsupported = unsupported or self._unsupported_clause(("limit", "offset"))
        return SelectStatement(columns, source, where, order, aliased or alias, unsupported, first.text_range)

    def _unsupported_clause(self, words: tuple[str, ...]) -> tuple[str, TextRange] | None:
        """Skip clauses that DynamoDB does not support; returns the first, with the position after its keyword."""
        found: tuple[str, TextRange] | None = None
        for word in words:
            if self.skip(word):
                if word == "group":
                    self.expect("by", "BY")
                text_range = self.next.text_range
                self.listed(lambda: self.expression(_IN_SELECT))
                found = found or ("GROUP BY" if word == "group" else word.upper(), text_range)
        return found

    def _columns(self) -> tuple[tuple[Tree, ...], bool]:
        if self.skip("*"):
            if self.at(","):
                raise malformed("Other expressions may not be present in the select list when '*' is used without dot notation.")
            return (), False
        found = self.listed(self._column)
        return tuple(tree for tree, _ in found), any(aliased for _, aliased in found)

    def _column(self) -> tuple[Tree, bool]:
        token = self.next
        if token.kind == KEYWORD and token.text in _RESERVED:
            raise malformed(f"Expected identifier or an expression but found unexpected keyword '{token.text}' in a select list.")
        if self.at("*"):
            raise malformed("Other expressions may not be present in the select list when '*' is used without dot notation.")
        return self.expression(), self._alias()

    def _source(self) -> tuple[Tree, bool]:
        """The source after FROM; several, which DynamoDB refuses, become a list."""
        text_range = self.next.text_range
        aliased = False
        sources: list[Tree] = []
        while True:
            sources.append(self.expression(_IN_SELECT))
            aliased = self._alias() or aliased
            if not self.skip(","):
                break
        return (sources[0] if len(sources) == 1 else CollectionLiteral("list", tuple(sources), text_range)), aliased

    def _alias(self) -> bool:
        """Consume an alias (`AS name`, or only the name); returns whether there was one."""
        explicit = self.skip("as")
        if self.next.kind in (NAME, QUOTED):
            self.take()
            return True
        if explicit:
            raise malformed("Expected identifier for AS-alias")
        return False

    def _order(self) -> OrderTerm:
        key = self.expression()
        descending = not self.skip("asc") and self.skip("desc")
        return OrderTerm(key, not descending)

    def _insert(self, first: Token) -> InsertStatement:
        self.take()
        target = self.simple_path()
        if not self.skip("value"):
            # DynamoDB does not support several rows; its message comes from the remaining tokens.
            rows = self.expression()
            return InsertStatement(target, CollectionLiteral("rows", (rows,), rows.text_range), None, first.text_range)
        item = self.expression()
        return InsertStatement(target, item, self._returning(), first.text_range)

    def _update(self, first: Token) -> UpdateStatement:
        target = self.simple_path()
        aliased = self._alias()
        actions = self._actions()
        where = self.expression() if self.skip("where") else None
        return UpdateStatement(target, actions, where, self._returning(), aliased, first.text_range)

    def _from_first(self, first: Token) -> UpdateStatement:
        target, aliased = self._source()
        where = self.expression() if self.skip("where") else None
        actions = self._actions()
        return UpdateStatement(target, actions, where, self._returning(), aliased, first.text_range)

    def _actions(self) -> tuple[Assign | Drop, ...]:
        actions: list[Assign | Drop] = []
        while True:
            if self.skip("set"):
                actions += self.listed(self._assignment)
            elif self.skip("remove"):
                actions.append(Drop(self.simple_path()))
            elif actions:
                return tuple(actions)
            else:
                raise malformed("Expected data manipulation")

    def _assignment(self) -> Assign:
        path = self.simple_path()
        if not self.skip("="):
            raise malformed("Expected '='")
        return Assign(path, self.expression())

    def _delete(self, first: Token) -> DeleteStatement:
        if not self.skip("from"):
            raise malformed("Expected FROM after DELETE")
        target = self.simple_path()
        aliased = self._alias()
        where = self.expression() if self.skip("where") else None
        return DeleteStatement(target, where, self._returning(), aliased, first.text_range)

    def _returning(self) -> str | None:
        """Parse a RETURNING clause, such as `ALL OLD *`."""
        if not self.skip("returning"):
            return None
        scope, image = self.take(), self.take()
        if scope.kind != KEYWORD or scope.text not in ("modified", "all") or image.text not in ("old", "new") or image.kind != KEYWORD:
            raise malformed(_RETURNING)
        if not self.skip("*"):
            self.expression()
            raise malformed("Unsupported syntax in RETURNING columns.")
        return f"{scope.text} {image.text} *".upper()
