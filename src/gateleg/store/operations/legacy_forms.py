"""Legacy forms of keys: recognise items that have one, and convert them to their current key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import ModelError

if TYPE_CHECKING:
    from gateleg.model import Item, Spec
    from gateleg.model.keys.plans import KeyPlan

__all__ = ["is_legacy", "with_current_key"]


E = TypeVar("E", bound=BaseModel)


class LegacyItem(dict[str, Any]):
    """An item that is stored under a legacy key, encoded as a write would store it today."""


def is_legacy(item: Item, spec: Spec[Any]) -> bool:
    """Whether an item may belong to the entity and be stored under a legacy key."""
    owner = spec.table.spec_for(item)
    return (owner is None or owner is spec) and any(plan.fits(item) for plan in spec.key.legacy)


def with_current_key(item: Item, spec: Spec[Any]) -> Item:
    """The item with its current key; unchanged if the item does not contain all components of that."""
    for plan in spec.key.legacy:
        if not plan.fits(item):
            continue
        try:
            return {**item, **spec.key.build(spec.arguments(_known(item, spec) | plan.parse(item), spec.key.names))}
        except ModelError:
            return item
    return item


def read_form(item: Item, spec: Spec[E]) -> tuple[E, int | None]:
    """Decode an item; also return the number of the legacy form that its key has, or None for the current form."""
    instance = spec.decode(item if spec.key.fits(item) else with_current_key(item, spec))
    values, key = spec.values(instance), {name: item[name] for name in spec.table.attributes}
    if spec.key.build(values) == key:
        return instance, None
    # As in `find`: a key is a legacy key of an item if it is built from the item's values.
    return instance, next((number for number, plan in enumerate(spec.key.legacy) if plan.build(values) == key), None)


def has_legacy_key(item: Item, spec: Spec[Any], plan: KeyPlan) -> bool:
    """Whether the key of an item, which may be a projection, is a legacy key rather than the current one."""
    if not plan.fits(item):
        return False
    if not spec.key.fits(item):
        return True
    known, parsed = _known(item, spec), plan.parse(item)
    if any(known.get(name, value) != value for name, value in parsed.items()):
        return False
    try:
        present = spec.key.build(spec.arguments(known | parsed, spec.key.names))
    except ModelError:
        return False
    return bool(present) and any(item.get(name) != value for name, value in present.items())


def _known(item: Item, spec: Spec[Any]) -> dict[str, Any]:
    """The components of the current key that an item has as separate attributes."""
    parts = (source for source in spec.sources.values() if source.name in spec.reachable(spec.key))
    return {
        source.name: source.unpack(item[source.wire])
        for source in parts
        if source.wire not in spec.table.attributes and source.shape.tag in item.get(source.wire, {})
    }
