"""Older forms of an item's key: which items have one, and what they look like under the key that they have today."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import ModelError

if TYPE_CHECKING:
    from gateleg.model import Item, Spec
    from gateleg.model.keys.plans import KeyPlan

__all__ = ["is_legacy", "with_present_key"]


E = TypeVar("E", bound=BaseModel)


class LegacyItem(dict[str, Any]):
    """An item that lies under an older form of its key, whole, as a write would store it today."""


def is_legacy(item: Item, spec: Spec[Any]) -> bool:
    """Whether an item may be one of the entity's under an older form of its key."""
    owner = spec.table.spec_for(item)
    return (owner is None or owner is spec) and any(plan.fits(item) for plan in spec.key.legacy)


def with_present_key(item: Item, spec: Spec[Any]) -> Item:
    """The item with the key that it would be written with today, as far as it says what that is."""
    for plan in spec.key.legacy:
        if not plan.fits(item):
            continue
        try:
            return {**item, **spec.key.build(spec.arguments(_known(item, spec) | plan.parse(item), spec.key.names))}
        except ModelError:
            return item
    return item


def read_form(item: Item, spec: Spec[E]) -> tuple[E, int | None]:
    """An item as an entity, and the number of the older form that its key has; None when the key is the present one."""
    instance = spec.decode(item if spec.key.fits(item) else with_present_key(item, spec))
    values, key = spec.values(instance), {name: item[name] for name in spec.table.attributes}
    if spec.key.build(values) == key:
        return instance, None
    # As `find` has it: an item is under an older key if the key is the one that its values make.
    return instance, next((number for number, plan in enumerate(spec.key.legacy) if plan.build(values) == key), None)


def has_older_form(item: Item, spec: Spec[Any], plan: KeyPlan) -> bool:
    """Whether the key of an item, of which only a part may be there, is an older form of its key rather than the present one."""
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
    """The components of the present key that an item has as attributes of their own."""
    parts = (source for source in spec.sources.values() if source.name in spec.reachable(spec.key))
    return {
        source.name: source.unpack(item[source.wire])
        for source in parts
        if source.wire not in spec.table.attributes and source.shape.tag in item.get(source.wire, {})
    }
