"""Items that are stored in another form than the model writes: the key they were read under, and the values that conditions compare with.

Another program may write a time as `2024-01-01T00:00:00.000000+0000` where the model writes `...Z`. Both read as the same time, but they
are two keys. An instance remembers the form in which it was read, if and only if it differs; as long as its values stay the same, it
is addressed and compared by that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.model.codec.shapes import BINARY, DECIMAL, FLOAT, INTEGER, NUMBER_ENUM, TEXT, TEXT_ENUM
from gateleg.model.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from gateleg.model.codec.wire import Item, Value
    from gateleg.model.spec import Source, Spec

#: Where an instance keeps the form in which it was read. Not a field: pydantic leaves it alone, also in copies.
STORED = "_stored"
#: Shapes whose values have one form only, or are compared by value.
_ONE_FORM = (TEXT, TEXT_ENUM, INTEGER, DECIMAL, FLOAT, NUMBER_ENUM, BINARY)


@dataclass(frozen=True)
class Stored:
    """The form in which an item was read."""

    #: the values of the key's components, and the key on the wire; empty when it is the one that the model would make
    components: Mapping[str, Any]
    key: Item
    #: by name, values that keys of indexes, markers or counters depend on, and their form on the wire
    others: Mapping[str, tuple[Any, Value]]


def checked_sources(spec: Spec[Any]) -> tuple[Source, ...]:
    """The values besides the primary key that conditions compare and that may have several forms."""
    names = {name for plan in spec.rewritable for name in plan.inputs}
    names |= {name for unique in spec.uniques.values() for name in unique.by}
    names |= {name for counter in spec.counters.values() for name in counter.when}
    found = (source for name, source in spec.sources.items() if name in names and source.name not in spec.reachable(spec.key))
    return tuple(source for source in found if source.member is None and source.shape not in _ONE_FORM and source.shape.tag in ("S", "N"))


def may_differ(source: Source | None) -> bool:
    """Whether a key attribute may have another form than the model gives it: unless it holds text or a number as it is."""
    return source is None or source.member is not None or source.shape not in _ONE_FORM


def remember(spec: Spec[Any], item: Item, instance: BaseModel) -> None:
    """Let an instance remember the form in which it was read, where it differs from what the model writes."""
    values = spec.values(instance)
    key, components = _foreign_key(spec, item, values)
    others = {}
    for source in checked_sources(spec):
        value, stored = values.get(source.name), item.get(source.wire)
        if value is not None and stored is not None and source.pack(value) != stored:
            others[source.name] = (value, stored)
    if key or others:
        vars(instance)[STORED] = Stored(components, key, others)


def _foreign_key(spec: Spec[Any], item: Item, values: Mapping[str, Any]) -> tuple[Item, dict[str, Any]]:
    key = {name: item[name] for name in spec.table.attributes if name in item}
    # Items under an older form of their key are moved to the present one by the first write.
    if len(key) < len(spec.table.attributes) or any(plan.fits(item) for plan in spec.key.legacy):
        return {}, {}
    try:
        if spec.key.build(values) == key:
            return {}, {}
    except ModelError:
        pass
    return key, {name: values[name] for name in spec.key.names}


def stored_key(values: Mapping[str, Any]) -> Item | None:
    """The key that an instance with these values was read under, if it is not the one that the model would make."""
    stored: Stored | None = values.get(STORED)
    if stored is None or not stored.key or any(values.get(name) != value for name, value in stored.components.items()):
        return None
    return stored.key


def stored_value(source: Source, values: Mapping[str, Any]) -> Value:
    """The wire value that the database has for a value that was read."""
    value, stored = values[source.name], values.get(STORED)
    if stored is not None and source.name in stored.others and stored.others[source.name][0] == value:
        wire: Value = stored.others[source.name][1]
        return wire
    return source.pack(value)
