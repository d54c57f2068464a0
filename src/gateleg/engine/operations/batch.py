"""Requests for several items: BatchGetItem and BatchWriteItem, TransactGetItems and TransactWriteItems.

A batch is so many single reads or writes, unconditional. A transaction is all or nothing, with a cancellation reason for each action;
PartiQL's transactions share its checks, its reasons and its tokens.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

import apsw
import orjson

from gateleg.engine import capacity
from gateleg.engine.catalog import Context, parse_item
from gateleg.engine.errors import EmptyKeyError, EngineError, validation
from gateleg.engine.expressions import Prepared, prepare
from gateleg.engine.expressions.nodes import check_attribute_names
from gateleg.engine.layout import Layout
from gateleg.engine.operations.items import ItemChange, check_item, check_paths, collection_metrics
from gateleg.engine.values import SEVERAL_TYPES, Item, canonicalize_item
from gateleg.engine.values import size as value_size

_T = TypeVar("_T")
GET_LIMIT = 100
WRITE_LIMIT = 25

#: Response limit of one BatchGetItem; keys beyond it are returned as unprocessed.
GET_BYTES = 16 * 1024 * 1024

#: The same limit for the items of one partition.
PARTITION_BYTES = 1024 * 1024
_DUPLICATES = "Provided list of item keys contains duplicates"

#: Limit for all items of one transaction.
MAX_BYTES = 4 * 1024 * 1024

#: How long a ClientRequestToken makes a repeated request idempotent.
TOKEN_SECONDS = 600
_KINDS = ("ConditionCheck", "Put", "Delete", "Update")


def batch_get_item(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Read items of one or more tables by key."""
    if len(request["RequestItems"]) > 1:
        _check_projections(request["RequestItems"].values())
    gets = {name: _checked_keys(name, entry) for name, entry in request["RequestItems"].items()}
    if sum(len(keys) for keys, _ in gets.values()) > GET_LIMIT:
        raise validation("Too many items requested for the BatchGetItem call")
    layouts = {name: _layout(context, name, keys) for name, (keys, _) in gets.items()}
    rows = {name: _distinct([layouts[name].request_key(key) for key in keys]) for name, (keys, _) in gets.items()}
    responses: dict[str, Any] = {}
    unprocessed: dict[str, Any] = {}
    consumed = []
    total = 0
    with context.database.snapshot() as connection:
        for name, (keys, prepared) in gets.items():
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
    return with_capacity(response, consumed)


def _partition(layout: Layout, key: Item) -> str:
    """The value of the partition key."""
    attribute = layout.table.keys.hash[0]
    value: str = key[attribute.name][attribute.type]
    return value


def _check_projections(entries: Iterable[dict[str, Any]]) -> None:
    """Refuse a request that has expressions for one table and legacy projections for another."""
    parameters = {name for entry in entries for name in ("ProjectionExpression", "AttributesToGet") if entry.get(name) is not None}
    if len(parameters) > 1:
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
        response["ItemCollectionMetrics"] = {name: collections for name, collections in metrics.items() if collections}
    return with_capacity(response, list(consumed.values()))


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
    by_key = {}
    for layout, item in items:
        metrics = collection_metrics(context, layout, item)
        if metrics is not None:
            by_key[orjson.dumps(metrics["ItemCollectionKey"])] = metrics
    return list(by_key.values())


@dataclass(frozen=True, slots=True)
class TransactAction:
    """One action of a transaction, validated as far as possible without its table."""

    kind: str
    body: dict[str, Any]
    prepared: Prepared
    item: Item
    size: int

    @property
    def wants_failed_item(self) -> bool:
        """Whether the cancellation reason of a failed condition includes the item."""
        return self.body.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"


def transact_get_items(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Read items from one snapshot."""
    gets = [_only_member(entry, ("Get",))[1] for entry in request["TransactItems"]]
    prepared = [prepare(get, "Get") for get in gets]
    wire_keys = [canonicalize_item(get["Key"])[0] for get in gets]
    layouts = [context.layout(get["TableName"]) for get in gets]
    keys = _map_or_cancel(lambda i: layouts[i].request_key(wire_keys[i]), len(gets))
    check_distinct([(layout.table.id, key) for layout, key in zip(layouts, keys, strict=True)])
    responses: list[dict[str, Any]] = []
    sizes: list[tuple[str, int]] = []
    with context.database.snapshot() as connection:
        for layout, key, expressions in zip(layouts, keys, prepared, strict=True):
            row = connection.execute(layout.get, (key,)).fetchone()
            size = row[0] if row else 0
            sizes.append((layout.table.name, size))
            if row is None:
                responses.append({})
            elif expressions.projection is None:
                responses.append({"Item": context.response_item(row[1])})
            else:
                item = expressions.projection.apply(parse_item(row[1]))
                responses.append({"Item": item} if item else {})
    if sum(size for _, size in sizes) > MAX_BYTES:
        raise validation("Collection size of items returned by TransactGetItems exceeds 4 MB")
    return with_capacity({"Responses": responses}, capacity.transaction_reads(request.get("ReturnConsumedCapacity"), sizes))


def transact_write_items(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Perform several writes and condition checks atomically."""
    actions = [_action(entry) for entry in request["TransactItems"]]
    for action in actions:
        context.layout(action.body["TableName"])
    payload = sum(action.size for action in actions)
    if payload > MAX_BYTES:
        fault = f"Transaction payload size cannot exceed 4MB. Payload Size: {payload}"
        raise validation(f"Transaction payload size cannot exceed 4MB. Payload Size: : {fault}")

    changes: list[ItemChange] = []

    def run(connection: apsw.Connection) -> dict[str, Any]:
        changes.extend(_prepare_changes(context, actions))
        write_all(context, connection, list(zip(changes, actions, strict=True)))
        return {"sizes": [change.charged for change in changes], "answer": _transaction_metrics(context, request, actions, changes)}

    with context.database.write() as connection:
        done = run_once_per_token(context, connection, request, run)
    mode = request.get("ReturnConsumedCapacity")
    if changes:
        return with_capacity(done["answer"], capacity.transaction_writes(change.capacity(mode, factor=2) for change in changes))
    # A repeated token writes nothing, and is charged for reads.
    return with_capacity(done["answer"], capacity.transaction_reads(mode, done["sizes"]))


def _only_member(entry: dict[str, Any], kinds: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    present = [(kind, entry[kind]) for kind in kinds if entry.get(kind) is not None]
    if not present:
        raise validation("Invalid Request: TransactWriteRequest should contain Delete or Put or Update request")
    if len(present) > 1:
        raise validation("TransactItems can only contain one of Check, Put, Update or Delete")
    return present[0]


def _action(entry: dict[str, Any]) -> TransactAction:
    kind, body = _only_member(entry, _KINDS)
    prepared = prepare(body, kind)
    try:
        item, size = canonicalize_item(body["Item"] if kind == "Put" else body["Key"])
    except EngineError:
        # DynamoDB checks the attribute names of a put item before the values.
        if kind == "Put":
            check_attribute_names(body["Item"])
        raise
    if kind == "Put":
        check_item(item, size)
    elif kind == "Update":
        size += sum(value_size(value) for value in prepared.values.values())
    return TransactAction(kind, body, prepared, item, size)


def _map_or_cancel(make: Callable[[int], _T], count: int, raised: tuple[type[EngineError], ...] = ()) -> list[_T]:
    """`[make(0), make(1), ...]`; the first error cancels the transaction, with that error as its only reason.

    Errors of the classes `raised` refuse the request instead.
    """
    results: list[_T] = []
    for position in range(count):
        try:
            results.append(make(position))
        except raised:
            raise
        except EngineError as error:
            reasons: list[dict[str, Any]] = [{"Code": "None"} for _ in range(count)]
            reasons[position] = reason(error)
            cancel_if_any_failed(reasons)
    return results


def _prepare_changes(context: Context, actions: list[TransactAction]) -> list[ItemChange]:
    """The change of each action's row; no row may occur twice."""

    def make(position: int) -> ItemChange:
        action = actions[position]
        layout = context.layout(action.body["TableName"])
        check_paths(layout, action.prepared)
        if action.kind == "Put":
            return ItemChange(layout, layout.item_key(action.item))
        return ItemChange(layout, layout.request_key(action.item))

    changes = _map_or_cancel(make, len(actions), (EmptyKeyError,))
    check_distinct([(change.layout.table.id, change.key) for change in changes])
    return changes


def check_distinct(rows: list[tuple[int, bytes]]) -> None:
    """Refuse a transaction that has two actions on one item; a row is a table id and a row key."""
    if len(set(rows)) != len(rows):
        raise validation("Transaction request cannot include multiple operations on one item")


def write_all(context: Context, connection: apsw.Connection, pairs: list[tuple[ItemChange, TransactAction]]) -> None:
    """Check every action against its row, then write them all, or cancel the transaction with the reasons of all that failed."""
    reasons: list[dict[str, Any]] = []
    for change, action in pairs:
        try:
            _apply(change.read(connection), action)
            reasons.append({"Code": "None"})
        except EmptyKeyError:
            raise
        except EngineError as error:
            reasons.append(reason(error))
    cancel_if_any_failed(reasons)
    for change, action in pairs:
        if action.kind != "ConditionCheck":
            change.store(context, connection)


def _apply(change: ItemChange, action: TransactAction) -> None:
    """Check the action's condition and set the new item."""
    values = action.prepared.values
    change.check_condition(action.prepared.condition, values, action.wants_failed_item)
    if action.kind == "Put":
        change.put(action.item, action.size)
    elif action.kind == "Update":
        change.update(action.item, action.prepared.update, values)


def with_capacity(response: dict[str, Any], consumed: Iterable[dict[str, Any] | None]) -> dict[str, Any]:
    """A response with the ConsumedCapacity of each table, if it was requested."""
    present = [units for units in consumed if units is not None]
    return {**response, "ConsumedCapacity": present} if present else response


def reason(error: EngineError) -> dict[str, Any]:
    """The cancellation reason for an error of one action; errors of the whole request are raised."""
    if error.code == "ConditionalCheckFailedException":
        return {"Code": "ConditionalCheckFailed", "Message": error.message, **error.extra}
    if error.code == "ValidationException":
        return {"Code": "ValidationError", "Message": error.message}
    if error.code == "DuplicateItemException":
        return {"Code": "DuplicateItem", "Message": error.message}
    raise error


def cancel_if_any_failed(reasons: list[dict[str, Any]]) -> None:
    """Cancel the transaction if any action failed."""
    codes = [r["Code"] for r in reasons]
    if any(code != "None" for code in codes):
        raise EngineError(
            "TransactionCanceledException",
            f"Transaction cancelled, please refer cancellation reasons for specific reasons [{', '.join(codes)}]",
            {"CancellationReasons": reasons},
        )


def run_once_per_token(
    context: Context, connection: apsw.Connection, request: dict[str, Any], run: Callable[[apsw.Connection], dict[str, Any]]
) -> dict[str, Any]:
    """Run a transaction unless the same ClientRequestToken was used in the last ten minutes; then return the earlier response."""
    token = request.get("ClientRequestToken")
    if token is None:
        return run(connection)
    token = f"{context.namespace.account}/{context.namespace.region}/{token}"
    plain = {name: value for name, value in request.items() if name not in {"ClientRequestToken", "ReturnConsumedCapacity"}}
    digest = sha256(orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)).digest()
    now = context.now()
    connection.execute("DELETE FROM tokens WHERE at <= ?", (now - TOKEN_SECONDS,))
    row = connection.execute("SELECT digest, answer FROM tokens WHERE token = ?", (token,)).fetchone()
    if row is not None:
        if row[0] != digest:
            raise EngineError("IdempotentParameterMismatchException", "Idempotent parameter mismatch")
        response: dict[str, Any] = orjson.loads(row[1])
        return response
    response = run(connection)
    connection.execute("INSERT INTO tokens VALUES (?, ?, ?, ?)", (token, digest, now, orjson.dumps(response)))
    return response


def _transaction_metrics(
    context: Context, request: dict[str, Any], actions: list[TransactAction], changes: list[ItemChange]
) -> dict[str, Any]:
    if request.get("ReturnItemCollectionMetrics") != "SIZE":
        return {}
    metrics: dict[str, list[dict[str, Any]]] = {}
    for change, action in zip(changes, actions, strict=True):
        collection = collection_metrics(context, change.layout, action.item)
        if collection is not None:
            metrics.setdefault(change.layout.table.name, []).append(collection)
    return {"ItemCollectionMetrics": metrics}


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "BatchGetItem": batch_get_item,
    "BatchWriteItem": batch_write_item,
    "TransactGetItems": transact_get_items,
    "TransactWriteItems": transact_write_items,
}
