"""The grammar of PartiQL's statements."""

from dataclasses import dataclass
from functools import lru_cache

from gateleg.engine.partiql.faults import Place, malformed
from gateleg.engine.partiql.grammar import Expressions
from gateleg.engine.partiql.tokens import END, KEYWORD, NAME, QUOTED, Token
from gateleg.engine.partiql.trees import Assign, Bare, Collection, Delete, Drop, Insert, Order, Select, Statement, Tree, Update

_RETURNING = "Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element."
_RESERVED = frozenset({"update", "delete", "select", "from", "where", "set", "remove"})
#: Above the operators that join whole queries.
_IN_SELECT = 6


@dataclass(frozen=True, slots=True)
class Parsed:
    """A statement and how many parameters it takes."""

    statement: Statement
    parameters: int


@lru_cache(maxsize=1024)
def parse(text: str) -> Parsed:
    """The statement that a text is; raises `Refusal` if it is none."""
    reader = _Statements(text)
    statement = reader.statement()
    if reader.skip(";"):
        if reader.next.kind != END:
            raise malformed("Unexpected token after semicolon. (Only one query is allowed.)")
    elif reader.next.kind != END:
        raise malformed("Unexpected token after expression")
    return Parsed(statement, reader.parameters)


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
        return Bare(self.expression())

    def _select(self, first: Token) -> Select:
        unsupported: tuple[str, Place] | None = None
        if self.at("distinct"):
            unsupported = ("DISTINCT", self.take().place)
        else:
            self.skip("all")
        if self.at("value"):
            unsupported = unsupported or ("SELECT VALUE", self.next.place)
            self.take()
        columns, aliased = self._columns()
        if not self.skip("from"):
            raise malformed("Expected FROM after SELECT list")
        source, alias = self._source()
        where = self.expression(_IN_SELECT) if self.skip("where") else None
        unsupported = unsupported or self._unsupported_clause(("group", "having"))
        order: tuple[Order, ...] = ()
        if self.skip("order"):
            self.expect("by", "BY")
            order = tuple(self.listed(self._order))
        unsupported = unsupported or self._unsupported_clause(("limit", "offset"))
        return Select(columns, source, where, order, aliased or alias, unsupported, first.place)

    def _unsupported_clause(self, words: tuple[str, ...]) -> tuple[str, Place] | None:
        """Clauses of PartiQL that DynamoDB does not have; it points at what follows their keyword."""
        found: tuple[str, Place] | None = None
        for word in words:
            if self.skip(word):
                if word == "group":
                    self.expect("by", "BY")
                place = self.next.place
                self.listed(lambda: self.expression(_IN_SELECT))
                found = found or ("GROUP BY" if word == "group" else word.upper(), place)
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
        """What FROM names; several things, which DynamoDB refuses, become a list of them."""
        place = self.next.place
        aliased = False
        sources: list[Tree] = []
        while True:
            sources.append(self.expression(_IN_SELECT))
            aliased = self._alias() or aliased
            if not self.skip(","):
                break
        return (sources[0] if len(sources) == 1 else Collection("list", tuple(sources), place)), aliased

    def _alias(self) -> bool:
        """Whether another name follows (`AS name`, or only the name)."""
        explicit = self.skip("as")
        if self.next.kind in (NAME, QUOTED):
            self.take()
            return True
        if explicit:
            raise malformed("Expected identifier for AS-alias")
        return False

    def _order(self) -> Order:
        key = self.expression()
        descending = not self.skip("asc") and self.skip("desc")
        return Order(key, not descending)

    def _insert(self, first: Token) -> Insert:
        self.take()
        target = self.simple_path()
        if not self.skip("value"):
            # The form with several rows, which DynamoDB does not have: what it says comes from what is left over.
            rows = self.expression()
            return Insert(target, Collection("rows", (rows,), rows.place), None, first.place)
        item = self.expression()
        return Insert(target, item, self._returning(), first.place)

    def _update(self, first: Token) -> Update:
        target = self.simple_path()
        aliased = self._alias()
        actions = self._actions()
        where = self.expression() if self.skip("where") else None
        return Update(target, actions, where, self._returning(), aliased, first.place)

    def _from_first(self, first: Token) -> Update:
        target, aliased = self._source()
        where = self.expression() if self.skip("where") else None
        actions = self._actions()
        return Update(target, actions, where, self._returning(), aliased, first.place)

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

    def _delete(self, first: Token) -> Delete:
        if not self.skip("from"):
            raise malformed("Expected FROM after DELETE")
        target = self.simple_path()
        aliased = self._alias()
        where = self.expression() if self.skip("where") else None
        return Delete(target, where, self._returning(), aliased, first.place)

    def _returning(self) -> str | None:
        """What RETURNING asks for, such as `ALL OLD *`."""
        if not self.skip("returning"):
            return None
        scope, image = self.take(), self.take()
        if scope.kind != KEYWORD or scope.text not in ("modified", "all") or image.text not in ("old", "new") or image.kind != KEYWORD:
            raise malformed(_RETURNING)
        if not self.skip("*"):
            self.expression()
            raise malformed("Unsupported syntax in RETURNING columns.")
        return f"{scope.text} {image.text} *".upper()
