"""Flows: multi-step operations as generators. This is the only interface between the store's logic and its I/O.

A flow yields steps for its driver to perform, receives their results, and returns its own. Errors of the service are raised at the
`yield`. Flows do no I/O and read only the setup's clock, so tests can drive them by hand.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["Flow", "Pause", "Request", "Response", "Step", "StreamedItems", "Together"]

R = TypeVar("R")
Payload = dict[str, Any]
Response = dict[str, Any]


@dataclass(slots=True)
class Request:
    """Send a request to the service. The `yield` evaluates to the response."""

    operation: str
    payload: Payload
    #: its name in metrics and traces: a pattern (`Job.ready`), or an entity and a method (`Job.get`)
    pattern: str = ""
    #: how often the flow has already sent this request
    retries: int = 0
    #: for an update that was bound from a prepared one: identifies everything in the payload except the key and the values
    statement: Hashable = None
    #: context that the operation needs to interpret the response
    about: Any = None


@dataclass(slots=True)
class Together:
    """Send several requests concurrently. The `yield` evaluates to their responses, with an exception for each request that failed."""

    requests: list[Request]


@dataclass(slots=True)
class Pause:
    """Wait for a number of seconds."""

    seconds: float


@dataclass(slots=True)
class StreamedItems:
    """Give these results to the caller of a stream. The flow continues when the caller asks for more."""

    items: Iterable[Any]


Step = Request | Together | Pause | StreamedItems
#: A flow that returns an `R`.
Flow = Generator[Step, Any, R]


def request_of(step: Step | None) -> Request | None:
    """The first request that a step sends, or None."""
    if isinstance(step, Together):
        return step.requests[0]
    return step if isinstance(step, Request) else None
