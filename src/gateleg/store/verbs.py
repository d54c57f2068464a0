"""Make a store's methods from the functions that build operations, so that parameters and documentation are written only once.

Signatures and documentation of a store's methods, which are generated from the functions that build operations.
"""

from __future__ import annotations

import functools
import inspect
import re
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from gateleg.model.errors import MissingComponent
from gateleg.model.keys import Presets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

    from gateleg.store.flow import Flow
    from gateleg.store.operations.operation import Operation, Stream
    from gateleg.store.operations.write_operation import WriteOperation
    from gateleg.store.setup import Scope, Setup

__all__ = ["describe"]

P = ParamSpec("P")
R = TypeVar("R")


class _Driver(Protocol):
    """The interface of a sync store that methods need."""

    setup: Setup

    def carry_out(self, operation: Operation[R]) -> R:
        """Run an operation."""

    def iterate(self, flow: Flow[Any]) -> Iterator[Any]:
        """Run the flow of a stream."""


class _AsyncDriver(Protocol):
    """The interface of an async store that methods need."""

    setup: Setup

    def carry_out(self, operation: Operation[R]) -> Coroutine[Any, Any, R]:
        """Run an operation."""

    def iterate(self, flow: Flow[Any]) -> AsyncIterator[Any]:
        """Run the flow of a stream."""


class _Collector(Protocol):
    """The interface of a transaction or batch block that methods need."""

    setup: Setup

    def add(self, operation: WriteOperation[Any]) -> None:
        """Add a write to send at the end of the block."""


@functools.cache
def _takes_components(build: Callable[..., Any]) -> bool:
    """Whether a function takes key components as keywords."""
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(build).parameters.values())


def _inside(scope: Scope, build: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Build an operation with the components of a scope, and check that it stays inside the scope."""
    try:
        operation = build(*args, Presets(scope.values), **options) if _takes_components(build) else build(*args, **options)
    except MissingComponent as error:
        given = f"{error.message} The scope gives {', '.join(scope.values)}."
        raise MissingComponent(given, fix=error.fix, entity=error.entity, missing=error.missing) from None
    scope.check(operation)
    return operation


def runs(build: Callable[P, Operation[R]]) -> Callable[Concatenate[_Driver, P], R]:
    """A method that builds an operation and runs it."""

    def verb(self: _Driver, /, *args: P.args, **options: P.kwargs) -> R:
        setup: Setup = self.setup
        operation: Operation[R] = build(*args, **options) if setup.scope is None else _inside(setup.scope, build, args, options)
        if setup.moves is not None:
            operation = setup.moves.rewrite(operation)
        result: R = self.carry_out(operation)
        return result

    return cast("Callable[Concatenate[_Driver, P], R]", describe(verb, build))


def awaits(build: Callable[P, Operation[R]]) -> Callable[Concatenate[_AsyncDriver, P], Coroutine[Any, Any, R]]:
    """An async method that builds an operation and runs it."""

    def verb(self: _AsyncDriver, /, *args: P.args, **options: P.kwargs) -> Coroutine[Any, Any, R]:
        setup: Setup = self.setup
        operation: Operation[R] = build(*args, **options) if setup.scope is None else _inside(setup.scope, build, args, options)
        if setup.moves is not None:
            operation = setup.moves.rewrite(operation)
        return self.carry_out(operation)

    return cast("Callable[Concatenate[_AsyncDriver, P], Coroutine[Any, Any, R]]", describe(verb, build, within="Awaitable"))


def streams(build: Callable[P, Stream[R]]) -> Callable[Concatenate[_Driver, P], Iterator[R]]:
    """A method that builds a stream and iterates over it."""

    def verb(self: _Driver, /, *args: P.args, **options: P.kwargs) -> Iterator[R]:
        setup: Setup = self.setup
        operation: Stream[R] = build(*args, **options) if setup.scope is None else _inside(setup.scope, build, args, options)
        if setup.moves is not None:
            operation = setup.moves.rewrite(operation)
        return self.iterate(operation.flow(setup))

    return cast("Callable[Concatenate[_Driver, P], Iterator[R]]", describe(verb, build, within="Iterator"))


def async_streams(build: Callable[P, Stream[R]]) -> Callable[Concatenate[_AsyncDriver, P], AsyncIterator[R]]:
    """A method that builds a stream and asynchronously iterates over it."""

    def verb(self: _AsyncDriver, /, *args: P.args, **options: P.kwargs) -> AsyncIterator[R]:
        setup: Setup = self.setup
        operation: Stream[R] = build(*args, **options) if setup.scope is None else _inside(setup.scope, build, args, options)
        if setup.moves is not None:
            operation = setup.moves.rewrite(operation)
        return self.iterate(operation.flow(setup))

    return cast("Callable[Concatenate[_AsyncDriver, P], AsyncIterator[R]]", describe(verb, build, within="AsyncIterator"))


def adds(build: Callable[P, WriteOperation[R]]) -> Callable[Concatenate[_Collector, P], None]:
    """A method that builds a write and adds it to a transaction or batch."""

    def verb(self: _Collector, /, *args: P.args, **options: P.kwargs) -> None:
        scope = self.setup.scope
        self.add(build(*args, **options) if scope is None else _inside(scope, build, args, options))

    return cast("Callable[Concatenate[_Collector, P], None]", describe(verb, build, responses="None"))


_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
_WRAPPED = re.compile(r"\b(?:Operation|WriteOperation|Stream|Flow)\[")


def describe(verb: Any, build: Callable[..., Any], *, hides: int = 0, within: str = "", responses: str | None = None) -> Any:
    """Give a method the name, documentation and signature of the function that builds its operation.

    `hides` is the number of leading parameters that the method fills in itself. The return annotation is the type inside `Operation[...]`,
    wrapped in `within` (such as `Iterator`), or `answers`.
    """
    functools.update_wrapper(verb, build)
    del verb.__wrapped__
    signature = inspect.signature(build)
    result = unwrapped(str(signature.return_annotation)) if responses is None else responses
    parameters = [_SELF, *list(signature.parameters.values())[hides:]]
    if parameters[1:] and parameters[1].kind is not inspect.Parameter.POSITIONAL_ONLY:
        parameters[0] = _SELF.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
    verb.__signature__ = signature.replace(parameters=parameters, return_annotation=f"{within}[{result}]" if within else result)
    return verb


def unwrapped(annotation: str) -> str:
    """An annotation without `Operation[...]`: `Operation[E] | Operation[dict[str, Any]]` is `E | dict[str, Any]`."""
    while (found := _WRAPPED.search(annotation)) is not None:
        depth, end = 1, found.end()
        while depth:
            depth += {"[": 1, "]": -1}.get(annotation[end], 0)
            end += 1
        annotation = annotation[: found.start()] + annotation[found.end() : end - 1] + annotation[end:]
    return annotation
