"""Plans of SELECTs: key ranges if the condition fixes partitions, otherwise a scan.

A condition that names partitions is split into branches, one for each read (`pk IN ['a', 'b']` has two). Parts of it that do not mention
a key stay whole: they are filters.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from gateleg.engine import keys
from gateleg.engine.errors import EngineError, validation
from gateleg.engine.expressions import And, Between, Call, Compare, In, Literal, Node, Operand, Or, Path, Value, Values
from gateleg.engine.expressions.conditions import NO_NAMES, paths_in
from gateleg.engine.expressions.functions import constant
from gateleg.engine.operations.paging import KeyRange, RowSource
from gateleg.engine.partiql.commands import SortKey
from gateleg.engine.partiql.hash_order import hash_order
from gateleg.engine.schema import KeyAttribute

MAX_READS: Final = 50

_OPERATORS: Final = {"=": "EQ", "<": "LT", "<=": "LE", ">": "GT", ">=": "GE", "between": "BETWEEN", "begins": "BEGINS_WITH"}
_ORDERS: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OVERLAP: Final = "Overlapping conditions with range keys are not supported in where clause"


@dataclass(frozen=True, slots=True)
class SelectPlan:
    """The key ranges to read, in order."""

    ranges: tuple[KeyRange, ...]
    #: whether rows must be tested against the whole condition
    filtered: bool
    points: bool


@dataclass(frozen=True, slots=True)
class _ReadBranch:
    partition: bytes
    start: bytes
    end: bytes
    filters: tuple[Node, ...]
    #: whether it has conditions on the key that a key range cannot express
    inexpressible: bool
    point: bool


def plan_select(source: RowSource, where: Node | None, values: Values, order: tuple[SortKey, ...]) -> SelectPlan:
    """How to read what a condition selects, in the requested order."""
    planner = _SelectPlanner(source, values)
    branches = planner.branches(where) if where is not None else None
    if order:
        _check_order(source, where, branches, order)
    if branches is not None:
        _check_projected(source, branches)
        if len(branches) > 1 and any(branch.inexpressible for branch in branches):
            branches = None
    if branches is None:
        return SelectPlan((KeyRange(b"", None),), where is not None, False)
    return _ordered(branches, source, order)


def equality(node: Node, names: tuple[str, ...], values: Values) -> tuple[str, dict[str, Any]] | None:
    """Attribute and value of a condition `name = value` on one of these names, or None."""
    if not isinstance(node, Compare) or node.operator != "=":
        return None
    for side, other in ((node.left, node.right), (node.right, node.left)):
        name = _name(side)
        value = constant(other, values) if isinstance(other, Value | Literal) else None
        if name in names and name is not None and value is not None:
            return name, value
    return None


def conjuncts(node: Node | None) -> Iterator[Node]:
    """The conditions that AND joins."""
    if isinstance(node, And):
        for part in node.parts:
            yield from conjuncts(part)
    elif node is not None:
        yield node


def _name(operand: Operand) -> str | None:
    """The name of an operand that is a whole attribute, or None."""
    return str(operand.parts[0]) if isinstance(operand, Path) and len(operand.parts) == 1 else None


class _SelectPlanner:
    def __init__(self, source: RowSource, values: Values) -> None:
        schema = source.keys
        self._hash = schema.hash[0]
        self._range = schema.range[0] if schema.range else None
        self._names = schema.names
        self._values = values

    def branches(self, where: Node) -> list[_ReadBranch] | None:
        """One branch for each partition and range that a condition names; None if it does not fix the partition."""
        if not self._fixes_hash_key(where):
            return None
        made: list[_ReadBranch] = []
        for parts in self._split(where):
            branch = self._branch(parts)
            if branch is None:
                return None
            made.append(branch)
        made.sort(key=lambda branch: (branch.partition, branch.start))
        if not any(branch.inexpressible for branch in made):
            _check_overlap(made)
        return made

    def _fixes_hash_key(self, node: Node) -> bool:
        """Whether every alternative of a condition fixes the hash key."""
        if isinstance(node, And):
            return any(self._fixes_hash_key(part) for part in node.parts)
        if isinstance(node, Or):
            return all(self._fixes_hash_key(part) for part in node.parts)
        if isinstance(node, In):
            return _name(node.operand) == self._hash.name and all(isinstance(choice, Value | Literal) for choice in node.choices)
        found = equality(node, (self._hash.name,), self._values)
        return found is not None

    def _split(self, node: Node) -> list[tuple[Node, ...]]:
        """The alternatives of a condition, each a set of conditions; only conditions on the key are split."""
        if not self._mentions(node):
            return [(node,)]
        if isinstance(node, In) and _name(node.operand) in self._names and all(isinstance(c, Value | Literal) for c in node.choices):
            return self._bounded([(Compare("=", node.operand, choice),) for choice in node.choices])
        if isinstance(node, Or):
            return self._bounded([way for part in node.parts for way in self._split(part)])
        if isinstance(node, And):
            ways: list[tuple[Node, ...]] = [()]
            for part in node.parts:
                more = self._split(part)
                if len(ways) * len(more) > MAX_READS:
                    raise _too_many()
                ways = [(*way, *further) for way in ways for further in more]
            return ways
        return [(node,)]

    def _bounded(self, ways: list[tuple[Node, ...]]) -> list[tuple[Node, ...]]:
        if len(ways) > MAX_READS:
            raise _too_many()
        return ways

    def _mentions(self, node: Node) -> bool:
        return any(path[0] in self._names for path in paths_in(node, NO_NAMES))

    def _branch(self, parts: tuple[Node, ...]) -> _ReadBranch | None:
        contents: set[str] = set()
        bounds: list[tuple[str, list[str]]] = []
        filters: list[Node] = []
        inexpressible = False
        for part in parts:
            pinned = equality(part, (self._hash.name,), self._values)
            limit = None if pinned else self._limit(part)
            if pinned is not None:
                contents.add(_content(self._hash, pinned[1]))
            elif limit is not None:
                bounds.append(limit)
            else:
                inexpressible = inexpressible or self._mentions(part)
                filters.append(part)
        if len(contents) != 1:
            return None
        return self._ranged(contents.pop(), bounds, tuple(filters), inexpressible)

    def _limit(self, node: Node) -> tuple[str, list[str]] | None:
        """Operator and key values of a condition that a key range can express, or None."""
        attribute = self._range
        if attribute is None:
            return None
        operator, operands = _comparison(node, attribute.name)
        found = [constant(operand, self._values) for operand in operands if isinstance(operand, Value | Literal)]
        if not operator or len(found) != len(operands):
            return None
        return operator, [_content(attribute, value, operator) for value in found if value is not None]

    def _ranged(self, content: str, bounds: list[tuple[str, list[str]]], filters: tuple[Node, ...], inexpressible: bool) -> _ReadBranch:
        partition = keys.partition_prefix((self._hash,), [content])
        start, end = partition, keys.prefix_end(partition)
        for operator, contents in bounds:
            assert self._range is not None
            low, high = keys.key_range(partition, self._range.type, _OPERATORS[operator], contents)
            start, end = max(start, low), min(end, high)
        point = self._range is None or any(operator == "=" for operator, _ in bounds)
        return _ReadBranch(keys.component(self._hash.type, content), start, end, filters, inexpressible, point)


def _comparison(node: Node, name: str) -> tuple[str, list[Operand]]:
    """A condition on one attribute as operator and operands; no operator if it is anything else."""
    if isinstance(node, Compare) and node.operator != "<>":
        if _name(node.left) == name:
            return node.operator, [node.right]
        if _name(node.right) == name:
            return _ORDERS.get(node.operator, node.operator), [node.left]
    if isinstance(node, Between) and _name(node.operand) == name:
        return "between", [node.low, node.high]
    if isinstance(node, Call) and node.name == "begins_with" and _name(node.args[0]) == name:
        return "begins", [node.args[1]]
    return "", []


def _content(attribute: KeyAttribute, value: dict[str, Any], operator: str = "=") -> str:
    """The content of a key value, which must have the key's type."""
    ((tag, content),) = value.items()
    if tag not in ("S", "N", "B"):
        raise validation(f"Key value must be of type S, N, or B. Key name: {attribute.name}, Key type: {tag}")
    if tag != attribute.type:
        raise validation(f"Key attribute's data type should match its data type in table's schema: Key {attribute.name}")
    if not content and operator != "begins":
        kind = "string" if tag == "S" else "binary"
        raise validation(
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
            f"empty {kind} value. Key: {attribute.name}"
        )
    text: str = content
    return text


def _too_many() -> EngineError:
    return validation("Too many decomposed read operations for a given query.")


def _check_overlap(branches: list[_ReadBranch]) -> None:
    """Refuse overlapping reads; branches are in key order."""
    reach: _ReadBranch | None = None
    for branch in branches:
        if branch.start >= branch.end:
            continue
        if reach is not None and reach.partition == branch.partition and branch.start < reach.end:
            raise validation(_OVERLAP)
        reach = branch


def _check_projected(source: RowSource, branches: list[_ReadBranch]) -> None:
    """Refuse filters on attributes that the index does not project, unless some branch has none of them."""
    held = source.index.projected if source.index else None
    if held is None or source.index is None:
        return
    missing: list[str] = []
    for branch in branches:
        names = [str(path[0]) for node in branch.filters for path in reversed(paths_in(node, NO_NAMES))]
        missing = list(dict.fromkeys(name for name in names if name not in held))
        if not missing:
            return
    raise validation(
        f"One or more parameter values were invalid: Secondary index {source.index.index.name} does not project one or more filter "
        f"attributes: [{', '.join(hash_order(missing))}]"
    )


def _check_order(source: RowSource, where: Node | None, branches: list[_ReadBranch] | None, order: tuple[SortKey, ...]) -> None:
    if where is None:
        raise validation("Must have WHERE clause in the statement when using ORDER BY clause.")
    for name, _ in order:
        if name not in source.keys.names:
            raise validation(f"Attribute {name} in ORDER BY clause must be part of the primary key")
    if branches is None:
        raise validation("Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.")
    partitions = {branch.partition for branch in branches}
    if len(partitions) > 1 and source.keys.hash[0].name not in dict(order):
        raise validation("Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.")


def _ordered(branches: list[_ReadBranch], source: RowSource, order: tuple[SortKey, ...]) -> SelectPlan:
    """The ranges in order. With ORDER BY, DynamoDB reads a partition backwards unless the range key is ascending."""
    schema = source.keys
    wanted = dict(reversed(order))
    rising = wanted.get(schema.hash[0].name, True)
    forward = not order or (wanted.get(schema.range[0].name, False) if schema.range else True)
    if not forward:
        branches = sorted(branches, key=lambda branch: branch.start, reverse=True)
    branches = sorted(branches, key=lambda branch: branch.partition, reverse=not rising)
    ranges = [KeyRange(branch.start, branch.end, forward) for branch in branches if branch.start < branch.end]
    points = source.index is None and all(branch.point for branch in branches)
    filtered = any(branch.filters for branch in branches)
    return SelectPlan(tuple(ranges), filtered, points)
