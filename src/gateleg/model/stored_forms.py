"""Items that are stored in another form than the model writes: their keys, and the values that conditions compare.

Another program may write a time as `2024-01-01T00:00:00.000000+0000` where the model writes `...Z`. Both are the same time, but as keys
they differ. An instance keeps the stored form if it differs from the model's, and as long as its values stay the same, that form is used
in its key and in conditions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gateleg.model.errors import ModelError
from gateleg.model.shapes import BINARY, DECIMAL, FLOAT, INTEGER, NUMBER_ENUM, TEXT, TEXT_ENUM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from gateleg.model.keys import KeySource
    from gateleg.model.spec import Spec
    from gateleg.model.wire import Item, Value

#: The name under which an instance keeps its `StoredForm`. Not a field: pydantic preserves it, also in copies.
STORED = "_stored"
#: Shapes whose values have only one form, or are compared by value.
ONE_FORM = (TEXT, TEXT_ENUM, INTEGER, DECIMAL, FLOAT, NUMBER_ENUM, BINARY)


class StoredForm(NamedTuple):
    """The stored form of an item."""

    #: the values of the key's components, and the stored key; empty if the model would build the same key
    components: Mapping[str, Any]
    key: Item
    #: by name, values that index keys, markers or counters depend on, each with its stored form
    others: Mapping[str, tuple[Any, Value]]


def may_differ(source: KeySource | None) -> bool:
    """Whether a key attribute may be stored in another form than the model's. Plain text and numbers have only one."""
    return source is None or source.member is not None or source.shape not in ONE_FORM


def stored_key(values: Mapping[str, Any]) -> Item | None:
    """The key under which an instance with these values is stored, or None if it is the key that the model would build."""
    stored: StoredForm | None = values.get(STORED)
    if stored is None or not stored.key or any(values.get(name) != value for name, value in stored.components.items()):
        return None
    return stored.key


def stored_value(source: KeySource, values: Mapping[str, Any]) -> Value:
    """The wire value that the database holds for an attribute of an instance that was read."""
    value, stored = values[source.name], values.get(STORED)
    if stored is not None and source.name in stored.others and stored.others[source.name][0] == value:
        wire: Value = stored.others[source.name][1]
        return wire
    return source.pack(value)


def compared_sources(spec: Spec[Any]) -> tuple[KeySource, ...]:
    """The attributes outside the primary key that conditions compare and that may be stored in several forms."""
    names = {name for plan in spec.rewritable for name in plan.inputs}
    names |= {name for unique in spec.uniques.values() for name in unique.by}
    names |= {name for counter in spec.counters.values() for name in counter.when}
    found = (source for name, source in spec.sources.items() if name in names and source.name not in spec.reachable(spec.key))
    return tuple(source for source in found if source.member is None and source.shape not in ONE_FORM and source.shape.tag in ("S", "N"))


def keep_stored_form(spec: Spec[Any], item: Item, instance: BaseModel) -> None:
    """Attach the stored form to an instance, where it differs from what the model writes."""
    values = spec.values(instance)
    key, components = _foreign_key(spec, item, values)
    others = {}
    for source in compared_sources(spec):
        value, stored = values.get(source.name), item.get(source.wire)
        if value is not None and stored is not None and source.pack(value) != stored:
            others[source.name] = (value, stored)
    if key or others:
        vars(instance)[STORED] = StoredForm(components, key, others)


def _foreign_key(spec: Spec[Any], item: Item, values: Mapping[str, Any]) -> tuple[Item, dict[str, Any]]:
    key = {name: item[name] for name in spec.table.attributes if name in item}
    # The first write moves an item from a legacy key to the current key.
    if len(key) < len(spec.table.attributes) or any(plan.fits(item) for plan in spec.key.legacy):
        return {}, {}
    try:
        if spec.key.build(values) == key:
            return {}, {}
    except ModelError:
        pass
    return key, {name: values[name] for name in spec.key.names}
