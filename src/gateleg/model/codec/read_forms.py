"""Remember how an item is stored where the model would write it differently: see `stored_keys`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.model.codec.stored_keys import ONE_FORM, STORED, Stored
from gateleg.model.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from gateleg.model.codec.wire import Item
    from gateleg.model.keys.sources import KeySource
    from gateleg.model.layout import EntityLayout


def checked_sources(spec: EntityLayout[Any]) -> tuple[KeySource, ...]:
    """The attributes outside the primary key that conditions compare and that may be stored in several forms."""
    names = {name for plan in spec.rewritable for name in plan.inputs}
    names |= {name for unique in spec.uniques.values() for name in unique.by}
    names |= {name for counter in spec.counters.values() for name in counter.when}
    found = (source for name, source in spec.sources.items() if name in names and source.name not in spec.reachable(spec.key))
    return tuple(source for source in found if source.member is None and source.shape not in ONE_FORM and source.shape.tag in ("S", "N"))


def remember(spec: EntityLayout[Any], item: Item, instance: BaseModel) -> None:
    """Attach the stored form to an instance, where it differs from what the model writes."""
    values = spec.values(instance)
    key, components = _foreign_key(spec, item, values)
    others = {}
    for source in checked_sources(spec):
        value, stored = values.get(source.name), item.get(source.wire)
        if value is not None and stored is not None and source.pack(value) != stored:
            others[source.name] = (value, stored)
    if key or others:
        vars(instance)[STORED] = Stored(components, key, others)


def _foreign_key(spec: EntityLayout[Any], item: Item, values: Mapping[str, Any]) -> tuple[Item, dict[str, Any]]:
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
