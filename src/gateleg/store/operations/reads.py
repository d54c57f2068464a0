"""`get` and `find` read one item; and how every operation decodes stored items.

- Upcasters may need other items, which are read in batches (`upcast_items`).
- Items may be stored under a legacy key (`read_older`, `read_form`).
- In the results of queries, pages and batches, expired items are left out, and so are unreadable ones: one invalid item must neither fail
  the whole list nor disappear silently. `ListReader` reports it to the log, or as `store.reading(on_unreadable=...)` defines.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from pydantic import BaseModel

from gateleg.model import ModelError, Ref, spec_of
from gateleg.model.expressions import Placeholders
from gateleg.model.planning import is_expired
from gateleg.model.stored_forms import upcast_steps, upcasting_needs_lookup
from gateleg.store.errors import InvalidOption, NotFound
from gateleg.store.flow import Request
from gateleg.store.operations.operation import ItemKey, Operation, SingleRequest, batch_get_flow, item_key, locate
from gateleg.store.setup import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from gateleg.model import Attr, Condition, Item, Spec
    from gateleg.model.keys import KeyPlan
    from gateleg.store.flow import Flow, Payload, Response
    from gateleg.store.setup import Setup

__all__ = ["Find", "Items", "Pick", "is_legacy", "shown_item", "upcast_item", "with_current_key"]

E = TypeVar("E", bound=BaseModel)
T = TypeVar("T")
_log = logging.getLogger("gateleg.store")


@overload
def find(target: type[E], /, *key: Condition[E], consistent: bool = False, **components: Any) -> Operation[E | None]: ...


@overload
def find(target: Ref[E] | E, /, *, consistent: bool = False) -> Operation[E | None]: ...


def find(target: type[E] | Ref[E] | E, /, *key: Condition[E], consistent: bool = False, **components: Any) -> Operation[E | None]:
    """Read one item; None if it does not exist: `find(Job, job_id=...)`, `find(Job.key(job_id=...))`, or `find(job)` to read it again.

    Key components are passed by name, or by position as `find(Job, Job.job_id == ...)`, which type checkers check. With `consistent`, the
    result reflects all earlier writes. Raises `DecodeError` if the stored item is invalid.
    """
    return Find(locate(target, key, components), consistent)


@overload
def get(
    target: type[E], /, *key: Condition[E], project: Sequence[Attr[Any]], consistent: bool = False, **components: Any
) -> Operation[dict[str, Any]]: ...


@overload
def get(target: type[E], /, *key: Condition[E], project: None = None, consistent: bool = False, **components: Any) -> Operation[E]: ...


@overload
def get(target: Ref[E] | E, /, *, project: Sequence[Attr[Any]], consistent: bool = False) -> Operation[dict[str, Any]]: ...


@overload
def get(target: Ref[E] | E, /, *, project: None = None, consistent: bool = False) -> Operation[E]: ...


def get(
    target: type[E] | Ref[E] | E,
    /,
    *key: Condition[E],
    project: Sequence[Attr[Any]] | None = None,
    consistent: bool = False,
    **components: Any,
) -> Operation[E] | Operation[dict[str, Any]]:
    """Read one item: `get(Job, job_id=...)`, `get(Job.key(job_id=...))`, or `get(job)` to read it again.

    Key components are passed by name, or by position as `get(Job, Job.job_id == ...)`, which type checkers check. With `consistent`, the
    result reflects all earlier writes. With `project=[Job.status]`, it is a dictionary of those attributes. Raises `NotFound` if the item
    does not exist, and `DecodeError` if it is invalid.
    """
    if project:
        ref = locate(target, key, components)
        return Pick(ref, projected(project, ref.entity), consistent)
    return Find(locate(target, key, components), consistent, True)


def projected(attributes: Sequence[Attr[Any]], entity: type[Any]) -> tuple[Attr[Any], ...]:
    """The attributes of `project=`. Raises `InvalidOption` if one is not an attribute, such as its name."""
    for attribute in attributes:
        if not hasattr(attribute, "path"):
            raise InvalidOption(f"project= takes attributes, and was given {attribute!r}.", fix="Write project=[Book.title].")
        if not issubclass(entity, attribute.owner):
            raise InvalidOption(
                f"project= names {attribute!r}, which is not an attribute of {entity.__name__}.",
                fix=f"Name attributes of {entity.__name__} itself.",
            )
    return tuple(attributes)


# Not frozen: every read creates one, and creating a frozen one takes three times as long.
@dataclass(slots=True)
class Find(SingleRequest[Any], Generic[E]):
    """Read one item by its key. If it does not exist, the result is None, or `NotFound` is raised if it is `required`."""

    ref: Ref[E]
    consistent: bool = False
    required: bool = False

    def start(self, setup: Setup) -> Request:
        """The GetItem request."""
        ref = self.ref
        spec = spec_of(ref.entity)
        payload: Payload = {"TableName": setup.names[spec.table], "Key": ref.key}
        if self.consistent:
            payload["ConsistentRead"] = True
        return Request("GetItem", payload, spec.name + ".get", 0, spec)

    def finish(self, request: Request, response: Response, setup: Setup) -> Any:
        """Decode the item. If it does not exist, read it by its legacy keys, and then by its current key again."""
        spec, item = request.about, response.get("Item")
        if item is not None and (spec.ttl is None or not hidden(spec, item, setup)):
            return self._upcast(item, setup) if spec.lookups else spec.decode(item)
        if spec.key.legacy:
            return self._older(setup)
        return self._checked(None)

    def _upcast(self, item: Item, setup: Setup) -> E | Flow[E]:
        """Decode the item, or return a flow that does if its upcasters need other items."""
        spec = spec_of(self.ref.entity)
        return decode_flow(spec, item, setup) if needs_lookup(spec, item) else spec.decode(item)

    def _checked(self, instance: E | None) -> E | None:
        if instance is None and self.required:
            raise NotFound(f"There is no {self.ref}.")
        return instance

    def _older(self, setup: Setup) -> Flow[E | None]:
        spec, ref = spec_of(self.ref.entity), self.ref
        for key in ref.legacy():
            response = yield Request("GetItem", get_payload(setup.name_of(spec.table), key, self.consistent), spec.name + ".get")
            if "Item" in response and not hidden(spec, response["Item"], setup):
                instance = yield from read_older(response["Item"], ref, setup)
                if instance is not None:
                    return instance
        # It may have been moved to its current key after the first read; it never moves back.
        response = yield Request("GetItem", get_payload(setup.name_of(spec.table), self.ref.key, self.consistent), spec.name + ".get")
        item = shown_item(response.get("Item"), ref.entity, setup)
        return self._checked(None if item is None else (yield from decode_flow(spec, item, setup)))

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        yield self.ref.entity, spec_of(self.ref.entity).key, self.ref.values


@dataclass(frozen=True, slots=True)
class Pick(Operation[dict[str, Any]]):
    """Read some attributes of one item."""

    ref: Ref[Any]
    project: tuple[Attr[Any], ...]
    consistent: bool = False

    def flow(self, setup: Setup) -> Flow[dict[str, Any]]:
        """One GetItem with a projection; if the item does not exist, read it by its legacy keys."""
        spec, ref = spec_of(self.ref.entity), self.ref
        item = yield from self._projected(setup, ref.key)
        for key in ref.legacy() if item is None else ():
            # The whole item is needed to check that it is the requested one, and to upcast it.
            response = yield Request("GetItem", get_payload(setup.name_of(spec.table), key, self.consistent), f"{spec.name}.get")
            older = shown_item(response.get("Item"), ref.entity, setup)
            instance = None if older is None else (yield from read_older(older, ref, setup))
            if instance is not None:
                item = spec.encode(instance)
                break
        if item is None and spec.key.legacy:
            # It may have been moved to its current key after the first read.
            item = yield from self._projected(setup, ref.key)
        if item is None:
            raise NotFound(f"There is no {ref}.")
        names = {attr.name.split(".")[0].split("[")[0] for attr in self.project}
        return {name: value for name, value in spec.decode_partial(item).items() if name in names}

    def _projected(self, setup: Setup, key: Item) -> Flow[Item | None]:
        spec, out = spec_of(self.ref.entity), Placeholders()
        payload = get_payload(setup.name_of(spec.table), key, self.consistent)
        paths = [out.path(attr.path) for attr in self.project]
        if spec.ttl is not None and not any(attr.path[0] == spec.ttl.wire for attr in self.project):
            paths.append(out.name(spec.ttl.wire))
        payload["ProjectionExpression"] = ", ".join(paths)
        response = yield Request("GetItem", payload | out.parameters(), f"{spec.name}.get")
        return shown_item(response.get("Item"), spec.entity, setup)

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        yield self.ref.entity, spec_of(self.ref.entity).key, self.ref.values


def decode_flow(spec: Spec[E], item: Item, setup: Setup) -> Flow[E]:
    """Decode an item after reading the items that its upcasters need."""
    return spec.decode((yield from upcast_item(spec, item, setup)))


def get_payload(table: str, key: Item, consistent: bool) -> Payload:
    """The parameters of a GetItem request. Default options are omitted: the engine has a fast path for only a table and a key."""
    payload: Payload = {"TableName": table, "Key": key}
    if consistent:
        payload["ConsistentRead"] = True
    return payload


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
        legacy_items = yield from batch_get_flow([(specs[number].table, key) for number, key in older], setup, consistent, "batch_get")
        for (number, _), item in zip(older, legacy_items, strict=True):
            if item is not None and results[number] is None and shown_item(item, refs[number].entity, setup) is not None:
                results[number] = yield from read_older(item, refs[number], setup)
    # An item may have been moved to its current key after the first read; it never moves back.
    moved = [number for number in dict(older) if results[number] is None]
    if moved:
        again = yield from batch_get_flow([keys[number] for number in moved], setup, consistent, "batch_get")
        for number, entity in zip(moved, (yield from _read_each([specs[number] for number in moved], again, reader)), strict=True):
            results[number] = entity
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
        for number, upcast in zip(numbers, (yield from upcast_items(spec, waiting, reader.setup, reader.looked_up)), strict=True):
            if isinstance(upcast, ModelError):
                reader.report(Unreadable(spec.ref_of(items[number] or {}), items[number] or {}, upcast))
            current[number] = None if isinstance(upcast, ModelError) else upcast
    return [reader.decode(spec, item) for spec, item in zip(specs, current, strict=True)]


def read_item(spec: Spec[Any], item: Item | None, reader: ListReader) -> Flow[Any]:
    """Decode one item of a list; None if it is missing, expired or unreadable."""
    if needs_lookup(spec, item):
        assert item is not None
        item = next(iter((yield from current_items(spec, [item], reader))), None)
    return reader.decode(spec, item)


def current_items(spec: Spec[Any], items: Sequence[Item], reader: ListReader) -> Flow[list[Item]]:
    """Upcast items; those that cannot be upcast are reported and left out."""
    if not spec.lookups:
        return list(items)
    upcast = yield from upcast_items(spec, items, reader.setup, reader.looked_up)
    for item, current in zip(items, upcast, strict=True):
        if isinstance(current, ModelError):
            reader.report(Unreadable(spec.ref_of(item), item, current))
    return [current for current in upcast if not isinstance(current, ModelError)]


def upcast_item(spec: Spec[Any], item: Item, setup: Setup, looked_up: dict[ItemKey, Any] | None = None) -> Flow[Item]:
    """Upcast one item whose upcasters may need other items; `looked_up` contains items that were already read."""
    if not needs_lookup(spec, item):
        return item
    (upcast,) = yield from upcast_items(spec, [item], setup, {} if looked_up is None else looked_up)
    if isinstance(upcast, ModelError):
        raise upcast
    return upcast


def needs_lookup(spec: Spec[Any], item: Item | None) -> bool:
    """Whether other items must be read before an item can be decoded."""
    return bool(spec.lookups) and item is not None and upcasting_needs_lookup(item, spec)


def upcast_items(spec: Spec[Any], items: Sequence[Item], setup: Setup, looked_up: dict[ItemKey, Any]) -> Flow[list[Item | ModelError]]:
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
        places = {number: _place_of(ref, setup) for number, (_, ref) in waiting.items()}
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


def _look_up(refs: dict[ItemKey, Ref[Any]], setup: Setup, looked_up: dict[ItemKey, Any]) -> Flow[None]:
    """Read the items that upcasters need into `looked_up`; for an item that cannot be decoded, store the error."""
    if not refs:
        return
    reader = ListReader(replace(setup, on_unreadable=_ignore), looked_up=looked_up)
    entities = yield from read_refs(list(refs.values()), reader)
    looked_up |= dict(zip(refs, entities, strict=True))
    looked_up |= {_place_of(bad.ref, setup): bad.error for bad in reader.unreadable}


def _place_of(ref: Ref[Any], setup: Setup) -> ItemKey:
    return item_key(setup.name_of(spec_of(ref.entity).table), ref.key)


def _ignore(bad: Unreadable) -> None:
    """Do nothing: the item whose upcaster needs this one reports the error."""


@dataclass(frozen=True)
class ListReader:
    """Decodes the items of a list: leaves out expired items, and reports those that cannot be decoded."""

    setup: Setup
    unreadable: list[Unreadable] = field(default_factory=list)
    #: items that upcasters needed, by table and key: an instance, None, or the error if it cannot be decoded
    looked_up: dict[Any, Any] = field(default_factory=dict)

    def decode_all(self, spec: Spec[Any], items: Sequence[Item], decode: Callable[[Item], Any] | None = None) -> list[Any]:
        """Decode items, without expired and unreadable ones."""
        decode = decode or spec.decode
        if spec.ttl is not None and not self.setup.expired:
            now = self.setup.now()
            items = [item for item in items if not is_expired(spec, item, now)]
        try:
            # Decoding without a try for each item is faster.
            return [decode(item) for item in items]
        except ModelError:
            return list(self._each(spec, items, decode))

    def decode(self, spec: Spec[Any], item: Item | None) -> Any:
        """Decode an item; None if it is missing, expired or unreadable."""
        if item is None or hidden(spec, item, self.setup):
            return None
        return next(self._each(spec, [item], spec.decode), None)

    def results(self, results: Sequence[T]) -> Items[T]:
        """The results, with the unreadable items in their `unreadable`."""
        items = Items(results)
        items.unreadable = tuple(self.unreadable)
        return items

    def _each(self, spec: Spec[Any], items: Sequence[Item], decode: Callable[[Item], Any]) -> Iterator[Any]:
        for item in items:
            try:
                yield decode(item)
            except ModelError as error:
                self.report(Unreadable(spec.ref_of(item), item, error))

    def report(self, bad: Unreadable) -> None:
        """Report an unreadable item as the store's `on_unreadable` defines."""
        action = self.setup.on_unreadable
        if action == "raise":
            raise bad.error
        self.unreadable.append(bad)
        if action == "warn":
            _log.warning("skipped an item that cannot be decoded: %s", bad.error)
        else:
            action(bad)


class Items(list[T]):
    """The items of a batch in the order of their references, with None for each missing one. `unreadable` lists undecodable items."""

    unreadable: tuple[Unreadable, ...] = ()


def hidden(spec: Spec[Any], item: Item, setup: Setup) -> bool:
    """Whether reads leave out an item because it has expired."""
    return spec.ttl is not None and not setup.expired and is_expired(spec, item, setup.now())


def shown_item(item: Item | None, entity: Any, setup: Setup) -> Item | None:
    """The item, or None if it has expired and reads leave out expired items."""
    return None if item is None or hidden(spec_of(entity), item, setup) else item


class LegacyItem(dict[str, Any]):
    """An item that is stored under a legacy key, encoded as a write would store it today."""


def is_legacy(item: Item, spec: Spec[Any]) -> bool:
    """Whether an item may belong to the entity and be stored under a legacy key."""
    owner = spec.table.spec_for(item)
    return (owner is None or owner is spec) and any(plan.fits(item) for plan in spec.key.legacy)


def read_older(item: Item, ref: Ref[E], setup: Setup) -> Flow[E | None]:
    """Decode an item under a legacy key; None if it is not the item of the reference, as different items may share a legacy key."""
    spec = spec_of(ref.entity)
    entity = spec.decode(with_current_key((yield from upcast_item(spec, item, setup)), spec))
    values = spec.values(entity)
    return entity if all(values.get(name) == ref.values.get(name) for name in spec.key.names) else None


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
