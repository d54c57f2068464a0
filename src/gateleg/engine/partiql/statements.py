"""From the text and parameters of a request to a command, in DynamoDB's order: parameters, grammar, table, command.

A command is a statement in terms of expressions and values, checked as far as possible without the table.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from gateleg.engine.catalog import Context
from gateleg.engine.errors import EngineError, validation
from gateleg.engine.expressions import CompiledUpdate, Item, Node, Values
from gateleg.engine.layout import Layout
from gateleg.engine.partiql import grammar
from gateleg.engine.partiql.conditions import (
    SelectedColumn,
    Target,
    columns,
    condition_of,
    is_path,
    keys_of,
    kind_of,
    literal,
    named_members,
    parameter_name,
    target,
    unsupported,
    update_of,
)
from gateleg.engine.partiql.grammar import (
    END,
    KEYWORD,
    NAME,
    QUOTED,
    Assign,
    CollectionLiteral,
    DeleteStatement,
    Drop,
    Expressions,
    ExpressionStatement,
    InsertStatement,
    OrderTerm,
    Parameter,
    SelectStatement,
    Statement,
    StatementError,
    Struct,
    TextRange,
    Token,
    Tree,
    UpdateStatement,
    malformed,
)
from gateleg.engine.values import validate

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
        first: tuple[str, TextRange] | None = None
        for word in words:
            if self.skip(word):
                if word == "group":
                    self.expect("by", "BY")
                text_range = self.next.text_range
                self.listed(lambda: self.expression(_IN_SELECT))
                first = first or ("GROUP BY" if word == "group" else word.upper(), text_range)
        return first

    def _columns(self) -> tuple[tuple[Tree, ...], bool]:
        if self.skip("*"):
            if self.at(","):
                raise malformed("Other expressions may not be present in the select list when '*' is used without dot notation.")
            return (), False
        selected = self.listed(self._column)
        return tuple(tree for tree, _ in selected), any(aliased for _, aliased in selected)

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


#: A term of ORDER BY: an attribute, and whether it is ascending.
SortKey = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class SelectCommand:
    """A SELECT; without columns it returns whole items."""

    target: Target
    columns: tuple[SelectedColumn, ...]
    where: Node | None
    order: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class ExistsCommand:
    """EXISTS: a condition on an item, for transactions."""

    read: SelectCommand

    @property
    def target(self) -> Target:
        """The table of the item to check."""
        return self.read.target

    @property
    def where(self) -> Node | None:
        """The item's key and the condition."""
        return self.read.where


@dataclass(frozen=True, slots=True)
class InsertCommand:
    """An INSERT."""

    target: Target
    item: Item


@dataclass(frozen=True, slots=True)
class UpdateCommand:
    """An UPDATE, with its literals."""

    target: Target
    update: CompiledUpdate
    literals: Values
    where: Node | None
    returning: str | None


@dataclass(frozen=True, slots=True)
class DeleteCommand:
    """A DELETE."""

    target: Target
    where: Node | None
    returning: str | None


Write = InsertCommand | UpdateCommand | DeleteCommand | ExistsCommand
Command = SelectCommand | Write


def target_of(statement: grammar.Statement) -> Target | None:
    """The table and index that a statement names, if it is well formed."""
    tree: Tree
    if isinstance(statement, grammar.ExpressionStatement):
        inner = _inner_select(statement)
        if inner is None:
            return None
        tree = inner.source
    else:
        tree = statement.source if isinstance(statement, grammar.SelectStatement) else statement.target
    try:
        return target(tree)
    except StatementError:
        return None


def is_read(statement: grammar.Statement) -> bool:
    """Whether a statement reads; EXISTS counts as a write."""
    return isinstance(statement, grammar.SelectStatement)


def command_of(statement: grammar.Statement, values: Values) -> Command:
    """The command of a statement with these parameters; raises `StatementError` if DynamoDB does not support it."""
    if isinstance(statement, grammar.SelectStatement):
        return _read(statement, values)
    if isinstance(statement, grammar.InsertStatement):
        return _create(statement, values)
    if isinstance(statement, grammar.UpdateStatement):
        where = _writable(statement.target, statement.aliased)
        condition = condition_of(statement.where, values) if statement.where is not None else None
        return UpdateCommand(where, *update_of(statement.actions, values), condition, statement.returning)
    if isinstance(statement, grammar.DeleteStatement):
        return _erase(statement, values)
    inner = _inner_select(statement)
    if inner is None:
        raise StatementError(f"Unsupported operation: {kind_of(statement.tree)}")
    return ExistsCommand(_read(inner, values))


def _inner_select(statement: grammar.ExpressionStatement) -> grammar.SelectStatement | None:
    tree = statement.tree
    if isinstance(tree, grammar.FunctionCall) and tree.name == "exists" and len(tree.arguments) == 1:
        (argument,) = tree.arguments
        return argument if isinstance(argument, grammar.SelectStatement) else None
    return None


def _read(statement: grammar.SelectStatement, values: Values) -> SelectCommand:
    source = target(statement.source)
    if statement.aliased:
        raise StatementError("Aliasing is not supported")
    if statement.unsupported is not None:
        clause, text_range = statement.unsupported
        raise StatementError(f"Unsupported clause: {clause}", text_range)
    selected = columns(statement.columns)
    where = condition_of(statement.where, values) if statement.where is not None else None
    return SelectCommand(source, selected, where, tuple(_term(order) for order in statement.order))


def _term(order: grammar.OrderTerm) -> SortKey:
    keys = keys_of(order.key) if is_path(order.key) else ()
    if len(keys) != 1:
        raise StatementError(f"Argument to ORDER BY must be of type VariableReference. Type: {kind_of(order.key)}")
    return str(keys[0]), order.ascending


def _create(statement: grammar.InsertStatement, values: Values) -> InsertCommand:
    into = target(statement.target)
    if into.index is not None:
        raise StatementError("FROM clause may only contain a single table name in data manipulation statements", into.text_range)
    if statement.returning is not None:
        raise StatementError("RETURNING is not supported in INSERT")
    tree = statement.item
    if isinstance(tree, Parameter):
        value = values[parameter_name(tree.position)]
        if "M" in value:
            return InsertCommand(into, value["M"])
    if not isinstance(tree, Struct):
        raise unsupported(tree)
    item = {}
    for name, member in named_members(tree):
        item[name] = values[parameter_name(member.position)] if isinstance(member, Parameter) else literal(member)
    return InsertCommand(into, item)


def _writable(tree: Tree, aliased: bool) -> Target:
    where = target(tree)
    if aliased:
        raise StatementError("Aliasing is not supported")
    if where.index is not None:
        raise StatementError("This operation is not supported on an index")
    return where


def _erase(statement: grammar.DeleteStatement, values: Values) -> DeleteCommand:
    where = _writable(statement.target, statement.aliased)
    if statement.returning not in (None, "ALL OLD *"):
        raise StatementError(
            f"Invalid returning clause: RETURNING {statement.returning}. Only RETURNING ALL OLD * is allowed in DELETE statements."
        )
    condition = condition_of(statement.where, values) if statement.where is not None else None
    return DeleteCommand(where, condition, statement.returning)


ONLY_IN_TRANSACTIONS: Final = "EXISTS can only be used in ExecuteTransaction write requests."
_SEVERAL_KEYS: Final = "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys."


@dataclass(frozen=True, slots=True)
class BoundStatement:
    """A well-formed statement with its parameters."""

    text: str
    statement: Statement
    parameters: list[Any]
    values: Values


@dataclass(frozen=True, slots=True)
class ResolvedCommand:
    """The command of a statement, and its table; None if the table does not exist."""

    command: Command
    values: Values
    layout: Layout | None


def bind_statement(text: str, parameters: list[Any]) -> BoundStatement:
    """Parse a statement and check its number of parameters."""
    try:
        parsed = parse(text)
    except StatementError as refusal:
        raise refusal.error(text) from None
    if parsed.parameters != len(parameters):
        raise validation("Number of parameters in request and statement don't match.")
    return BoundStatement(text, parsed.statement, parameters, {parameter_name(i): value for i, value in enumerate(parameters)})


def resolve_command(context: Context, bound: BoundStatement) -> ResolvedCommand:
    """Find a statement's table and derive its command."""
    layout = find_layout(context, bound)
    try:
        command = command_of(bound.statement, bound.values)
    except StatementError as refusal:
        raise refusal.error(bound.text) from None
    return ResolvedCommand(command, bound.values, layout)


def find_layout(context: Context, bound: BoundStatement) -> Layout | None:
    """The table of a statement, or None if it does not exist; refuses indexes that PartiQL cannot read."""
    target = target_of(bound.statement)
    if target is None:
        return None
    try:
        layout = context.layout(target.table)
        if target.index is not None and target.index not in layout.index_by_name:
            context.catalog.refresh()
            layout = context.layout(target.table)
    except EngineError as error:
        if error.code != "ResourceNotFoundException":
            raise
        return None
    index = layout.index_by_name.get(target.index) if target.index is not None else None
    if index is not None and (len(index.index.keys.hash) > 1 or len(index.index.keys.range) > 1):
        raise validation(_SEVERAL_KEYS)
    return layout


def read_parameters(parameters: list[Any] | None) -> list[Any]:
    """The parameters; raises DynamoDB's error for the first invalid one."""
    return [validate(value) for value in parameters or ()]
