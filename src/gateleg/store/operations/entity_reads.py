"""From stored items to entities, where one request is not enough: older forms of keys, and upcasters that ask for other items."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import ModelError, spec_of
from gateleg.model.codec.upcasters import upcast_steps, upcasting_needs_lookup
from gateleg.store.operations.batch_flows import batch_get_flow
from gateleg.store.operations.identities import Identity, identity
from gateleg.store.operations.legacy_forms import with_present_key
from gateleg.store.operations.unreadable import ListReader, shown_item
from gateleg.store.unreadable import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from gateleg.model import Item, Ref, Spec
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["brought_up", "brought_up_item", "needs_lookup"]

E = TypeVar("E", bound=BaseModel)


def needs_lookup(spec: Spec[Any], item: Item | None) -> bool:
    """Whether other items must be read before an item can be decoded."""
    return bool(spec.lookups) and item is not None and upcasting_needs_lookup(item, spec)


def brought_up(spec: Spec[Any], items: Sequence[Item], setup: Setup, asked: dict[Identity, Any]) -> Flow[list[Item | ModelError]]:
    """Items in the present schema of their entity, where that takes other items; in place of those that cannot be brought up, the error.

    What their upcasters ask for is read in batches and kept in `asked`, so that no item is read twice.
    """
    results: list[Item | ModelError] = list(items)
    waiting: dict[int, tuple[Generator[Ref[Any], Any, Item], Ref[Any]]] = {}

    def advance(number: int, steps: Generator[Ref[Any], Any, Item], go_on: Callable[[], Ref[Any]]) -> None:
        try:
            waiting[number] = steps, go_on()
        except StopIteration as end:
            results[number] = end.value
        except ModelError as error:
            results[number] = error

    for number, item in enumerate(items):
        if needs_lookup(spec, item):
            steps = upcast_steps(item, spec)
            advance(number, steps, steps.__next__)
    while waiting:
        places = {number: _place(ref, setup) for number, (_, ref) in waiting.items()}
        new = {places[number]: ref for number, (_, ref) in waiting.items() if places[number] not in asked}
        yield from _ask(new, setup, asked)
        before, waiting = waiting, {}
        for number, (steps, _) in before.items():
            answer = asked[places[number]]
            go_on = _thrown(steps, answer) if isinstance(answer, ModelError) else _sent(steps, answer)
            advance(number, steps, go_on)
    return results


def _sent(steps: Generator[Ref[Any], Any, Item], answer: Any) -> Callable[[], Ref[Any]]:
    return lambda: steps.send(answer)


def _thrown(steps: Generator[Ref[Any], Any, Item], error: ModelError) -> Callable[[], Ref[Any]]:
    return lambda: steps.throw(error)


def _place(ref: Ref[Any], setup: Setup) -> Identity:
    return identity(setup.name_of(spec_of(ref.entity).table), ref.key)


def _ask(refs: dict[Identity, Ref[Any]], setup: Setup, asked: dict[Identity, Any]) -> Flow[None]:
    """Read what upcasters need; for what is there and cannot be read, the error is kept."""
    if not refs:
        return
    reader = ListReader(replace(setup, on_unreadable=_quietly), asked=asked)
    found = yield from read_refs(list(refs.values()), reader)
    asked |= dict(zip(refs, found, strict=True))
    asked |= {_place(bad.ref, setup): bad.error for bad in reader.unreadable}


def _quietly(bad: Unreadable) -> None:
    """The item that asked reports it."""


def brought_up_item(spec: Spec[Any], item: Item, setup: Setup, asked: dict[Identity, Any] | None = None) -> Flow[Item]:
    """One item in the present schema of its entity, where that takes other items; `asked` has those that were read before."""
    if not needs_lookup(spec, item):
        return item
    (found,) = yield from brought_up(spec, [item], setup, {} if asked is None else asked)
    if isinstance(found, ModelError):
        raise found
    return found


def current_items(spec: Spec[Any], items: Sequence[Item], reader: ListReader) -> Flow[list[Item]]:
    """The items of a list, so far as they can be brought to the present schema; the others are reported."""
    if not spec.lookups:
        return list(items)
    found = yield from brought_up(spec, items, reader.setup, reader.asked)
    for item, one in zip(items, found, strict=True):
        if isinstance(one, ModelError):
            reader.report(Unreadable(spec.ref_of(item), item, one))
    return [one for one in found if not isinstance(one, ModelError)]


def read_item(spec: Spec[Any], item: Item | None, reader: ListReader) -> Flow[Any]:
    """One item of a list as an entity; None when it is absent, expired or unreadable."""
    if needs_lookup(spec, item):
        assert item is not None
        item = next(iter((yield from current_items(spec, [item], reader))), None)
    return reader.one(spec, item)


def read_older(item: Item, ref: Ref[E], setup: Setup) -> Flow[E | None]:
    """The item as an entity, if it is the one that was asked for: an older key says less, and may belong to another item."""
    spec = spec_of(ref.entity)
    found = spec.decode(with_present_key((yield from brought_up_item(spec, item, setup)), spec))
    values = spec.values(found)
    return found if all(values.get(name) == ref.values.get(name) for name in spec.key.names) else None


def read_refs(refs: Sequence[Ref[Any]], reader: ListReader, consistent: bool = False) -> Flow[list[Any]]:
    """The entities of references in their order; None where there is none.

    For what was not found, once more with older keys; and for what was not there either, with the present ones.
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
    # An item may have been moved to its present key after the first read; it never moves back.
    moved = [number for number in dict(older) if results[number] is None]
    if moved:
        again = yield from batch_get_flow([keys[number] for number in moved], setup, consistent, "batch_get")
        for number, one in zip(moved, (yield from _read_each([specs[number] for number in moved], again, reader)), strict=True):
            results[number] = one
    return results


def _read_each(specs: Sequence[Spec[Any]], items: Sequence[Item | None], reader: ListReader) -> Flow[list[Any]]:
    """Items of several entities; those whose upcasters ask for others are brought up together."""
    asking: dict[int, list[int]] = {}
    for number, (spec, item) in enumerate(zip(specs, items, strict=True)):
        if needs_lookup(spec, item):
            asking.setdefault(id(spec), []).append(number)
    current = list(items)
    for numbers in asking.values():
        spec = specs[numbers[0]]
        waiting = [item for number in numbers if (item := items[number]) is not None]
        for number, one in zip(numbers, (yield from brought_up(spec, waiting, reader.setup, reader.asked)), strict=True):
            if isinstance(one, ModelError):
                reader.report(Unreadable(spec.ref_of(items[number] or {}), items[number] or {}, one))
            current[number] = None if isinstance(one, ModelError) else one
    return [reader.one(spec, item) for spec, item in zip(specs, current, strict=True)]
