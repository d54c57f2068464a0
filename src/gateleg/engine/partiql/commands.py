"""Commands: statements in terms of expressions and values, checked as far as possible without the table."""

from dataclasses import dataclass

from gateleg.engine.expressions import CompiledUpdate, Item, Node, Values
from gateleg.engine.partiql import trees
from gateleg.engine.partiql.assignments import update_of
from gateleg.engine.partiql.conditions import condition_of, parameter_name
from gateleg.engine.partiql.errors import StatementError
from gateleg.engine.partiql.literals import kind_of, literal, named_members, unsupported
from gateleg.engine.partiql.paths import SelectedColumn, Target, columns, is_path, keys_of, target
from gateleg.engine.partiql.trees import Parameter, Struct, Tree

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


def target_of(statement: trees.Statement) -> Target | None:
    """The table and index that a statement names, if it is well formed."""
    tree: Tree
    if isinstance(statement, trees.ExpressionStatement):
        inner = _inner_select(statement)
        if inner is None:
            return None
        tree = inner.source
    else:
        tree = statement.source if isinstance(statement, trees.SelectStatement) else statement.target
    try:
        return target(tree)
    except StatementError:
        return None


def is_read(statement: trees.Statement) -> bool:
    """Whether a statement reads; EXISTS counts as a write."""
    return isinstance(statement, trees.SelectStatement)


def command_of(statement: trees.Statement, values: Values) -> Command:
    """The command of a statement with these parameters; raises `StatementError` if DynamoDB does not support it."""
    if isinstance(statement, trees.SelectStatement):
        return _read(statement, values)
    if isinstance(statement, trees.InsertStatement):
        return _create(statement, values)
    if isinstance(statement, trees.UpdateStatement):
        where = _writable(statement.target, statement.aliased)
        condition = condition_of(statement.where, values) if statement.where is not None else None
        return UpdateCommand(where, *update_of(statement.actions, values), condition, statement.returning)
    if isinstance(statement, trees.DeleteStatement):
        return _erase(statement, values)
    inner = _inner_select(statement)
    if inner is None:
        raise StatementError(f"Unsupported operation: {kind_of(statement.tree)}")
    return ExistsCommand(_read(inner, values))


def _inner_select(statement: trees.ExpressionStatement) -> trees.SelectStatement | None:
    tree = statement.tree
    if isinstance(tree, trees.FunctionCall) and tree.name == "exists" and len(tree.arguments) == 1:
        (argument,) = tree.arguments
        return argument if isinstance(argument, trees.SelectStatement) else None
    return None


def _read(statement: trees.SelectStatement, values: Values) -> SelectCommand:
    source = target(statement.source)
    if statement.aliased:
        raise StatementError("Aliasing is not supported")
    if statement.unsupported is not None:
        clause, text_range = statement.unsupported
        raise StatementError(f"Unsupported clause: {clause}", text_range)
    wanted = columns(statement.columns)
    where = condition_of(statement.where, values) if statement.where is not None else None
    return SelectCommand(source, wanted, where, tuple(_term(order) for order in statement.order))


def _term(order: trees.OrderTerm) -> SortKey:
    keys = keys_of(order.key) if is_path(order.key) else ()
    if len(keys) != 1:
        raise StatementError(f"Argument to ORDER BY must be of type VariableReference. Type: {kind_of(order.key)}")
    return str(keys[0]), order.ascending


def _create(statement: trees.InsertStatement, values: Values) -> InsertCommand:
    into = target(statement.target)
    if into.index is not None:
        raise StatementError("FROM clause may only contain a single table name in data manipulation statements", into.text_range)
    if statement.returning is not None:
        raise StatementError("RETURNING is not supported in INSERT")
    given = statement.item
    if isinstance(given, Parameter):
        value = values[parameter_name(given.position)]
        if "M" in value:
            return InsertCommand(into, value["M"])
    if not isinstance(given, Struct):
        raise unsupported(given)
    item = {}
    for name, member in named_members(given):
        item[name] = values[parameter_name(member.position)] if isinstance(member, Parameter) else literal(member)
    return InsertCommand(into, item)


def _writable(tree: Tree, aliased: bool) -> Target:
    where = target(tree)
    if aliased:
        raise StatementError("Aliasing is not supported")
    if where.index is not None:
        raise StatementError("This operation is not supported on an index")
    return where


def _erase(statement: trees.DeleteStatement, values: Values) -> DeleteCommand:
    where = _writable(statement.target, statement.aliased)
    if statement.returning not in (None, "ALL OLD *"):
        raise StatementError(
            f"Invalid returning clause: RETURNING {statement.returning}. Only RETURNING ALL OLD * is allowed in DELETE statements."
        )
    condition = condition_of(statement.where, values) if statement.where is not None else None
    return DeleteCommand(where, condition, statement.returning)
