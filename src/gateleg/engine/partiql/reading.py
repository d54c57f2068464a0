"""Running a SELECT: pages of the ranges that its plan names."""

from dataclasses import dataclass, field, replace
from typing import Any

from gateleg.engine import capacity
from gateleg.engine.context import Context, parsed
from gateleg.engine.errors import EngineError, invalid_parameter, validation
from gateleg.engine.expressions import Condition, Item, Prepared, Values, compile_condition
from gateleg.engine.expressions.conditions import NO_NAMES, paths_in
from gateleg.engine.expressions.paths import nested_heads
from gateleg.engine.layout import Layout
from gateleg.engine.operations import paging
from gateleg.engine.operations.footprint import PAGE_BYTES
from gateleg.engine.operations.paging import Source, Span
from gateleg.engine.operations.starting import check_start, start_place
from gateleg.engine.partiql import cursors
from gateleg.engine.partiql.commands import Read
from gateleg.engine.partiql.cursors import Cursor
from gateleg.engine.partiql.planning import Plan, plan
from gateleg.engine.values import examine_item


@dataclass(frozen=True, slots=True)
class Options:
    """What a request says beside its statement."""

    consistent: bool = False
    limit: int | None = None
    token: str | None = None
    capacity: str | None = None
    #: What a NextToken of this request is bound to, beside the table: the statement's text and its parameters.
    text: str = ""
    parameters: tuple[Any, ...] = ()

    def bound(self, layout: Layout) -> bytes:
        """What a NextToken of this request is bound to, in short."""
        return cursors.fingerprint(layout.table, self.text, self.parameters)


@dataclass(slots=True)
class Rows:
    """What has been read so far."""

    stored: list[bytes] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    scanned: int = 0
    size: int = 0
    #: Units of the index or table that was read, and of the base rows that completed an index's.
    units: float = 0.0
    base_units: float = 0.0


def source_of(layout: Layout, read: Read, consistent: bool) -> Source:
    """The table or index that a SELECT reads."""
    name = read.target.index
    if name is None:
        _check_scalars(layout, read)
        return Source(layout, None)
    index = layout.by_name.get(name)
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
    return Source(layout, index)


def _check_scalars(layout: Layout, read: Read) -> None:
    """Refuse to look into an attribute that is part of a key."""
    paths = [column.keys for column in read.columns]
    if read.where is not None:
        paths += paths_in(read.where, NO_NAMES)
    nested = nested_heads(paths)
    if nested:
        layout.check_scalar(nested)


def select(context: Context, layout: Layout, read: Read, values: Values, options: Options) -> dict[str, Any]:
    """One page of a SELECT, as ExecuteStatement answers it."""
    source = source_of(layout, read, options.consistent)
    steps = plan(source, read.where, values, read.order)
    cursor = cursors.decode(options.token, options.bound(layout)) if options.token is not None else Cursor(0, None)
    rows = Rows()
    following = _walk(context, source, steps, read, values, options, cursor, rows)
    answer: dict[str, Any] = {"Items": answered(context, read, rows)}
    if following is not None:
        answer["NextToken"] = cursors.encode(following, options.bound(layout))
    consumed = _consumed(source, rows, options)
    if consumed is not None:
        answer["ConsumedCapacity"] = consumed
    return answer


def answered(context: Context, read: Read, rows: Rows) -> Any:
    """The rows as they go into the answer: whole items, or their columns."""
    if not read.columns:
        return context.items(rows.stored) if not rows.items else rows.items
    items = rows.items or [parsed(stored) for stored in rows.stored]
    return [project(read, item) for item in items]


def project(read: Read, item: Item) -> Item:
    """The columns that a SELECT wants of an item."""
    if not read.columns:
        return item
    found = ((column.name, column.value(item)) for column in read.columns)
    return {name: value for name, value in found if value is not None}


def _walk(
    context: Context, source: Source, steps: Plan, read: Read, values: Values, options: Options, cursor: Cursor, rows: Rows
) -> Cursor | None:
    """Read range after range until the limit, a megabyte or the end; tells where to go on."""
    prepared = Prepared(values, filter=_filter(read, steps))
    complete = _completed(source, read)
    for number in range(cursor.span, len(steps.spans)):
        span = steps.spans[number]
        if number == cursor.span and cursor.key is not None:
            span = _resumed(source, span, cursor.key)
        request = {"Limit": options.limit - rows.scanned} if options.limit is not None else {}
        page = paging.read_page(context, source, span, request, prepared._replace(filter=None) if complete else prepared)
        rows.units += capacity.read_units(page.size, options.consistent)
        rows.scanned += page.scanned
        rows.size += page.size
        if complete:
            _complete(context, source, page.stored, prepared, options, rows)
        else:
            rows.stored += page.stored
        last = number + 1 == len(steps.spans)
        if page.last is not None and not steps.points:
            return Cursor(number, {name: value for name, value in parsed(page.last).items() if name in source.start_names})
        if not last and (rows.scanned == options.limit or rows.size >= PAGE_BYTES):
            return Cursor(number + 1, None)
    return None


def _filter(read: Read, steps: Plan) -> Condition | None:
    """The condition on each row. It names no attributes: rows of an index are tested as the index holds them."""
    if read.where is None or not steps.filtered:
        return None
    return Condition(compile_condition(read.where), frozenset())


def _resumed(source: Source, span: Span, key: Item) -> Span:
    try:
        item = examine_item(key)[0]
        check_start(source, item)
        place, row = start_place(source, item)
    except EngineError:
        raise cursors.invalid() from None
    if not span.holds(place):
        raise cursors.invalid()
    return replace(span, resume=(place, row))


def _completed(source: Source, read: Read) -> bool:
    """Whether a local index must be completed from the table to have all columns."""
    held = source.index.projected if source.index else None
    return held is not None and any(column.keys[0] not in held for column in read.columns)


def _complete(context: Context, source: Source, stored: list[bytes], prepared: Prepared, options: Options, rows: Rows) -> None:
    """Take whole items instead of an index's rows. Every row that was walked is paid for, also where the filter drops it."""
    for entry in stored:
        item = parsed(entry)
        row = context.database.row(source.layout.get, (source.layout.key(item),))
        if row is None:
            continue
        rows.base_units += capacity.read_units(row[0], options.consistent)
        if prepared.filter is None or prepared.filter.test(item, prepared.values):
            rows.items.append(parsed(row[1]))


def _consumed(source: Source, rows: Rows, options: Options) -> dict[str, Any] | None:
    table = source.layout.table
    units = rows.units or capacity.read_units(0, options.consistent)
    if source.index is None:
        return capacity.consumed(options.capacity, table, units, {})
    index = source.index.index
    return capacity.consumed(options.capacity, table, rows.base_units, {index.name: (index, units)})
