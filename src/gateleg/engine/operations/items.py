"""GetItem, PutItem, UpdateItem and DeleteItem, and what they share with batches, transactions and PartiQL.

An `ItemChange` is the write to one item: read the row, check the condition, set the new item, store it. Around it stand the checks of what
is written: of an item and its size, of the paths of expressions, and of index keys, index by index in the order of their names, as
DynamoDB reports them.

UpdateItem runs in two steps. The first, which validates the request, needs no row, so that callers take the write lock after it. An update
in the form of an earlier one skips most of it: see `prepare_unchecked`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import apsw
import orjson

from gateleg.engine import capacity, changelog, keys
from gateleg.engine.catalog import Context, parse_item
from gateleg.engine.errors import EmptyKeyError, EngineError, condition_failed, invalid_parameter, parameter_error, validation
from gateleg.engine.expressions import (
    CompiledCondition,
    CompiledUpdate,
    Prepared,
    Values,
    check_parameters,
    prepare,
    prepare_unchecked,
)
from gateleg.engine.expressions.conditions import are_equal, type_of
from gateleg.engine.expressions.nodes import MAX_NAME, check_attribute_names
from gateleg.engine.expressions.updates import UpdateStep
from gateleg.engine.layout import ALWAYS_SHORT_ENOUGH, Layout, check_index_key_size
from gateleg.engine.schema import Index, KeyAttribute
from gateleg.engine.values import MAX_ITEM_SIZE, Item, canonicalize, canonicalize_item, size, text_size


def get_item(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """One item by its key."""
    layout = context.catalog.cached_layout(context.namespace, request["TableName"])
    row_key = None if layout is None else layout.quick_key(request["Key"])
    key = request["Key"] if row_key is not None else _key(request, "GetItem")
    prepared = prepare(request, "GetItem")
    layout = layout or context.layout(request["TableName"])
    projection = prepared.projection
    if projection is not None and projection.nested:
        layout.check_scalar(projection.nested)
    row = context.database.row(layout.get, (row_key or layout.request_key(key),))
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
    return _write_response(context, request, change, item, {"ALL_OLD": change.old}.get(returns))


def update_item(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Change attributes of an item, or create it."""
    return prepare_update(context, request)()


def prepare_update(context: Context, request: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    """The first step of UpdateItem, which needs no row. The returned call is the second, which runs in a write transaction."""
    name = request["TableName"]
    layout = context.catalog.cached_layout(context.namespace, name)
    row_key = None if layout is None else layout.quick_key(request["Key"])
    key = request["Key"] if row_key is not None else _key(request, "UpdateItem")
    prepared = _prepared(request, "UpdateItem")
    check_paths(layout or context.layout(name), prepared)
    return _second_step(context, request, layout, row_key, key, prepared)


def prepare_known_update(context: Context, request: Any) -> Callable[[], dict[str, Any]] | None:
    """`prepare_update` for a request that the protocol layer has not checked; None if no request plan shows that it is valid."""
    try:
        layout = context.catalog.cached_layout(context.namespace, request["TableName"])
        row_key = None if layout is None else layout.quick_key(request["Key"])
        prepared = None if row_key is None else prepare_unchecked(request, "UpdateItem")
        if layout is None or prepared is None:
            return None
        check_paths(layout, prepared)
    except (EngineError, LookupError, TypeError, AttributeError):
        # The protocol layer and the general path find the error that DynamoDB reports first.
        return None
    return _second_step(context, request, layout, row_key, request["Key"], prepared)


def _second_step(
    context: Context, request: dict[str, Any], cached: Layout | None, row_key: bytes | None, key: Item, prepared: Prepared
) -> Callable[[], dict[str, Any]]:
    """The second step of an update: a call that reads the row and writes it.

    `cached` is the layout that the first step used, and `row_key` the row's key in it; both are None where there was no cached layout.
    """

    def update() -> dict[str, Any]:
        with context.database.write_item() as connection:
            layout = context.layout(request["TableName"])
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
        return _write_response(context, request, change, key, _returned_attributes(request, change, prepared))

    return update


def _returned_attributes(request: dict[str, Any], change: "ItemChange", prepared: Prepared) -> Item | None:
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
    return _write_response(context, request, change, key, {"ALL_OLD": change.old}.get(returns))


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "GetItem": get_item,
    "PutItem": put_item,
    "UpdateItem": update_item,
    "DeleteItem": delete_item,
}


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


def _write_response(context: Context, request: dict[str, Any], change: "ItemChange", key: Item, returned: Item | None) -> dict[str, Any]:
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


def collection_metrics(context: Context, layout: Layout, item: Item) -> dict[str, Any] | None:
    """ItemCollectionMetrics of an item's partition; None in tables without LSIs."""
    table = layout.table
    if not any(index.kind == "LSI" for index in table.indexes):
        return None
    attribute = table.keys.hash[0]
    prefix = keys.partition_prefix(table.keys.hash, [item[attribute.name][attribute.type]])
    row = context.database.row(
        f"SELECT coalesce(sum(size), 0) FROM {layout.name} WHERE k >= ? AND k < ?", (prefix, keys.prefix_end(prefix))
    )
    gigabytes = (row[0] if row else 0) / 2**30
    return {
        "ItemCollectionKey": {attribute.name: item[attribute.name]},
        "SizeEstimateRangeGB": [float(int(gigabytes)), float(int(gigabytes) + 1)],
    }


_NO_SIZES: Final[Mapping[str, int]] = {}
UPDATE_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"


@dataclass(slots=True)
class ItemChange:
    """A write to one item: the row before, and the item after."""

    layout: Layout
    key: bytes
    stored: bytes | None = None
    old_size: int | None = None
    old: Item | None = None
    new: Item | None = None
    new_size: int = 0
    #: if known, the only attributes in which the new item may differ from the old one
    written_attributes: frozenset[str] | None = None
    #: whether it was written
    applied: bool = False

    def read(self, connection: apsw.Connection) -> "ItemChange":
        """Read the current row."""
        row = connection.execute(self.layout.get, (self.key,)).fetchone()
        if row is not None:
            self.old_size, self.stored = row
            self.old = orjson.loads(row[1])
        return self

    def check_condition(self, condition: CompiledCondition | None, values: Values, return_item: bool) -> None:
        """Fail unless the current item meets the condition."""
        if condition is not None and not condition.test(self.old or {}, values):
            raise condition_failed(self.old if return_item else None)

    def put(self, item: Item, bytes_: int) -> None:
        """Replace the item."""
        self.new, self.new_size = item, bytes_

    def update(self, key: Item, update: CompiledUpdate | None, values: Values, sizes: Mapping[str, int] = _NO_SIZES) -> None:
        """Apply an update to the current item, or to the bare key if the item does not exist.

        `sizes` are the known sizes of values.
        """
        if self.old is None and update is not None and not update.creates_item:
            return
        item = self.old if self.old is not None else key
        if update is not None:
            item = update.apply(item, values, exists=self.old is not None)
            self.written_attributes = update.attributes
            if self.layout.indexes:
                check_updated_item(self.layout, update, item)
        self.new, self.new_size = self._measure(item, update, sizes)
        if self.new_size > MAX_ITEM_SIZE:
            raise validation(UPDATE_TOO_LARGE)

    def _measure(self, item: Item, update: CompiledUpdate | None, sizes: Mapping[str, int]) -> tuple[Item, int]:
        """The updated item, validated, and its size, computed from the written attributes only."""
        if self.old is None or self.old_size is None or update is None:
            return canonicalize_item(item)
        total, old, writes_nested, placeholders = self.old_size, self.old, update.writes_nested, update.placeholders
        for name in update.attributes:
            before, after = old.get(name), item.get(name)
            if before is after:
                continue
            if before is None:
                total += len(name) if name.isascii() else text_size(name)
            else:
                # Most attributes are short ASCII strings, for which the calls would cost more than the work.
                text = before.get("S")
                total -= len(text) if text is not None and text.isascii() else size(before)
            if after is None:
                total -= len(name) if name.isascii() else text_size(name)
            elif writes_nested:
                total += canonicalize(after, 0)[1]
            else:
                text = after.get("S")
                if text is not None and text.isascii():
                    total += len(text)
                else:
                    total += (sizes.get(placeholders[name]) if name in placeholders else None) or size(after)
        return item, total

    def store(self, context: Context, connection: apsw.Connection, by_service: bool = False) -> None:
        """Write the row, its index entries and, for streams and recovery, the change log."""
        layout = self.layout
        if self.new is None and self.old is None:
            return
        logged = layout.table.logged
        if logged and self._is_unchanged():
            return
        layout.write(connection, self.key, self.old, self.new, self.new_size, self.written_attributes)
        self.applied = True
        if logged:
            new = orjson.dumps(self.new) if self.new is not None else None
            changelog.append(connection, layout.table.id, context.now(), self.key, self.stored, new, by_service)

    def _is_unchanged(self) -> bool:
        """Whether the item stays the same, regardless of the order of set members."""
        return self.old is not None and self.new is not None and are_equal({"M": self.old}, {"M": self.new})

    @property
    def charged(self) -> tuple[str, int]:
        """The table's name and the larger of the two item sizes, which a transaction is charged for."""
        return self.layout.table.name, max(self.old_size or 0, self.new_size)

    def capacity(self, mode: str | None, factor: int = 1) -> dict[str, Any] | None:
        """The ConsumedCapacity of the write, if the request asked for it."""
        if mode not in {"TOTAL", "INDEXES"}:
            return None
        indexes = self.layout.index_writes(self.old, self.new) if self.applied else []
        return capacity.write_capacity(mode, self.layout.table, self.old_size, self.new_size, indexes, factor)


def check_item(item: Item, bytes_: int) -> None:
    """Refuse an item that is too large or has an attribute name that is empty or too long."""
    if "" in item or bytes_ > MAX_NAME:
        check_attribute_names(item)
    check_item_size(bytes_)


def check_item_size(bytes_: int) -> None:
    """Refuse an item over DynamoDB's limit of 400 KB."""
    if bytes_ > MAX_ITEM_SIZE:
        raise validation("Item size has exceeded the maximum allowed size")


def check_expression_size(prepared: Prepared) -> None:
    """Refuse an update expression that exceeds the item size limit by itself; only UpdateItem checks this."""
    update = prepared.update
    if update is not None and update.expression_size is not None and update.expression_size.exceeds(prepared.values, prepared.size):
        raise validation(UPDATE_TOO_LARGE)


def check_paths(layout: Layout, prepared: Prepared) -> None:
    """Refuse updates of the table's key, values of a wrong type for an index key, and document paths into key attributes."""
    update, condition = prepared.update, prepared.condition
    if update is not None:
        for name in layout.table.keys.names:
            if name in update.attributes:
                raise invalid_parameter(f"Cannot update attribute {name}. This attribute is part of the key")
        check_request_values(layout, update, prepared.values)
        if update.nested:
            layout.check_scalar(update.nested)
    if condition is not None and condition.nested:
        layout.check_scalar(condition.nested)


def check_request_values(layout: Layout, update: CompiledUpdate, values: Values) -> None:
    """Refuse values of a wrong type for an index key, as far as the request alone shows."""
    if not layout.indexes:
        return
    for name, type_ in layout.affected_indexes(update.attributes).keys:
        step = update.by_attribute.get(name)
        if step is None or (step.placeholder is not None and type_ in values[step.placeholder]):
            continue
        actual = _known_type(step, values)
        if actual is not None and actual != type_:
            index = next(index for index, attribute in _updated_index_keys(layout, update) if attribute.name == name)
            raise invalid_parameter(f"Type mismatch for Index Key {name} Expected: {type_} Actual: {actual} IndexName: {index.name}")


def check_updated_item(layout: Layout, update: CompiledUpdate, item: Item) -> None:
    """Refuse invalid index keys in the updated item."""
    for name, type_ in layout.affected_indexes(update.attributes).keys:
        value = item.get(name)
        if value is not None and not 0 < len(value.get(type_, "")) <= ALWAYS_SHORT_ENOUGH:
            _check_index_keys(layout, update, item)
            return


def _check_index_keys(layout: Layout, update: CompiledUpdate, item: Item) -> None:
    for index, attribute in _updated_index_keys(layout, update):
        value = item.get(attribute.name)
        if value is None:
            continue
        content = value.get(attribute.type)
        if content is None:
            raise validation("The update expression attempted to update the secondary index key to unsupported type")
        if not content:
            kind = "string" if attribute.type == "S" else "binary"
            raise EmptyKeyError(
                "One or more parameter values are not valid. The update expression attempted to update a secondary index key "
                f"to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty {kind} value."
            )
        check_index_key_size(index, attribute, content)


def _updated_index_keys(layout: Layout, update: CompiledUpdate) -> Iterator[tuple[Index, KeyAttribute]]:
    for entry in layout.indexes_by_name:
        for attribute in entry.index.keys.attributes:
            if attribute.name in update.attributes:
                yield entry.index, attribute


def _known_type(step: UpdateStep, values: Values) -> str | None:
    """The type that a step writes, if it does not depend on the item."""
    if step.placeholder is not None:
        return type_of(values[step.placeholder])
    if step.result_type is not None or step.operand is None:
        return step.result_type
    try:
        value = step.operand({}, values)
    except EngineError:
        return None
    return None if value is None else type_of(value)
