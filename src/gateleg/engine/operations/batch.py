"""BatchGetItem and BatchWriteItem."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import orjson

from gateleg.engine import capacity
from gateleg.engine.context import Context, parse_item
from gateleg.engine.errors import EngineError, validation
from gateleg.engine.expressions import Prepared, prepare
from gateleg.engine.layout import Layout
from gateleg.engine.operations.item_change import ItemChange, check_item, collection_metrics
from gateleg.engine.values import SEVERAL_TYPES, Item, canonicalize_item

GET_LIMIT = 100
WRITE_LIMIT = 25
#: Response limit of one BatchGetItem; keys beyond it are returned as unprocessed.
GET_BYTES = 16 * 1024 * 1024
#: The same limit for the items of one partition.
PARTITION_BYTES = 1024 * 1024

_DUPLICATES = "Provided list of item keys contains duplicates"


def batch_get_item(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Read items of one or more tables by key."""
    if len(request["RequestItems"]) > 1:
        _check_projections(request["RequestItems"].values())
    wanted = {name: _checked_keys(name, entry) for name, entry in request["RequestItems"].items()}
    if sum(len(keys) for keys, _ in wanted.values()) > GET_LIMIT:
        raise validation("Too many items requested for the BatchGetItem call")
    layouts = {name: _layout(context, name, keys) for name, (keys, _) in wanted.items()}
    rows = {name: _distinct([layouts[name].request_key(key) for key in keys]) for name, (keys, _) in wanted.items()}
    responses: dict[str, Any] = {}
    unprocessed: dict[str, Any] = {}
    consumed = []
    total = 0
    with context.database.snapshot() as connection:
        for name, (keys, prepared) in wanted.items():
            entry = request["RequestItems"][name]
            layout, stored, units = layouts[name], [], 0.0
            left: list[Item] = []
            partitions: Counter[str] = Counter()
            for key, row_key in zip(keys, rows[name], strict=True):
                row = connection.execute(layout.get, (row_key,)).fetchone()
                size = row[0] if row else 0
                partition = _partition(layout, key)
                if total + size > GET_BYTES or (size and partitions[partition] + size > PARTITION_BYTES):
                    left.append(key)
                    continue
                total += size
                partitions[partition] += size
                units += capacity.read_units(size, bool(entry.get("ConsistentRead")))
                if row:
                    stored.append(row[1])
            if left:
                unprocessed[name] = {**entry, "Keys": left}
            responses[name] = _projected(context, prepared, stored)
            consumed.append(capacity.consumed(request.get("ReturnConsumedCapacity"), layout.table, units, {}))
    response: dict[str, Any] = {"Responses": responses, "UnprocessedKeys": unprocessed}
    return _with_capacity(response, consumed)


def _partition(layout: Layout, key: Item) -> str:
    """The value of the partition key."""
    attribute = layout.table.keys.hash[0]
    value: str = key[attribute.name][attribute.type]
    return value


def _check_projections(entries: Iterable[dict[str, Any]]) -> None:
    """Refuse a request that has expressions for one table and legacy projections for another."""
    given = {name for entry in entries for name in ("ProjectionExpression", "AttributesToGet") if entry.get(name) is not None}
    if len(given) > 1:
        raise validation(
            "Can not use both expression and non-expression parameters in the same request: "
            "Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"
        )


def _checked_keys(name: str, entry: dict[str, Any]) -> tuple[list[Item], Prepared]:
    prepared = prepare(entry, "KeysAndAttributes")
    return [canonicalize_item(key)[0] for key in entry["Keys"]], prepared


def _layout(context: Context, name: str, keys: list[Item]) -> Layout:
    """A table's layout. DynamoDB reports duplicate keys before a missing table."""
    try:
        return context.layout(name)
    except EngineError:
        _distinct([orjson.dumps(key, option=orjson.OPT_SORT_KEYS) for key in keys])
        raise


def _distinct(rows: list[bytes]) -> list[bytes]:
    if len(set(rows)) != len(rows):
        raise validation(_DUPLICATES)
    return rows


def _projected(context: Context, prepared: Prepared, stored: list[bytes]) -> Any:
    if prepared.projection is None:
        return context.response_items(stored)
    return [prepared.projection.apply(parse_item(s)) for s in stored]


def batch_write_item(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Put and delete items in one or more tables, unconditionally."""
    writes = {name: [_checked_write(entry) for entry in entries] for name, entries in request["RequestItems"].items()}
    if sum(len(entries) for entries in writes.values()) > WRITE_LIMIT:
        raise validation("Too many items requested for the BatchWriteItem call")
    for name in writes:
        context.layout(name)
    mode = request.get("ReturnConsumedCapacity")
    consumed: dict[str, dict[str, Any] | None] = {}
    written: dict[str, list[tuple[Layout, Item]]] = {}
    with context.database.write() as connection:
        for name, changes in _plan(context, writes).items():
            for change, key in changes:
                layout = change.layout
                if layout.indexes or layout.table.logged or mode is not None or change.new is None:
                    change.read(connection)
                change.store(context, connection)
                written.setdefault(name, []).append((layout, key))
                consumed[layout.table.name] = capacity.add(consumed.get(layout.table.name), change.capacity(mode))
    response: dict[str, Any] = {"UnprocessedItems": {}}
    if request.get("ReturnItemCollectionMetrics") == "SIZE":
        metrics = {name: _metrics(context, items) for name, items in written.items()}
        response["ItemCollectionMetrics"] = {name: found for name, found in metrics.items() if found}
    return _with_capacity(response, list(consumed.values()))


def _checked_write(entry: dict[str, Any]) -> tuple[str, Item, int]:
    put, delete = entry.get("PutRequest"), entry.get("DeleteRequest")
    if (put is None) == (delete is None):
        raise validation(SEVERAL_TYPES)
    if put is not None:
        item, size = canonicalize_item(put["Item"])
        check_item(item, size)
        return "put", item, size
    assert delete is not None
    return "delete", canonicalize_item(delete["Key"])[0], 0


def _plan(context: Context, writes: dict[str, list[tuple[str, Item, int]]]) -> dict[str, list[tuple[ItemChange, Item]]]:
    """The change of each row, with all keys checked before anything is written."""
    plan: dict[str, list[tuple[ItemChange, Item]]] = {}
    seen: set[tuple[int, bytes]] = set()
    for name, entries in writes.items():
        layout = context.layout(name)
        for kind, item, size in entries:
            change = ItemChange(layout, _item_key(layout, item) if kind == "put" else layout.request_key(item))
            if kind == "put":
                change.put(item, size)
            place = (layout.table.id, change.key)
            if place in seen:
                raise validation(_DUPLICATES)
            seen.add(place)
            plan.setdefault(name, []).append((change, item))
    return plan


def _item_key(layout: Layout, item: Item) -> bytes:
    """The row key of an item to put. The message for a missing key differs from PutItem's."""
    try:
        return layout.item_key(item)
    except EngineError:
        if any(attribute.type not in item.get(attribute.name, ()) for attribute in layout.table.keys.attributes):
            raise validation("The provided key element does not match the schema") from None
        raise


def _metrics(context: Context, items: list[tuple[Layout, Item]]) -> list[dict[str, Any]]:
    found = {}
    for layout, item in items:
        metrics = collection_metrics(context, layout, item)
        if metrics is not None:
            found[orjson.dumps(metrics["ItemCollectionKey"])] = metrics
    return list(found.values())


def _with_capacity(response: dict[str, Any], consumed: list[dict[str, Any] | None]) -> dict[str, Any]:
    present = [units for units in consumed if units is not None]
    if present:
        response["ConsumedCapacity"] = present
    return response


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "BatchGetItem": batch_get_item,
    "BatchWriteItem": batch_write_item,
}
