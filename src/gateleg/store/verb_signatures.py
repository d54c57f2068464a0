"""Signatures and documentation of a store's methods, which are generated from the functions that build operations."""

from __future__ import annotations

import functools
import inspect
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["describe"]

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
