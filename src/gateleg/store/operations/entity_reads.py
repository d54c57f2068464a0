"""Decode stored items where one request is not enough: legacy keys, and upcasters that need other items."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import ModelError, spec_of
from gateleg.model.codec.upcasters import upcast_steps, upcasting_needs_lookup
from gateleg.store.operations.batch_flows import batch_get_flow
from gateleg.store.operations.identities import Identity, identity
from gateleg.store.operations.legacy_forms import with_current_key
from gateleg.store.operations.unreadable import ListReader, shown_item
from gateleg.store.unreadable import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from gateleg.model import Item, Ref, Spec
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["needs_lookup", "upcast_item", "upcast_items"]

E = TypeVar("E", bound=BaseModel)


def needs_lookup(spec: Spec[Any], item: Item | None) -> bool:
    """Whether other items must be read before an item can be decoded."""
    return bool(spec.lookups) and item is not None and upcasting_needs_lookup(item, spec)


def upcast_items(spec: Spec[Any], items: Sequence[Item], setup: Setup, looked_up: dict[Identity, Any]) -> Flow[list[Item | ModelError]]:
    """Upcast items whose upcasters need other items. In the result, an item that cannot be upcast is replaced by its error.

    The needed items are read in batches and kept in `looked_up`, so that none is read twice.
    """
    results: list[Item | ModelError] = list(items)
    waiting: dict[int, tuple[Generator[Ref[Any], Any, Item], Ref[Any]]] = {}

    def advance(number: int, steps: Generator[Ref[Any], Any, Item], resume: Callable[[], Ref[Any]]) -> None:
        try:
            waiting[number] = steps, resume()
        except StopIteration as end:
            results[number] = end.value
        except ModelError as error:
            results[number] = error

    for number, item in enumerate(items):
        if needs_lookup(spec, item):
            steps = upcast_steps(item, spec)
            advance(number, steps, steps.__next__)
    while waiting:
        places = {number: _identity_of(ref, setup) for number, (_, ref) in waiting.items()}
        new = {places[number]: ref for number, (_, ref) in waiting.items() if places[number] not in looked_up}
        yield from _look_up(new, setup, looked_up)
        before, waiting = waiting, {}
        for number, (steps, _) in before.items():
            response = looked_up[places[number]]
            resume = _throwing(steps, response) if isinstance(response, ModelError) else _sending(steps, response)
            advance(number, steps, resume)
    return results


def _sending(steps: Generator[Ref[Any], Any, Item], response: Any) -> Callable[[], Ref[Any]]:
    return lambda: steps.send(response)


def _throwing(steps: Generator[Ref[Any], Any, Item], error: ModelError) -> Callable[[], Ref[Any]]:
    return lambda: steps.throw(error)


def _identity_of(ref: Ref[Any], setup: Setup) -> Identity:
    return identity(setup.name_of(spec_of(ref.entity).table), ref.key)


def _look_up(refs: dict[Identity, Ref[Any]], setup: Setup, looked_up: dict[Identity, Any]) -> Flow[None]:
    """Read the items that upcasters need into `looked_up`; for an item that cannot be decoded, store the error."""
    if not refs:
        return
    reader = ListReader(replace(setup, on_unreadable=_ignore), looked_up=looked_up)
    found = yield from read_refs(list(refs.values()), reader)
    looked_up |= dict(zip(refs, found, strict=True))
    looked_up |= {_identity_of(bad.ref, setup): bad.error for bad in reader.unreadable}


def _ignore(bad: Unreadable) -> None:
    """Do nothing: the item whose upcaster needs this one reports the error."""


def upcast_item(spec: Spec[Any], item: Item, setup: Setup, looked_up: dict[Identity, Any] | None = None) -> Flow[Item]:
    """Upcast one item whose upcasters may need other items; `looked_up` contains items that were already read."""
    if not needs_lookup(spec, item):
        return item
    (found,) = yield from upcast_items(spec, [item], setup, {} if looked_up is None else looked_up)
    if isinstance(found, ModelError):
        raise found
    return found


def current_items(spec: Spec[Any], items: Sequence[Item], reader: ListReader) -> Flow[list[Item]]:
    """Upcast items; those that cannot be upcast are reported and left out."""
    if not spec.lookups:
        return list(items)
    found = yield from upcast_items(spec, items, reader.setup, reader.looked_up)
    for item, one in zip(items, found, strict=True):
        if isinstance(one, ModelError):
            reader.report(Unreadable(spec.ref_of(item), item, one))
    return [one for one in found if not isinstance(one, ModelError)]


def read_item(spec: Spec[Any], item: Item | None, reader: ListReader) -> Flow[Any]:
    """Decode one item of a list; None if it is missing, expired or unreadable."""
    if needs_lookup(spec, item):
        assert item is not None
        item = next(iter((yield from current_items(spec, [item], reader))), None)
    return reader.one(spec, item)


def read_older(item: Item, ref: Ref[E], setup: Setup) -> Flow[E | None]:
    """Decode an item under a legacy key; None if it is not the item of the reference, as different items may share a legacy key."""
    spec = spec_of(ref.entity)
    found = spec.decode(with_current_key((yield from upcast_item(spec, item, setup)), spec))
    values = spec.values(found)
    return found if all(values.get(name) == ref.values.get(name) for name in spec.key.names) else None


def read_refs(refs: Sequence[Ref[Any]], reader: ListReader, consistent: bool = False) -> Flow[list[Any]]:
    """Read and decode the items of references, in their order, with None for each one that does not exist.

    Items that were not found are read by their legacy keys, and if that fails too, by their current keys once more.
    """
    setup, specs = reader.setup, [spec_of(ref.entity) for ref in refs]
    keys = [(spec.table, ref.key) for spec, ref in zip(specs, refs, strict=True)]
    items = yield from batch_get_flow(keys, setup, consistent, "batch_get")
    results = yield from _read_each(specs, items, reader)
    older = [
        (number, key) for number, ref in enumerate(refs) if results[number] is None and specs[number].key.legacy for key in ref.legacy()
    ]
    if older:
        found = yield from batch_get_flow([(specs[number].table, key) for number, key in older], setup, consistent, "batch_get")
        for (number, _), item in zip(older, found, strict=True):
            if item is not None and results[number] is None and shown_item(item, refs[number].entity, setup) is not None:
                results[number] = yield from read_older(item, refs[number], setup)
    # An item may have been moved to its current key after the first read; it never moves back.
    moved = [number for number in dict(older) if results[number] is None]
    if moved:
        again = yield from batch_get_flow([keys[number] for number in moved], setup, consistent, "batch_get")
        for number, one in zip(moved, (yield from _read_each([specs[number] for number in moved], again, reader)), strict=True):
            results[number] = one
    return results


def _read_each(specs: Sequence[Spec[Any]], items: Sequence[Item | None], reader: ListReader) -> Flow[list[Any]]:
    """Decode items of several entities; items whose upcasters need others are upcast together."""
    asking: dict[int, list[int]] = {}
    for number, (spec, item) in enumerate(zip(specs, items, strict=True)):
        if needs_lookup(spec, item):
            asking.setdefault(id(spec), []).append(number)
    current = list(items)
    for numbers in asking.values():
        spec = specs[numbers[0]]
        waiting = [item for number in numbers if (item := items[number]) is not None]
        for number, one in zip(numbers, (yield from upcast_items(spec, waiting, reader.setup, reader.looked_up)), strict=True):
            if isinstance(one, ModelError):
                reader.report(Unreadable(spec.ref_of(items[number] or {}), items[number] or {}, one))
            current[number] = None if isinstance(one, ModelError) else one
    return [reader.one(spec, item) for spec, item in zip(specs, current, strict=True)]
