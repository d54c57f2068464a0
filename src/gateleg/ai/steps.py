"""Steps of a flow: what the logic of this room asks its driver to do. The only interface between that logic and its I/O.

A flow is a generator, as in the store. It yields steps, receives what came of them, and returns its result; what goes wrong is raised at
the `yield`. Two drivers take the steps: `Models` by calling, `AsyncModels` by awaiting.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from gateleg.ai.replies import Delta
    from gateleg.net import Deadline
    from gateleg.net.http import HttpRequest, Timeouts
    from gateleg.store.operations import Operation

R = TypeVar("R")


class Opened(Protocol):
    """An answer whose head has come."""

    status: int
    #: by their names in small letters
    headers: dict[str, str]

    def close(self) -> None:
        """Let go of the connection. It is kept for the next request if the answer was read to its end."""
        ...


@dataclass(slots=True)
class Open:
    """Send a request. The reply is an `Opened`, when the head of the answer is there."""

    request: HttpRequest
    timeouts: Timeouts
    #: when the whole call must be over
    until: Deadline


@dataclass(slots=True)
class Receive:
    """Wait for more of an answer, at most so many seconds. The reply is bytes; none at its end."""

    opened: Opened
    seconds: float


@dataclass(slots=True)
class Work:
    """Call something that computes or blocks. The reply is what it returns; an event loop goes on meanwhile."""

    call: Callable[[], Any]


@dataclass(slots=True)
class Carry:
    """Carry out an operation of the store. The reply is its result."""

    operation: Operation[Any]


@dataclass(slots=True)
class Pause:
    """Wait so many seconds. The reply is None."""

    seconds: float


@dataclass(slots=True)
class Say:
    """Hand a piece of the reply to whoever is listening. The reply is None, when the next is wanted."""

    delta: Delta


Step = Open | Receive | Work | Carry | Pause | Say
#: A flow that ends with an `R`.
Flow = Generator[Step, Any, R]


def at_once(result: R) -> Flow[R]:
    """A flow that has its result without a step."""
    yield from ()
    return result
