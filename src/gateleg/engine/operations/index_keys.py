"""Checks of the index keys that an update writes, index by index in the order of their names, as DynamoDB reports them."""

from collections.abc import Iterator

from gateleg.engine.entries import ALWAYS_SHORT_ENOUGH, check_index_key_size
from gateleg.engine.errors import EmptyKeyError, EngineError, invalid_parameter, validation
from gateleg.engine.expressions import CompiledUpdate, Values
from gateleg.engine.expressions.compare import type_of
from gateleg.engine.expressions.updates import UpdateStep
from gateleg.engine.layout import Layout
from gateleg.engine.schema import Index, KeyAttribute
from gateleg.engine.values import Item


def check_request_values(layout: Layout, update: CompiledUpdate, values: Values) -> None:
    """Refuse values of a wrong type for an index key, as far as the request alone shows."""
    if not layout.indexes:
        return
    for name, type_ in layout.affected_indexes(update.attributes).keys:
        step = update.by_attribute.get(name)
        if step is None or (step.placeholder is not None and type_ in values[step.placeholder]):
            continue
        given = _known_type(step, values)
        if given is not None and given != type_:
            index = next(index for index, attribute in _updated_index_keys(layout, update) if attribute.name == name)
            raise invalid_parameter(f"Type mismatch for Index Key {name} Expected: {type_} Actual: {given} IndexName: {index.name}")


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
