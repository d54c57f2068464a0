"""What an update may write to the keys of indexes: only what it touches is looked at, index by index in the order of their names."""

from collections.abc import Iterator

from gateleg.engine.entries import SURELY_SHORT, check_index_key_size
from gateleg.engine.errors import EmptyKeyError, EngineError, invalid_parameter, validation
from gateleg.engine.expressions import Update, Values
from gateleg.engine.expressions.compare import type_of
from gateleg.engine.expressions.updates import Step
from gateleg.engine.layout import Layout
from gateleg.engine.schema import Index, KeyAttribute
from gateleg.engine.values import Item


def check_given(layout: Layout, update: Update, values: Values) -> None:
    """Refuse types that no key of an index has, as far as the request alone tells them."""
    if not layout.indexes:
        return
    for name, type_ in layout.touched(update.attributes).keys:
        step = update.whole.get(name)
        if step is None or (step.given is not None and type_ in values[step.given]):
            continue
        given = _known_type(step, values)
        if given is not None and given != type_:
            index = next(index for index, attribute in _touched(layout, update) if attribute.name == name)
            raise invalid_parameter(f"Type mismatch for Index Key {name} Expected: {type_} Actual: {given} IndexName: {index.name}")


def check_written(layout: Layout, update: Update, item: Item) -> None:
    """Refuse values that no key of an index has, in the item as the update leaves it."""
    for name, type_ in layout.touched(update.attributes).keys:
        value = item.get(name)
        if value is not None and not 0 < len(value.get(type_, "")) <= SURELY_SHORT:
            _look_closely(layout, update, item)
            return


def _look_closely(layout: Layout, update: Update, item: Item) -> None:
    for index, attribute in _touched(layout, update):
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


def _touched(layout: Layout, update: Update) -> Iterator[tuple[Index, KeyAttribute]]:
    for entry in layout.indexes_by_name:
        for attribute in entry.index.keys.attributes:
            if attribute.name in update.attributes:
                yield entry.index, attribute


def _known_type(step: Step, values: Values) -> str | None:
    """The type of what a step writes, if that does not depend on the item."""
    if step.given is not None:
        return type_of(values[step.given])
    if step.yields is not None or step.operand is None:
        return step.yields
    try:
        value = step.operand({}, values)
    except EngineError:
        return None
    return None if value is None else type_of(value)
