"""Steps of a flow: what a generator asks its driver to do. The only interface between the logic of the store and its I/O.

A flow is a generator. It yields steps, receives what came of them, and returns its result; errors of the service are raised at the
`yield`. Flows do no I/O and look at no clock but the setup's, so a test drives them by hand.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["Flow", "Found", "Pause", "Reply", "Request", "Step", "Together"]

R = TypeVar("R")
Payload = dict[str, Any]
Reply = dict[str, Any]


@dataclass(slots=True)
class Request:
    """Ask the service. The reply is its answer."""

    operation: str
    payload: Payload
    #: what it is for, in metrics and traces: a pattern (`Job.ready`) or an entity and a verb (`Job.get`)
    pattern: str = ""
    #: how often the flow has sent it before
    retries: int = 0
    #: of an update that was bound from a prepared one: what stands for all of the payload but its key and its values
    statement: Hashable = None
    #: what the operation that made it needs to read the answer
    about: Any = None


@dataclass(slots=True)
class Together:
    """Ask several things at once. The reply is a list in the same order; what failed is in it as an exception."""

    requests: list[Request]


@dataclass(slots=True)
class Pause:
    """Wait so many seconds. The reply is None."""

    seconds: float


@dataclass(slots=True)
class Found:
    """Hand these results to whoever is iterating. The reply is None, when the next ones are wanted."""

    items: Iterable[Any]


Step = Request | Together | Pause | Found
#: A flow that ends with an `R`.
Flow = Generator[Step, Any, R]


def request_of(step: Step | None) -> Request | None:
    """The request that a step sends, or the first of them."""
    if isinstance(step, Together):
        return step.requests[0]
    return step if isinstance(step, Request) else None
