"""How a verb's builder becomes a method: signatures and documentation are written once, beside what they build."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from gateleg.model import spec_of
from gateleg.model.writes import put_alone
from gateleg.store.failures import translated
from gateleg.store.quick_keys import quick_key
from gateleg.store.requests import Request
from gateleg.store.sizes import is_small
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

    from gateleg.model import Spec
    from gateleg.store.asynchronous import AsyncStore
    from gateleg.store.collecting import Collecting
    from gateleg.store.operation import Operation, Stream
    from gateleg.store.setup import Setup
    from gateleg.store.synchronous import Store
    from gateleg.store.write_operation import WriteOperation

P = ParamSpec("P")
R = TypeVar("R")


@functools.cache
def _takes_components(build: Callable[..., Any]) -> bool:
    """Whether a verb takes components of keys by name."""
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(build).parameters.values())


def built(setup: Setup, build: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The operation that a verb stands for in this setup, inside its scope."""
    if setup.scope is None:
        return build(*args, **options)
    bound = setup.scope.bind(args[0], options) if args and _takes_components(build) else options
    operation = build(*args, **bound)
    setup.scope.check(operation)
    return operation


def runs(build: Callable[P, Operation[R]]) -> Callable[Concatenate[Store, P], R]:
    """A method that builds an operation and runs it."""

    @functools.wraps(build)
    def verb(self: Store, /, *args: P.args, **options: P.kwargs) -> R:
        setup = self.setup
        operation: Operation[R] = build(*args, **options) if setup.scope is None else built(setup, build, args, options)
        return self.drive(operation.flow(setup))

    return verb


def reads(build: Callable[P, Operation[R]]) -> Callable[Concatenate[Store, P], R]:
    """As `runs`, with a short way for the most frequent request: one item by the components of its key, and nothing else."""
    long_way: Callable[..., Any] = runs(build)

    @functools.wraps(build)
    def verb(self: Store, target: Any, /, **options: Any) -> Any:
        setup = self.setup
        if setup.plain and isinstance(target, type):
            spec, key_of = quick_key(target)
            # Whether an item has expired is for the long way to find out.
            key = key_of(options) if spec.ttl is None else None
            if key is not None:
                transport, table = self.transport, setup.prefix + spec.table.name
                try:
                    # An engine in this process has a shorter way; it is not imported here, for programs that never need it.
                    shortest = getattr(transport, "item", None)
                    if shortest is not None:
                        item = shortest(table, key)
                    else:
                        item = transport.call("GetItem", {"TableName": table, "Key": key}).get("Item")
                except (ServiceError, Unreachable) as error:
                    raise translated(error, Request("GetItem", {"TableName": table, "Key": key})) from error
                if item is not None:
                    return spec.decode(item)
                sought = cast("Any", build)(target, **options)
                return self.drive(sought.missing(setup))
        return long_way(self, target, **options)

    return cast("Callable[Concatenate[Store, P], R]", verb)


def puts(build: Callable[P, Operation[R]]) -> Callable[Concatenate[Store, P], R]:
    """As `runs`, with a short way for a whole item, written over whatever is there."""
    return cast("Callable[Concatenate[Store, P], R]", _writes_whole(build, create=False))


def creates(build: Callable[P, Operation[R]]) -> Callable[Concatenate[Store, P], R]:
    """As `runs`, with a short way for a whole item that is not there yet."""
    return cast("Callable[Concatenate[Store, P], R]", _writes_whole(build, create=True))


def _writes_whole(build: Callable[..., Operation[Any]], *, create: bool) -> Callable[..., Any]:
    """A method with a short way for an item without further options that nothing else must be written with.

    A request that is refused begins the long way, which meets the refusal as if it had sent the request itself.
    """
    long_way = runs(build)

    @functools.wraps(build)
    def verb(self: Store, /, *args: Any, **options: Any) -> Any:
        setup = self.setup
        short = _short_put(setup, args, create) if len(args) == 1 and not options and setup.plain else None
        if short is None:
            return long_way(self, *args, **options)
        try:
            self.transport.call("PutItem", short[1])
        except (ServiceError, Unreachable) as error:
            return self.drive(build(*args).flow(setup), error)
        return short[0]

    return verb


def awaits_put(build: Callable[P, Operation[R]]) -> Callable[Concatenate[AsyncStore, P], Coroutine[Any, Any, R]]:
    """`puts`, awaited."""
    return cast("Callable[Concatenate[AsyncStore, P], Coroutine[Any, Any, R]]", _awaits_whole(build, create=False))


def awaits_create(build: Callable[P, Operation[R]]) -> Callable[Concatenate[AsyncStore, P], Coroutine[Any, Any, R]]:
    """`creates`, awaited."""
    return cast("Callable[Concatenate[AsyncStore, P], Coroutine[Any, Any, R]]", _awaits_whole(build, create=True))


def _awaits_whole(build: Callable[..., Operation[Any]], *, create: bool) -> Callable[..., Any]:
    long_way = awaits(build)

    @functools.wraps(build)
    async def verb(self: AsyncStore, /, *args: Any, **options: Any) -> Any:
        setup = self.setup
        short = _short_put(setup, args, create) if len(args) == 1 and not options and setup.plain else None
        if short is None:
            return await long_way(self, *args, **options)
        try:
            await self.transport.call("PutItem", short[1])
        except (ServiceError, Unreachable) as error:
            return await self.drive(build(*args).flow(setup), error)
        return short[0]

    return verb


def _short_put(setup: Setup, args: tuple[Any, ...], create: bool) -> tuple[Any, dict[str, Any]] | None:
    """The instance as it will be stored and the request for it; None if it is not to be written just so, or may be too large."""
    spec = alone(cast("Any", type(args[0])))
    if spec is None or spec.counted:
        return None
    written, payload = put_alone(spec, args[0], setup.prefix + spec.table.name, now=setup.now(), create=create)
    return (written, payload) if is_small(payload["Item"]) else None


@functools.cache
def alone(entity: Any) -> Spec[Any] | None:
    """The spec of an entity whose items are written by one request: no markers, no counters, no older forms of its key."""
    spec = spec_of(entity)
    return None if spec.uniques or spec.counters or spec.key.legacy else spec


def streams(build: Callable[P, Stream[R]]) -> Callable[Concatenate[Store, P], Iterator[R]]:
    """A method that builds a stream and iterates over it."""

    @functools.wraps(build)
    def verb(self: Store, /, *args: P.args, **options: P.kwargs) -> Iterator[R]:
        operation: Stream[R] = built(self.setup, build, args, options)
        return self.iterate(operation.flow(self.setup))

    return verb


def awaits(build: Callable[P, Operation[R]]) -> Callable[Concatenate[AsyncStore, P], Coroutine[Any, Any, R]]:
    """A method that builds an operation and runs it, awaited."""

    @functools.wraps(build)
    def verb(self: AsyncStore, /, *args: P.args, **options: P.kwargs) -> Coroutine[Any, Any, R]:
        setup = self.setup
        operation: Operation[R] = build(*args, **options) if setup.scope is None else built(setup, build, args, options)
        return self.drive(operation.flow(setup))

    return verb


def async_streams(build: Callable[P, Stream[R]]) -> Callable[Concatenate[AsyncStore, P], AsyncIterator[R]]:
    """A method that builds a stream and iterates over it, asynchronously."""

    @functools.wraps(build)
    def verb(self: AsyncStore, /, *args: P.args, **options: P.kwargs) -> AsyncIterator[R]:
        operation: Stream[R] = built(self.setup, build, args, options)
        return self.iterate(operation.flow(self.setup))

    return verb


def adds(build: Callable[P, WriteOperation[R]]) -> Callable[Concatenate[Collecting, P], None]:
    """A method that builds a write and keeps it for later."""

    @functools.wraps(build)
    def verb(self: Collecting, /, *args: P.args, **options: P.kwargs) -> None:
        self.add(built(self.setup, build, args, options))

    return verb
