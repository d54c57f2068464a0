"""What a statement asks for: its tree, checked as far as it can be without the table, in terms of expressions and values."""

from dataclasses import dataclass

from gateleg.engine.expressions import Item, Node, Update, Values
from gateleg.engine.partiql import trees
from gateleg.engine.partiql.assignments import update_of
from gateleg.engine.partiql.conditions import condition_of, parameter_name
from gateleg.engine.partiql.faults import Refusal
from gateleg.engine.partiql.literals import kind_of, literal, named_members, unsupported
from gateleg.engine.partiql.paths import Column, Target, columns, is_path, keys_of, target
from gateleg.engine.partiql.trees import Parameter, Struct, Tree

#: A term of ORDER BY: an attribute, and whether its values shall rise.
Term = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class Read:
    """A SELECT; no columns means whole items."""

    target: Target
    columns: tuple[Column, ...]
    where: Node | None
    order: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """EXISTS: a condition on an item, for transactions."""

    read: Read

    @property
    def target(self) -> Target:
        """The table whose item is checked."""
        return self.read.target

    @property
    def where(self) -> Node | None:
        """The item's key, and the condition."""
        return self.read.where


@dataclass(frozen=True, slots=True)
class Create:
    """An INSERT."""

    target: Target
    item: Item


@dataclass(frozen=True, slots=True)
class Modify:
    """An UPDATE, with the literals that it sets."""

    target: Target
    update: Update
    literals: Values
    where: Node | None
    returning: str | None


@dataclass(frozen=True, slots=True)
class Erase:
    """A DELETE."""

    target: Target
    where: Node | None
    returning: str | None


Write = Create | Modify | Erase | Check
Command = Read | Write


def target_of(statement: trees.Statement) -> Target | None:
    """The table and index that a statement names, where that is plain to see."""
    tree: Tree
    if isinstance(statement, trees.Bare):
        inner = _inner_select(statement)
        if inner is None:
            return None
        tree = inner.source
    else:
        tree = statement.source if isinstance(statement, trees.Select) else statement.target
    try:
        return target(tree)
    except Refusal:
        return None


def is_read(statement: trees.Statement) -> bool:
    """Whether a statement reads; EXISTS is part of writing."""
    return isinstance(statement, trees.Select)


def command_of(statement: trees.Statement, values: Values) -> Command:
    """What a statement asks for, with these parameters; raises `Refusal` where DynamoDB has no such thing."""
    if isinstance(statement, trees.Select):
        return _read(statement, values)
    if isinstance(statement, trees.Insert):
        return _create(statement, values)
    if isinstance(statement, trees.Update):
        where = _writable(statement.target, statement.aliased)
        condition = condition_of(statement.where, values) if statement.where is not None else None
        return Modify(where, *update_of(statement.actions, values), condition, statement.returning)
    if isinstance(statement, trees.Delete):
        return _erase(statement, values)
    inner = _inner_select(statement)
    if inner is None:
        raise Refusal(f"Unsupported operation: {kind_of(statement.tree)}")
    return Check(_read(inner, values))


def _inner_select(statement: trees.Bare) -> trees.Select | None:
    tree = statement.tree
    if isinstance(tree, trees.Application) and tree.name == "exists" and len(tree.arguments) == 1:
        (argument,) = tree.arguments
        return argument if isinstance(argument, trees.Select) else None
    return None


def _read(statement: trees.Select, values: Values) -> Read:
    source = target(statement.source)
    if statement.aliased:
        raise Refusal("Aliasing is not supported")
    if statement.unsupported is not None:
        clause, place = statement.unsupported
        raise Refusal(f"Unsupported clause: {clause}", place)
    wanted = columns(statement.columns)
    where = condition_of(statement.where, values) if statement.where is not None else None
    return Read(source, wanted, where, tuple(_term(order) for order in statement.order))


def _term(order: trees.Order) -> Term:
    keys = keys_of(order.key) if is_path(order.key) else ()
    if len(keys) != 1:
        raise Refusal(f"Argument to ORDER BY must be of type VariableReference. Type: {kind_of(order.key)}")
    return str(keys[0]), order.ascending


def _create(statement: trees.Insert, values: Values) -> Create:
    into = target(statement.target)
    if into.index is not None:
        raise Refusal("FROM clause may only contain a single table name in data manipulation statements", into.place)
    if statement.returning is not None:
        raise Refusal("RETURNING is not supported in INSERT")
    given = statement.item
    if isinstance(given, Parameter):
        value = values[parameter_name(given.position)]
        if "M" in value:
            return Create(into, value["M"])
    if not isinstance(given, Struct):
        raise unsupported(given)
    item = {}
    for name, member in named_members(given):
        item[name] = values[parameter_name(member.position)] if isinstance(member, Parameter) else literal(member)
    return Create(into, item)


def _writable(tree: Tree, aliased: bool) -> Target:
    where = target(tree)
    if aliased:
        raise Refusal("Aliasing is not supported")
    if where.index is not None:
        raise Refusal("This operation is not supported on an index")
    return where


def _erase(statement: trees.Delete, values: Values) -> Erase:
    where = _writable(statement.target, statement.aliased)
    if statement.returning not in (None, "ALL OLD *"):
        raise Refusal(
            f"Invalid returning clause: RETURNING {statement.returning}. Only RETURNING ALL OLD * is allowed in DELETE statements."
        )
    condition = condition_of(statement.where, values) if statement.where is not None else None
    return Erase(where, condition, statement.returning)
