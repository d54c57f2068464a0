"""Items that were found under an older form of their key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import ModelError, spec_of

if TYPE_CHECKING:
    from gateleg.model import Item, Ref, Spec

E = TypeVar("E", bound=BaseModel)


def read_older(item: Item, ref: Ref[E]) -> E | None:
    """The item as an entity, if it is the one that was asked for: an older key says less, and may belong to another item."""
    spec = spec_of(ref.entity)
    found = spec.decode(_with_new_key(item, spec))
    values = spec.values(found)
    return found if all(values.get(name) == ref.values.get(name) for name in spec.key.names) else None


def _with_new_key(item: Item, spec: Spec[Any]) -> Item:
    """The item with the key that it would be written with today, as far as it says what that is."""
    for plan in spec.key.legacy:
        if not plan.fits(item):
            continue
        known: dict[str, Any] = {
            source.name: source.unpack(item[source.wire])
            for source in spec.sources.values()
            if source.wire in item and source.wire not in spec.table.attributes
        }
        try:
            return {**item, **spec.key.build(spec.arguments(known | plan.parse(item), spec.key.names))}
        except ModelError:
            return item
    return item
