"""Make methods from functions, so that parameters and documentation are written only once.

A method of a store builds an operation with its function and runs it; inside a scope, it passes the components of the scope too, and checks
the operation. Each maker has a type of its own, because a type checker cannot derive an awaited method from a called one. `describe` gives
any method the name, documentation and signature of its function; the methods of queues, which drive flows, are made with it too.
"""

from __future__ import annotations

import functools
import inspect
import re
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from gateleg.model.errors import MissingComponent
from gateleg.model.keys import Presets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

    from gateleg.store.blocks import WriteBlock
    from gateleg.store.operations.operation import Operation, Stream
    from gateleg.store.operations.write_operation import WriteOperation
    from gateleg.store.setup import Scope, Setup
    from gateleg.store.store import AsyncStore, Store

__all__ = ["describe"]

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound="Callable[..., Any]")


def sync_method(build: Callable[P, Operation[R]]) -> Callable[Concatenate[Store, P], R]:
    """A method of `Store` that runs an operation."""
    return _operation_method(build)


def async_method(build: Callable[P, Operation[R]]) -> Callable[Concatenate[AsyncStore, P], Coroutine[Any, Any, R]]:
    """A method of `AsyncStore` that runs an operation."""
    return _operation_method(build, within="Awaitable")


def stream_method(build: Callable[P, Stream[R]]) -> Callable[Concatenate[Store, P], Iterator[R]]:
    """A method of `Store` that iterates over a stream."""
    return _stream_method(build, within="Iterator")


def async_stream_method(build: Callable[P, Stream[R]]) -> Callable[Concatenate[AsyncStore, P], AsyncIterator[R]]:
    """A method of `AsyncStore` that iterates over a stream."""
    return _stream_method(build, within="AsyncIterator")


def transaction_method(build: Callable[P, WriteOperation[R]]) -> Callable[Concatenate[WriteBlock, P], None]:
    """A method of a transaction or batch that adds a write to it. A migration's moves apply to the whole block, when it is run."""

    def method(self: WriteBlock, /, *args: P.args, **options: P.kwargs) -> None:
        scope = self.setup.scope
        self.add(build(*args, **options) if scope is None else _build_inside(scope, build, args, options))

    return describe(method, build, result="None")


def _operation_method(build: Callable[..., Operation[Any]], *, within: str = "") -> Callable[..., Any]:
    def method(self: Store | AsyncStore, /, *args: Any, **options: Any) -> Any:
        setup: Setup = self.setup
        operation = build(*args, **options) if setup.scope is None else _build_inside(setup.scope, build, args, options)
        if setup.moves is not None:
            operation = setup.moves.rewrite(operation)
        return self.carry_out(operation)

    return describe(method, build, within=within)


def _stream_method(build: Callable[..., Stream[Any]], *, within: str) -> Callable[..., Any]:
    def method(self: Store | AsyncStore, /, *args: Any, **options: Any) -> Any:
        setup: Setup = self.setup
        operation = build(*args, **options) if setup.scope is None else _build_inside(setup.scope, build, args, options)
        if setup.moves is not None:
            operation = setup.moves.rewrite(operation)
        return self.iterate(operation.flow(setup))

    return describe(method, build, within=within)


def _build_inside(scope: Scope, build: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Build an operation with the components of a scope, and check that it stays inside the scope."""
    try:
        operation = build(*args, Presets(scope.values), **options) if _takes_components(build) else build(*args, **options)
    except MissingComponent as error:
        message = f"{error.message} The scope gives {', '.join(scope.values)}."
        raise MissingComponent(message, fix=error.fix, entity=error.entity, missing=error.missing) from None
    scope.check(operation)
    return operation


@functools.cache
def _takes_components(build: Callable[..., Any]) -> bool:
    """Whether a function takes key components as keywords."""
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(build).parameters.values())


_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
_WRAPPED = re.compile(r"\b(?:Operation|WriteOperation|Stream|Flow)\[")


def describe(method: F, build: Callable[..., Any], *, fills: int = 0, within: str = "", result: str | None = None) -> F:
    """Give a method the name, documentation and signature of its function, and return it.

    `fills` is the number of leading parameters that the method fills in itself. The return annotation is `result`, by default what is in
    `Operation[...]` or `Flow[...]` in that of the function, wrapped in `within`, such as `Iterator`.
    """
    described: Any = functools.update_wrapper(method, build)
    del described.__wrapped__
    signature = inspect.signature(build)
    parameters = [_SELF, *list(signature.parameters.values())[fills:]]
    if parameters[1:] and parameters[1].kind is not inspect.Parameter.POSITIONAL_ONLY:
        parameters[0] = _SELF.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
    result = _unwrapped(str(signature.return_annotation)) if result is None else result
    described.__signature__ = signature.replace(parameters=parameters, return_annotation=f"{within}[{result}]" if within else result)
    return method


def _unwrapped(annotation: str) -> str:
    """An annotation without `Operation[...]`: `Operation[E] | Operation[dict[str, Any]]` is `E | dict[str, Any]`."""
    while (match := _WRAPPED.search(annotation)) is not None:
        depth, end = 1, match.end()
        while depth:
            depth += {"[": 1, "]": -1}.get(annotation[end], 0)
            end += 1
        annotation = annotation[: match.start()] + annotation[match.end() : end - 1] + annotation[end:]
    return annotation
