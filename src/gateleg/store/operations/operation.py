"""Operations: values that know their requests and how to interpret the responses. Every method of the store builds one.

Also what all verbs share: how they find the item that their arguments name (`locate`), how items are told apart (`item_key`), and how any
number of items is read or written in batches, in concurrent requests whose unprocessed entries are sent again (`batch_get_flow`).
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from types import GeneratorType, MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from pydantic import BaseModel

from gateleg.model import Ref, spec_of
from gateleg.model.errors import MissingComponent, NotAnEntity
from gateleg.model.keys import BoundKey, Presets, key_components
from gateleg.net import is_throttled
from gateleg.store.errors import BadLimit, InvalidOption, KeyGivenTwice, Throttled
from gateleg.store.flow import Pause, Request, Together
from gateleg.store.setup import Setup
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gateleg.model import Condition, Item, Table
    from gateleg.model.keys import KeyPlan
    from gateleg.store.flow import Flow, Response
    from gateleg.store.setup import RateLimiter

__all__ = ["GET_LIMIT", "ItemKey", "Operation", "Stream", "batch_write_flow", "item_key", "locate", "rounds"]

R_co = TypeVar("R_co", covariant=True)
E = TypeVar("E", bound=BaseModel)
NOTHING: Mapping[str, Any] = MappingProxyType({})

#: The options of methods that also take key components as keywords. A keyword with such a name is always the option.
OPTIONS = frozenset(
    {
        "check_version",
        "condition",
        "consistent",
        "cursor",
        "examine",
        "hydrate",
        "known",
        "limit",
        "must_exist",
        "newest_first",
        "page_size",
        "project",
        "returning",
        "write_units",
    }
)
GET_LIMIT = 100
WRITE_LIMIT = 25

#: A table and the key of an item, hashable.
ItemKey = tuple[str, tuple[tuple[str, str, Any], ...]]


class Operation(Generic[R_co]):
    """An operation of a store as a value, with a result of type `R_co`. It is executed by `Store.run(operation)`."""

    __slots__ = ()

    def flow(self, setup: Setup) -> Flow[R_co]:
        """The steps of the operation. Mistakes in its arguments are raised here, before the first step."""
        raise NotImplementedError

    def start(self, setup: Setup) -> Request | Flow[R_co]:
        """What a driver begins with: the flow, or the request of a `SingleRequest`."""
        return self.flow(setup)

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The partitions that the operation touches: for each, the entity, the key plan, and the known components. Checked by scopes."""
        raise NotImplementedError

    def params(self, prefix: str = "") -> dict[str, Any]:
        """The parameters of the first request, without sending it. `prefix` precedes table names."""
        step = next(self.flow(Setup(prefix=prefix)))
        first = step.requests[0] if isinstance(step, Together) else step
        assert isinstance(first, Request)
        return first.payload


class SingleRequest(Operation[R_co], Generic[R_co]):
    """An operation that usually needs a single request.

    `start` returns the request, or a flow if more are needed. Drivers send the request and pass its response to `finish`, or its error to
    `refused`. `flow` does the same as a generator, for use inside other operations.
    """

    __slots__ = ()

    def start(self, setup: Setup) -> Request | Flow[R_co]:
        """The single request, or a flow if more are needed. Mistakes in the operation's arguments are raised here."""
        raise NotImplementedError

    def finish(self, request: Request, response: Response, setup: Setup) -> R_co | Flow[R_co]:
        """The result, or a flow that returns it if more requests are needed."""
        raise NotImplementedError

    def refused(self, request: Request, error: ServiceError | Unreachable, setup: Setup) -> Flow[R_co]:
        """The flow to run if the request fails; by default it raises the error."""
        yield from ()
        raise error

    def flow(self, setup: Setup) -> Flow[R_co]:
        """The operation as a generator."""
        first = self.start(setup)
        if not isinstance(first, Request):
            return (yield from first)
        try:
            response = yield first
        except (ServiceError, Unreachable) as error:
            return (yield from self.refused(first, error, setup))
        result = self.finish(first, response, setup)
        if isinstance(result, GeneratorType):
            result = yield from result
        return cast("R_co", result)


class Stream(Operation[None], Generic[R_co]):
    """An operation with many results. Iterate over them with `Store.stream(operation)`."""

    __slots__ = ()


def locate(target: type[E] | Ref[E] | E, conditions: Sequence[Condition] = (), components: Mapping[str, Any] = NOTHING) -> Ref[E]:
    """The reference to an item, from an entity and key components, from a reference, or from an instance."""
    if isinstance(target, type):
        spec = spec_of(target)
        try:
            if conditions:
                components = key_components(target, conditions, components, spec.reachable(spec.key))
            return spec.exact_ref(components) or spec.locate_validated(spec.key, components)
        except MissingComponent as error:
            raise by_position(error) from None
    if not isinstance(target, Ref | BaseModel):
        raise _not_an_item(target)
    if components or any(not isinstance(condition, Presets) for condition in conditions):
        raise _key_given_twice(target, components)
    return target if isinstance(target, Ref) else spec_of(type(target)).ref(target)


def by_position(error: MissingComponent) -> MissingComponent:
    """The error with a fix that works: a component with the name of an option can only be passed by position."""
    clash = next((name for name in error.missing if name in OPTIONS), None)
    if clash is None:
        return error
    fix = f"Pass the component by position, as {error.entity}.{clash} == value, because {clash}= is an option of the store's methods."
    return MissingComponent(error.message, fix=fix, entity=error.entity, missing=error.missing)


def check_seconds(verb: str, seconds: float) -> float:
    """Return a positive number of seconds; raise `InvalidOption` for anything else."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0:
        raise InvalidOption(f"{verb} takes a positive number of seconds, and was given {seconds!r}.", fix="Give seconds, such as 30.")
    return seconds


def check_limit(limit: int, least: int = 0) -> int:
    """Return a limit; raise `BadLimit` if it is not an int, such as text from a query string."""
    if not isinstance(limit, int):
        raise BadLimit(f"limit must be an int, and is {limit!r}.", fix="Convert it with int().")
    if limit < least:
        raise BadLimit(f"limit must be at least {least}, and is {limit}.", fix=None if least else "Leave it out to get all results.")
    return limit


def item_key(table: str, key: Item) -> ItemKey:
    """A hashable value that is equal for two keys if they address the same item; numbers are compared by value."""
    parts = []
    for name in sorted(key):
        ((tag, content),) = key[name].items()
        parts.append((name, tag, Decimal(content).normalize() if tag == "N" else content))
    return table, tuple(parts)


def batch_get_flow(keys: Sequence[tuple[Table, Item]], setup: Setup, consistent: bool, pattern: str) -> Flow[list[Item | None]]:
    """Read the items of some keys, in their order, with None for each item that does not exist. Keys may repeat."""
    places = [item_key(setup.name_of(table), key) for table, key in keys]
    attributes = {setup.name_of(table): table.attributes for table, _ in keys}
    items_by_place: dict[ItemKey, Item] = {}

    def build(chunk: dict[ItemKey, Item]) -> Request:
        tables: dict[str, dict[str, Any]] = {}
        for (name, _), key in chunk.items():
            tables.setdefault(name, {"ConsistentRead": True, "Keys": []} if consistent else {"Keys": []})["Keys"].append(key)
        return Request("BatchGetItem", {"RequestItems": tables}, pattern)

    def read(response: dict[str, Any]) -> list[ItemKey]:
        for name, items in response.get("Responses", {}).items():
            items_by_place.update({item_key(name, {part: item[part] for part in attributes[name]}): item for item in items})
        return [item_key(name, key) for name, entry in response.get("UnprocessedKeys", {}).items() for key in entry["Keys"]]

    yield from rounds(dict(zip(places, (key for _, key in keys), strict=True)), GET_LIMIT, build, read, setup)
    return [items_by_place.get(place) for place in places]


def batch_write_flow(entries: dict[ItemKey, dict[str, Any]], setup: Setup, pattern: str, rate: RateLimiter | None = None) -> Flow[int]:
    """Execute PutRequests and DeleteRequests; return their number."""
    attributes: dict[str, tuple[str, ...]] = {}
    for name, parts in entries:
        attributes[name] = tuple(part[0] for part in parts)

    def build(chunk: dict[ItemKey, dict[str, Any]]) -> Request:
        tables: dict[str, list[dict[str, Any]]] = {}
        for (name, _), entry in chunk.items():
            tables.setdefault(name, []).append(entry)
        payload: dict[str, Any] = {"RequestItems": tables}
        if rate is not None:
            payload["ReturnConsumedCapacity"] = "TOTAL"
        return Request("BatchWriteItem", payload, pattern)

    def read(response: dict[str, Any]) -> list[ItemKey]:
        return [
            item_key(name, _entry_key(entry, attributes[name]))
            for name, undone in response.get("UnprocessedItems", {}).items()
            for entry in undone
        ]

    yield from rounds(entries, WRITE_LIMIT, build, read, setup, rate)
    return len(entries)


def rounds(
    work: dict[ItemKey, Any],
    size: int,
    build: Callable[[dict[ItemKey, Any]], Request],
    read: Callable[[dict[str, Any]], list[ItemKey]],
    setup: Setup,
    rate: RateLimiter | None = None,
) -> Flow[None]:
    """Process all entries of `work` in concurrent requests of up to `size` entries, until none is left.

    `build` makes the request of a chunk; `read` handles its response and returns the entries that were not processed. Those are retried in
    the next round, after a delay with full jitter. Raises `Throttled` after too many rounds without progress.
    """
    delays, pending, number = setup.delays(), dict(work), 0
    while pending:
        places = list(pending)
        left: dict[ItemKey, Any] = {}
        for first in range(0, len(places), size * setup.concurrency):
            chunks = [
                {place: pending[place] for place in places[start : start + size]}
                for start in range(first, min(first + size * setup.concurrency, len(places)), size)
            ]
            requests = [replace(build(chunk), retries=number) for chunk in chunks]
            for chunk, response in zip(chunks, (yield Together(requests)), strict=True):
                if isinstance(response, ServiceError) and is_throttled(response.code, response.status):
                    left |= chunk
                elif isinstance(response, Exception):
                    raise response
                else:
                    left |= {place: chunk[place] for place in read(response)}
                    if rate is not None:
                        yield from rate.charge(response)
        if left:
            delay = next(delays, None)
            if delay is None:
                raise Throttled(f"{len(left)} of {len(work)} items of the batch were not processed.", unprocessed=len(left))
            yield Pause(delay)
        if len(left) < len(pending):
            # Progress resets the retries.
            delays = setup.delays()
        pending, number = left, number + 1


def _not_an_item(target: object) -> NotAnEntity:
    """The error for a target that is neither an item nor a reference to one."""
    if isinstance(target, BoundKey):
        name = target.entity.__name__
        call = f"{name}.key({', '.join(f'{part}=...' for part in target.plan.names)})"
        return NotAnEntity(f"{name}.key was given without its values.", fix=f"Call it, as {call}, or give the entity itself: {name}.")
    return NotAnEntity(f"{type(target).__name__} is not an entity.")


def _key_given_twice(target: Ref[Any] | BaseModel, components: Mapping[str, Any]) -> KeyGivenTwice:
    """The error for key components beside a target that already has its key; the fix helps callers who meant to change an attribute."""
    entity, kind = (target.entity, "a reference") if isinstance(target, Ref) else (type(target), f"an instance of {type(target).__name__}")
    passed = ", ".join(f"{name}=" for name in components) or "Key components"
    changed = [name for name in components if name in entity.model_fields and name not in spec_of(entity).key.names]
    fix = f"To change {changed[0]}, patch with the action {entity.__name__}.{changed[0]}.set(value)." if changed else None
    return KeyGivenTwice(f"{passed} cannot be passed together with {kind}, which already has its key.", fix=fix)


def _entry_key(entry: dict[str, Any], attributes: tuple[str, ...]) -> Item:
    item = entry["DeleteRequest"]["Key"] if "DeleteRequest" in entry else entry["PutRequest"]["Item"]
    return {name: item[name] for name in attributes}
