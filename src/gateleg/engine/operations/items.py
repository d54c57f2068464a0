"""GetItem, PutItem, UpdateItem and DeleteItem."""

from collections.abc import Callable, Hashable
from typing import Any

from gateleg.engine import capacity
from gateleg.engine.context import Context, parse_item
from gateleg.engine.errors import EngineError, validation
from gateleg.engine.expressions import Prepared, check_parameters, prepare
from gateleg.engine.layout import Layout
from gateleg.engine.operations import update_plans
from gateleg.engine.operations.item_change import ItemChange, check_expression_size, check_item, check_paths, collection_metrics
from gateleg.engine.operations.speculative_updates import speculate
from gateleg.engine.validation_messages import parameter_error
from gateleg.engine.values import Item, canonicalize_item
from gateleg.plain import is_plain

_SKIPS_SHORT_GET = is_plain("gets")
_SPECULATES = not is_plain("speculation")
_CACHES_PLANS = not is_plain("update_plans")


def get_item(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """One item by its key."""
    layout = None if _SKIPS_SHORT_GET else context.catalog.cached_layout(context.namespace, request["TableName"])
    row_key = None if layout is None else layout.quick_key(request["Key"])
    if row_key is None:
        key = _key(request, "GetItem")
        prepared = prepare(request, "GetItem")
        layout = context.layout(request["TableName"])
    else:
        prepared = prepare(request, "GetItem")
    assert layout is not None
    projection = prepared.projection
    if projection is not None and projection.nested:
        layout.check_scalar(projection.nested)
    row = context.database.row(layout.get, (layout.request_key(key) if row_key is None else row_key,))
    response: dict[str, Any] = {}
    if row is not None:
        response["Item"] = context.response_item(row[1]) if projection is None else projection.apply(parse_item(row[1]))
    if "ReturnConsumedCapacity" in request:
        units = capacity.read_units(row[0] if row else 0, bool(request.get("ConsistentRead")))
        _add_capacity(response, capacity.consumed(request["ReturnConsumedCapacity"], layout.table, units, {}))
    return response


def put_item(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Replace an item, or create it."""
    try:
        item, size = canonicalize_item(request["Item"])
        returns = _return_values(request, "ALL_OLD")
        check_item(item, size)
    except EngineError as error:
        # Regions differ in the message for duplicate set members of a put item; the older message is the common one.
        repeats = "contains duplicates" in (error.message or "")
        raise _after_parameter_checks(request, "PutItem", validation(error.message or "") if repeats else error) from None
    prepared = _prepared(request, "PutItem")
    name = request["TableName"]
    check_paths(context.layout(name), prepared)
    with context.database.write_item() as connection:
        layout = context.layout(name)
        change = ItemChange(layout, layout.item_key(item))
        if prepared.condition is not None or returns or layout.indexes or layout.table.logged or "ReturnConsumedCapacity" in request:
            change.read(connection)
            change.check_condition(prepared.condition, prepared.values, _wants_failed_item(request))
        change.put(item, size)
        change.store(context, connection)
    return _write_answer(context, request, change, item, {"ALL_OLD": change.old}.get(returns))


def update_item(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Change attributes of an item, or create it."""
    return prepare_update(context, request)()


def prepare_update(context: Context, request: dict[str, Any], statement: Hashable = None) -> Callable[[], dict[str, Any]]:
    """The first step of UpdateItem, which needs no row. The returned call is the second, which runs in a write transaction."""
    name = request["TableName"]
    layout = context.catalog.cached_layout(context.namespace, name)
    row_key = None if layout is None else layout.quick_key(request["Key"])
    key = request["Key"] if row_key is not None else _key(request, "UpdateItem")
    prepared = _prepared(request, "UpdateItem")
    check_paths(layout or context.layout(name), prepared)
    if layout is not None and statement is not None and _CACHES_PLANS:
        update_plans.cache_plan(layout, statement, request, prepared)
    return _second_step(context, request, layout, row_key, key, prepared)


def prepare_update_from_plan(context: Context, request: dict[str, Any], statement: Hashable) -> Callable[[], dict[str, Any]] | None:
    """`prepare_update` with the cached plan of a statement, without validating the request again; None if there is no such plan."""
    layout = context.catalog.cached_layout(context.namespace, request["TableName"])
    plan = None if layout is None else update_plans.cached_plan(layout, statement)
    if layout is None or plan is None:
        return None
    key = request["Key"]
    row_key = layout.quick_key(key)
    prepared = plan.prepared(request["ExpressionAttributeValues"])
    return None if row_key is None or prepared is None else _second_step(context, request, layout, row_key, key, prepared)


def _second_step(
    context: Context, request: dict[str, Any], cached: Layout | None, row_key: bytes | None, key: Item, prepared: Prepared
) -> Callable[[], dict[str, Any]]:
    """The second step of an update: a call that reads the row and writes it.

    `cached` is the layout that the first step used, and `row_key` the row's key in it; both are None where there was no cached layout.
    """
    speculative = speculate(cached, row_key, key, prepared) if _SPECULATES and cached is not None and row_key is not None else None

    def update() -> dict[str, Any]:
        with context.database.write_item() as connection:
            layout = context.layout(request["TableName"])
            if speculative is not None and layout is cached and speculative.apply_if_unchanged(connection):
                change = speculative.change
            else:
                known_key = row_key
                if layout is not cached:
                    # The table was altered between the steps, or created again, perhaps with another key.
                    check_paths(layout, prepared)
                    known_key = None
                change = ItemChange(layout, known_key or layout.request_key(key)).read(connection)
                check_expression_size(prepared)
                change.check_condition(prepared.condition, prepared.values, _wants_failed_item(request))
                change.update(key, prepared.update, prepared.values, prepared.sizes)
                change.store(context, connection)
        return _write_answer(context, request, change, key, _returned_attributes(request, change, prepared))

    return update


def _returned_attributes(request: dict[str, Any], change: ItemChange, prepared: Prepared) -> Item | None:
    """The attributes that an UpdateItem returns; None for nothing."""
    returned: Item | None = None
    returns = request.get("ReturnValues") or "NONE"
    if returns == "ALL_OLD":
        returned = change.old
    elif returns == "ALL_NEW":
        returned = change.new
    elif returns != "NONE" and prepared.update is not None:
        image = change.old if returns == "UPDATED_OLD" else change.new
        returned = prepared.update.written_paths(image) if image is not None else None
    return returned or None


def delete_item(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Delete an item if it exists."""
    key = _key(request, "DeleteItem")
    try:
        returns = _return_values(request, "ALL_OLD")
    except EngineError as error:
        raise parameter_error(error, "DeleteItem", request) from None
    prepared = _prepared(request, "DeleteItem")
    name = request["TableName"]
    check_paths(context.layout(name), prepared)
    with context.database.write_item() as connection:
        layout = context.layout(name)
        change = ItemChange(layout, layout.request_key(key)).read(connection)
        change.check_condition(prepared.condition, prepared.values, _wants_failed_item(request))
        change.store(context, connection)
    return _write_answer(context, request, change, key, {"ALL_OLD": change.old}.get(returns))


def _prepared(request: dict[str, Any], operation: str) -> Prepared:
    try:
        return prepare(request, operation)
    except EngineError as error:
        raise parameter_error(error, operation, request) from None


def _key(request: dict[str, Any], operation: str) -> Item:
    try:
        return canonicalize_item(request["Key"])[0]
    except EngineError as error:
        raise _after_parameter_checks(request, operation, error) from None


def _after_parameter_checks(request: dict[str, Any], operation: str, fault: EngineError) -> EngineError:
    """The error of a key or item, unless DynamoDB reports mutually exclusive parameters first."""
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


def _write_answer(context: Context, request: dict[str, Any], change: ItemChange, key: Item, returned: Item | None) -> dict[str, Any]:
    response: dict[str, Any] = {}
    if returned is not None:
        response["Attributes"] = returned
    if request.get("ReturnConsumedCapacity") is not None:
        _add_capacity(response, change.capacity(request["ReturnConsumedCapacity"]))
    if request.get("ReturnItemCollectionMetrics") == "SIZE":
        metrics = collection_metrics(context, change.layout, key)
        if metrics is not None:
            response["ItemCollectionMetrics"] = metrics
    return response


def _add_capacity(response: dict[str, Any], consumed: dict[str, Any] | None) -> None:
    if consumed is not None:
        response["ConsumedCapacity"] = consumed


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "GetItem": get_item,
    "PutItem": put_item,
    "UpdateItem": update_item,
    "DeleteItem": delete_item,
}
