"""Execution of SELECTs: pages of the ranges in their plans."""

from dataclasses import dataclass, field, replace
from typing import Any

from gateleg.engine import capacity
from gateleg.engine.context import Context, parse_item
from gateleg.engine.errors import EngineError, invalid_parameter, validation
from gateleg.engine.expressions import CompiledCondition, Item, Prepared, Values, compile_condition
from gateleg.engine.expressions.conditions import NO_NAMES, paths_in
from gateleg.engine.expressions.paths import nested_attributes
from gateleg.engine.layout import Layout
from gateleg.engine.operations import paging
from gateleg.engine.operations.footprint import PAGE_BYTES
from gateleg.engine.operations.paging import KeyRange, RowSource
from gateleg.engine.operations.start_keys import check_start, start_position
from gateleg.engine.partiql import cursors
from gateleg.engine.partiql.commands import SelectCommand
from gateleg.engine.partiql.cursors import SelectCursor
from gateleg.engine.partiql.select_plan import SelectPlan, plan_select
from gateleg.engine.values import canonicalize_item


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
        return cursors.fingerprint(layout.table, self.text, self.parameters)


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
    cursor = cursors.decode(options.token, options.bound(layout)) if options.token is not None else SelectCursor(0, None)
    rows = Rows()
    following = _read_ranges(context, source, plan, read, values, options, cursor, rows)
    response: dict[str, Any] = {"Items": _response_items(context, read, rows)}
    if following is not None:
        response["NextToken"] = cursors.encode(following, options.bound(layout))
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
    found = ((column.name, column.value(item)) for column in read.columns)
    return {name: value for name, value in found if value is not None}


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
        page = paging.read_page(context, source, key_range, request, prepared._replace(filter=None) if complete else prepared)
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
        raise cursors.invalid() from None
    if not key_range.contains(position):
        raise cursors.invalid()
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
