"""GetItem, PutItem, UpdateItem and DeleteItem."""

from collections.abc import Callable, Hashable
from typing import Any

from gateleg.engine import capacity
from gateleg.engine.context import Context, parsed
from gateleg.engine.errors import EngineError, validation
from gateleg.engine.expressions import Prepared, check_parameters, prepare
from gateleg.engine.layout import Layout
from gateleg.engine.operations import update_plans
from gateleg.engine.operations.speculative_updates import speculate
from gateleg.engine.operations.writing import Change, check_charge, check_item, check_paths, collection_metrics
from gateleg.engine.values import Item, examine_item
from gateleg.engine.wording import request_refusal
from gateleg.plain import is_plain

_PLAIN = is_plain("gets")
_SPECULATES = not is_plain("speculation")
_KEEPS_PLANS = not is_plain("update_plans")


def get_item(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """One item by its key."""
    layout = None if _PLAIN else context.catalog.known_layout(context.namespace, request["TableName"])
    place = None if layout is None else layout.quick_key(request["Key"])
    if place is None:
        key = _key(request, "GetItem")
        prepared = prepare(request, "GetItem")
        layout = context.layout(request["TableName"])
    else:
        prepared = prepare(request, "GetItem")
    assert layout is not None
    projection = prepared.projection
    if projection is not None and projection.nested:
        layout.check_scalar(projection.nested)
    row = context.database.row(layout.get, (layout.request_key(key) if place is None else place,))
    answer: dict[str, Any] = {}
    if row is not None:
        answer["Item"] = context.item(row[1]) if projection is None else projection.apply(parsed(row[1]))
    if "ReturnConsumedCapacity" in request:
        units = capacity.read_units(row[0] if row else 0, bool(request.get("ConsistentRead")))
        _add_capacity(answer, capacity.consumed(request["ReturnConsumedCapacity"], layout.table, units, {}))
    return answer


def put_item(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Replace an item, or create it."""
    try:
        item, size = examine_item(request["Item"])
        returns = _return_values(request, "ALL_OLD")
        check_item(item, size)
    except EngineError as error:
        # Of the words for repeated members of a set that is put, regions have the older ones in common.
        repeats = "contains duplicates" in (error.message or "")
        raise _after_parameters(request, "PutItem", validation(error.message or "") if repeats else error) from None
    prepared = _prepared(request, "PutItem")
    name = request["TableName"]
    check_paths(context.layout(name), prepared)
    with context.database.write_item() as connection:
        layout = context.layout(name)
        change = Change(layout, layout.item_key(item))
        if prepared.condition is not None or returns or layout.indexes or layout.table.logged or "ReturnConsumedCapacity" in request:
            change.read(connection)
            change.require(prepared.condition, prepared.values, _wants_failed_item(request))
        change.put(item, size)
        change.store(context, connection)
    return _write_answer(context, request, change, item, {"ALL_OLD": change.old}.get(returns))


def update_item(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Change some attributes of an item, or create it."""
    return ready_update(context, request)()


def ready_update(context: Context, request: dict[str, Any], statement: Hashable = None) -> Callable[[], dict[str, Any]]:
    """`update_item` in two steps: what needs no row is done now, and the rest when the result is called."""
    name = request["TableName"]
    found = context.catalog.known_layout(context.namespace, name)
    place = None if found is None else found.quick_key(request["Key"])
    key = request["Key"] if place is not None else _key(request, "UpdateItem")
    prepared = _prepared(request, "UpdateItem")
    check_paths(found or context.layout(name), prepared)
    if found is not None and statement is not None and _KEEPS_PLANS:
        update_plans.cache_plan(found, statement, request, prepared)
    return _second_step(context, request, found, place, key, prepared)


def ready_by_statement(context: Context, request: dict[str, Any], statement: Hashable) -> Callable[[], dict[str, Any]] | None:
    """`ready_update` of a request whose shape need not be checked, since all but its key and its values is known; none if it must be."""
    found = context.catalog.known_layout(context.namespace, request["TableName"])
    plan = None if found is None else update_plans.cached_plan(found, statement)
    if found is None or plan is None:
        return None
    key = request["Key"]
    place = found.quick_key(key)
    prepared = plan.prepared(request["ExpressionAttributeValues"])
    return None if place is None or prepared is None else _second_step(context, request, found, place, key, prepared)


def _second_step(
    context: Context, request: dict[str, Any], found: Layout | None, place: bytes | None, key: Item, prepared: Prepared
) -> Callable[[], dict[str, Any]]:
    """The rest of an update, which needs the row. `place` is the row's key by the layout that was found."""
    draft = speculate(found, place, key, prepared) if _SPECULATES and found is not None and place is not None else None

    def update() -> dict[str, Any]:
        with context.database.write_item() as connection:
            layout = context.layout(request["TableName"])
            if draft is not None and layout is found and draft.swap(connection):
                change = draft.change
            else:
                if layout is not found:
                    # The table may have been altered meanwhile, or made anew with another key.
                    check_paths(layout, prepared)
                change = Change(layout, place if place is not None and layout is found else layout.request_key(key)).read(connection)
                check_charge(prepared)
                change.require(prepared.condition, prepared.values, _wants_failed_item(request))
                change.update(key, prepared.update, prepared.values, prepared.sizes)
                change.store(context, connection)
        return _write_answer(context, request, change, key, _updated(request, change, prepared))

    return update


def _updated(request: dict[str, Any], change: Change, prepared: Prepared) -> Item | None:
    """What an update answers with of the item before or after it; None for nothing."""
    returned: Item | None = None
    returns = request.get("ReturnValues") or "NONE"
    if returns == "ALL_OLD":
        returned = change.old
    elif returns == "ALL_NEW":
        returned = change.new
    elif returns != "NONE" and prepared.update is not None:
        image = change.old if returns == "UPDATED_OLD" else change.new
        returned = prepared.update.touched(image) if image is not None else None
    return returned or None


def delete_item(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Remove an item, if it is there."""
    key = _key(request, "DeleteItem")
    try:
        returns = _return_values(request, "ALL_OLD")
    except EngineError as error:
        raise request_refusal(error, "DeleteItem", request) from None
    prepared = _prepared(request, "DeleteItem")
    name = request["TableName"]
    check_paths(context.layout(name), prepared)
    with context.database.write_item() as connection:
        layout = context.layout(name)
        change = Change(layout, layout.request_key(key)).read(connection)
        change.require(prepared.condition, prepared.values, _wants_failed_item(request))
        change.store(context, connection)
    return _write_answer(context, request, change, key, {"ALL_OLD": change.old}.get(returns))


def _prepared(request: dict[str, Any], operation: str) -> Prepared:
    try:
        return prepare(request, operation)
    except EngineError as error:
        raise request_refusal(error, operation, request) from None


def _key(request: dict[str, Any], operation: str) -> Item:
    try:
        return examine_item(request["Key"])[0]
    except EngineError as error:
        raise _after_parameters(request, operation, error) from None


def _after_parameters(request: dict[str, Any], operation: str, fault: EngineError) -> EngineError:
    """The fault of a key or an item; raises what DynamoDB sees before it, parameters that exclude each other."""
    if fault.code == "ValidationException":
        check_parameters(request, operation)
    return fault


def _return_values(request: dict[str, Any], allowed: str) -> str:
    returns = request.get("ReturnValues") or "NONE"
    if returns not in {"NONE", allowed}:
        raise validation("ReturnValues can only be ALL_OLD or NONE")
    return "" if returns == "NONE" else returns


def _wants_failed_item(request: dict[str, Any]) -> bool:
    return request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"


def _write_answer(context: Context, request: dict[str, Any], change: Change, key: Item, returned: Item | None) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    if returned is not None:
        answer["Attributes"] = returned
    if request.get("ReturnConsumedCapacity") is not None:
        _add_capacity(answer, change.capacity(request["ReturnConsumedCapacity"]))
    if request.get("ReturnItemCollectionMetrics") == "SIZE":
        metrics = collection_metrics(context, change.layout, key)
        if metrics is not None:
            answer["ItemCollectionMetrics"] = metrics
    return answer


def _add_capacity(answer: dict[str, Any], consumed: dict[str, Any] | None) -> None:
    if consumed is not None:
        answer["ConsumedCapacity"] = consumed


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "GetItem": get_item,
    "PutItem": put_item,
    "UpdateItem": update_item,
    "DeleteItem": delete_item,
}
