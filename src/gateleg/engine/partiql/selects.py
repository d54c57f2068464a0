"""SELECT: its plan, and the pages that it reads.

The plan has key ranges if the condition fixes partitions, otherwise it is a scan. A condition that names partitions is split into branches,
one for each read (`pk IN ['a', 'b']` has two). Parts of it that do not mention a key stay whole: they are filters.

NextToken is the position of a SELECT, bound to statement, parameters and table, with a checksum against tampering. In batches and
transactions a SELECT reads exactly one item by its key.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final

import apsw
import orjson

from gateleg.engine import capacity, keys
from gateleg.engine.capacity import PAGE_BYTES
from gateleg.engine.catalog import Context, parse_item
from gateleg.engine.errors import EngineError, invalid_parameter, validation
from gateleg.engine.expressions import (
    And,
    Between,
    Call,
    Compare,
    CompiledCondition,
    In,
    Item,
    Literal,
    Node,
    Operand,
    Or,
    Path,
    Prepared,
    Value,
    Values,
    compile_condition,
)
from gateleg.engine.expressions.conditions import NO_NAMES, constant, nested_attributes, paths_in
from gateleg.engine.expressions.rules import MIRRORED
from gateleg.engine.layout import Layout
from gateleg.engine.operations import query
from gateleg.engine.operations.query import KeyRange, RowSource, check_start, start_position
from gateleg.engine.partiql.statements import SelectCommand, SortKey
from gateleg.engine.schema import KeyAttribute, Table
from gateleg.engine.values import canonicalize_item

MAX_READS: Final = 50

_OPERATORS: Final = {"=": "EQ", "<": "LT", "<=": "LE", ">": "GT", ">=": "GE", "between": "BETWEEN", "begins": "BEGINS_WITH"}
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
        branches: list[_ReadBranch] = []
        for parts in self._split(where):
            branch = self._branch(parts)
            if branch is None:
                return None
            branches.append(branch)
        branches.sort(key=lambda branch: (branch.partition, branch.start))
        if not any(branch.inexpressible for branch in branches):
            _check_overlap(branches)
        return branches

    def _fixes_hash_key(self, node: Node) -> bool:
        """Whether every alternative of a condition fixes the hash key."""
        if isinstance(node, And):
            return any(self._fixes_hash_key(part) for part in node.parts)
        if isinstance(node, Or):
            return all(self._fixes_hash_key(part) for part in node.parts)
        if isinstance(node, In):
            return _name(node.operand) == self._hash.name and all(isinstance(choice, Value | Literal) for choice in node.choices)
        return equality(node, (self._hash.name,), self._values) is not None

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
        values = [constant(operand, self._values) for operand in operands if isinstance(operand, Value | Literal)]
        if not operator or len(values) != len(operands):
            return None
        return operator, [_content(attribute, value, operator) for value in values if value is not None]

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
            return MIRRORED[node.operator], [node.left]
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
    rises = dict(reversed(order))
    rising = rises.get(schema.hash[0].name, True)
    forward = not order or (rises.get(schema.range[0].name, False) if schema.range else True)
    if not forward:
        branches = sorted(branches, key=lambda branch: branch.start, reverse=True)
    branches = sorted(branches, key=lambda branch: branch.partition, reverse=not rising)
    ranges = [KeyRange(branch.start, branch.end, forward) for branch in branches if branch.start < branch.end]
    points = source.index is None and all(branch.point for branch in branches)
    filtered = any(branch.filters for branch in branches)
    return SelectPlan(tuple(ranges), filtered, points)


_DIGEST = 16
_SEAL = b"gateleg partiql cursor 1"


@dataclass(frozen=True, slots=True)
class SelectCursor:
    """The current range of the plan, and the key of the last row read from it, if any."""

    range_index: int
    key: dict[str, Any] | None


def fingerprint(table: Table, text: str, parameters: tuple[Any, ...]) -> bytes:
    """A digest of what a token is bound to."""
    return sha256(orjson.dumps([table.uuid, text, parameters])).digest()[:_DIGEST]


def encode_token(cursor: SelectCursor, bound: bytes) -> str:
    """Encode a cursor as an opaque token."""
    body = bound + orjson.dumps([cursor.range_index, cursor.key])
    return b64encode(_seal(body) + body).decode()


def decode_token(token: str, bound: bytes) -> SelectCursor:
    """Decode a token, which must belong to the same request."""
    try:
        raw = b64decode(token, validate=True)
    except (Base64Error, ValueError):
        raise invalid_token() from None
    seal, body = raw[:_DIGEST], raw[_DIGEST:]
    if len(body) <= _DIGEST or _seal(body) != seal:
        raise invalid_token()
    if body[:_DIGEST] != bound:
        raise validation("NextToken does not match request")
    range_index, key = orjson.loads(body[_DIGEST:])
    return SelectCursor(range_index, key)


def invalid_token() -> EngineError:
    """The error for an invalid token."""
    return validation("Invalid NextToken")


def _seal(body: bytes) -> bytes:
    return sha256(_SEAL + body).digest()[:_DIGEST]


@dataclass(frozen=True, slots=True)
class SelectOptions:
    """The parameters of a request besides its statement."""

    consistent: bool = False
    limit: int | None = None
    token: str | None = None
    capacity: str | None = None
    #: what a NextToken is bound to, besides the table: the statement and its parameters
    text: str = ""
    parameters: tuple[Any, ...] = ()

    def bound(self, layout: Layout) -> bytes:
        """A digest of what a NextToken of this request is bound to."""
        return fingerprint(layout.table, self.text, self.parameters)


@dataclass(slots=True)
class Rows:
    """The rows read so far."""

    stored: list[bytes] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    scanned: int = 0
    size: int = 0
    #: units for the index or table that was read, and for items fetched from the table
    units: float = 0.0
    base_units: float = 0.0


def source_of(layout: Layout, read: SelectCommand, consistent: bool) -> RowSource:
    """The table or index that a SELECT reads."""
    name = read.target.index
    if name is None:
        _check_scalars(layout, read)
        return RowSource(layout, None)
    index = layout.index_by_name.get(name)
    if index is None:
        raise validation("The table does not have the specified index")
    if index.index.kind == "GSI":
        if consistent:
            raise validation("Strongly consistent read is not supported on Global Secondary Indexes")
        if index.index.status == "CREATING":
            raise validation(f"Cannot read from backfilling global secondary index: {name}")
        if index.projected is not None:
            held = index.projected
            missing = list(dict.fromkeys(str(c.keys[0]) for c in read.columns if c.keys[0] not in held))
            if missing:
                raise invalid_parameter(f"Global secondary index {name} does not project [{', '.join(missing)}]")
    _check_scalars(layout, read)
    return RowSource(layout, index)


def _check_scalars(layout: Layout, read: SelectCommand) -> None:
    """Refuse document paths into key attributes."""
    paths = [column.keys for column in read.columns]
    if read.where is not None:
        paths += paths_in(read.where, NO_NAMES)
    nested = nested_attributes(paths)
    if nested:
        layout.check_scalar(nested)


def select(context: Context, layout: Layout, read: SelectCommand, values: Values, options: SelectOptions) -> dict[str, Any]:
    """Read one page of a SELECT."""
    source = source_of(layout, read, options.consistent)
    plan = plan_select(source, read.where, values, read.order)
    cursor = decode_token(options.token, options.bound(layout)) if options.token is not None else SelectCursor(0, None)
    rows = Rows()
    following = _read_ranges(context, source, plan, read, values, options, cursor, rows)
    response: dict[str, Any] = {"Items": _response_items(context, read, rows)}
    if following is not None:
        response["NextToken"] = encode_token(following, options.bound(layout))
    consumed = _consumed(source, rows, options)
    if consumed is not None:
        response["ConsumedCapacity"] = consumed
    return response


def _response_items(context: Context, read: SelectCommand, rows: Rows) -> Any:
    """The rows in the form of the response: whole items, or their columns."""
    if not read.columns:
        return context.response_items(rows.stored) if not rows.items else rows.items
    items = rows.items or [parse_item(stored) for stored in rows.stored]
    return [project(read, item) for item in items]


def project(read: SelectCommand, item: Item) -> Item:
    """The selected columns of an item."""
    if not read.columns:
        return item
    values = ((column.name, column.value(item)) for column in read.columns)
    return {name: value for name, value in values if value is not None}


def _read_ranges(
    context: Context,
    source: RowSource,
    plan: SelectPlan,
    read: SelectCommand,
    values: Values,
    options: SelectOptions,
    cursor: SelectCursor,
    rows: Rows,
) -> SelectCursor | None:
    """Read ranges until the limit, one megabyte or the end; returns where to continue."""
    prepared = Prepared(values, filter=_filter(read, plan))
    complete = _needs_base(source, read)
    for number in range(cursor.range_index, len(plan.ranges)):
        key_range = plan.ranges[number]
        if number == cursor.range_index and cursor.key is not None:
            key_range = _resume(source, key_range, cursor.key)
        request = {"Limit": options.limit - rows.scanned} if options.limit is not None else {}
        page = query.read_page(context, source, key_range, request, prepared._replace(filter=None) if complete else prepared)
        rows.units += capacity.read_units(page.size, options.consistent)
        rows.scanned += page.scanned
        rows.size += page.size
        if complete:
            _fetch_base_items(context, source, page.stored, prepared, options, rows)
        else:
            rows.stored += page.stored
        last = number + 1 == len(plan.ranges)
        if page.last is not None and not plan.points:
            return SelectCursor(number, {name: value for name, value in parse_item(page.last).items() if name in source.start_names})
        if not last and (rows.scanned == options.limit or rows.size >= PAGE_BYTES):
            return SelectCursor(number + 1, None)
    return None


def _filter(read: SelectCommand, plan: SelectPlan) -> CompiledCondition | None:
    """The condition on each row. It names no attributes, because rows of an index are tested as projected."""
    if read.where is None or not plan.filtered:
        return None
    return CompiledCondition(compile_condition(read.where), frozenset())


def _resume(source: RowSource, key_range: KeyRange, key: Item) -> KeyRange:
    try:
        item = canonicalize_item(key)[0]
        check_start(source, item)
        position, row = start_position(source, item)
    except EngineError:
        raise invalid_token() from None
    if not key_range.contains(position):
        raise invalid_token()
    return replace(key_range, resume=(position, row))


def _needs_base(source: RowSource, read: SelectCommand) -> bool:
    """Whether an LSI lacks some of the columns."""
    held = source.index.projected if source.index else None
    return held is not None and any(column.keys[0] not in held for column in read.columns)


def _fetch_base_items(
    context: Context, source: RowSource, stored: list[bytes], prepared: Prepared, options: SelectOptions, rows: Rows
) -> None:
    """Fetch items from the table. Every row read is charged, even if the filter drops it."""
    for entry in stored:
        item = parse_item(entry)
        row = context.database.row(source.layout.get, (source.layout.key(item),))
        if row is None:
            continue
        rows.base_units += capacity.read_units(row[0], options.consistent)
        if prepared.filter is None or prepared.filter.test(item, prepared.values):
            rows.items.append(parse_item(row[1]))


def _consumed(source: RowSource, rows: Rows, options: SelectOptions) -> dict[str, Any] | None:
    table = source.layout.table
    units = rows.units or capacity.read_units(0, options.consistent)
    if source.index is None:
        return capacity.consumed(options.capacity, table, units, {})
    index = source.index.index
    return capacity.consumed(options.capacity, table, rows.base_units, {index.name: (index, units)})


def hash_order(names: list[str]) -> list[str]:
    """Names in the order of a Java HashSet: by the low bits of their hashes, then by insertion."""
    size = 16
    while len(names) > size * 3 // 4:
        size *= 2
    return sorted(names, key=lambda name: _spread(name) & (size - 1))


def _spread(text: str) -> int:
    code = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        code = (code * 31 + unit) & 0xFFFFFFFF
    return code ^ (code >> 16)


def read_key(layout: Layout, read: SelectCommand, values: Values, operation: str) -> Item:
    """The key that a SELECT names; raises DynamoDB's error if it selects anything else."""
    refused = validation(f"Select statements within {operation} must specify the primary key in the where clause.")
    if read.target.index is not None:
        raise refused
    plan_select(RowSource(layout, None), read.where, values, read.order)
    names = layout.table.keys.names
    key: Item = {}
    for part in conjuncts(read.where):
        fixed = equality(_sole_choice(part), names, values)
        if fixed is None or key.setdefault(fixed[0], fixed[1]) != fixed[1]:
            raise refused
    if len(key) != len(names):
        raise refused
    return key


def fetch(context: Context, connection: apsw.Connection, layout: Layout, key: bytes, read: SelectCommand) -> tuple[int, Any]:
    """The size and the selected columns of an item; 0 and None if it does not exist."""
    row = connection.execute(layout.get, (key,)).fetchone()
    if row is None:
        return 0, None
    return row[0], context.response_item(row[1]) if not read.columns else project(read, parse_item(row[1]))


def _sole_choice(node: Node) -> Node:
    """Treat `name IN [value]` as `name = value`."""
    if isinstance(node, In) and len(node.choices) == 1 and isinstance(node.choices[0], Value | Literal):
        return Compare("=", node.operand, node.choices[0])
    return node
