"""How a verb's builder becomes a method: signatures and documentation are written once, beside what they build."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

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
    operation = build(*args, **(setup.scope.bind(args, options) if _takes_components(build) else options))
    setup.scope.check(operation)
    return operation


def runs(build: Callable[P, Operation[R]]) -> Callable[Concatenate[Store, P], R]:
    """A method that builds an operation and runs it."""

    @functools.wraps(build)
    def verb(self: Store, /, *args: P.args, **options: P.kwargs) -> R:
        operation: Operation[R] = built(self.setup, build, args, options)
        return self.drive(operation.flow(self.setup))

    return verb


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
        operation: Operation[R] = built(self.setup, build, args, options)
        return self.drive(operation.flow(self.setup))

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
