"""Items that are stored in another form than the model writes: the key they were read under, and the values that conditions compare with.

Another program may write a time as `2024-01-01T00:00:00.000000+0000` where the model writes `...Z`. Both read as the same time, but they
are two keys. An instance remembers the form in which it was read, if and only if it differs; as long as its values stay the same, it
is addressed and compared by that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.model.codec.shapes import BINARY, DECIMAL, FLOAT, INTEGER, NUMBER_ENUM, TEXT, TEXT_ENUM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model.codec.wire import Item, Value
    from gateleg.model.keys.sources import Source

#: Where an instance keeps the form in which it was read. Not a field: pydantic leaves it alone, also in copies.
STORED = "_stored"
#: Shapes whose values have one form only, or are compared by value.
ONE_FORM = (TEXT, TEXT_ENUM, INTEGER, DECIMAL, FLOAT, NUMBER_ENUM, BINARY)


@dataclass(frozen=True)
class Stored:
    """The form in which an item was read."""

    #: the values of the key's components, and the key on the wire; empty when it is the one that the model would make
    components: Mapping[str, Any]
    key: Item
    #: by name, values that keys of indexes, markers or counters depend on, and their form on the wire
    others: Mapping[str, tuple[Any, Value]]


def may_differ(source: Source | None) -> bool:
    """Whether a key attribute may have another form than the model gives it: unless it holds text or a number as it is."""
    return source is None or source.member is not None or source.shape not in ONE_FORM


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
