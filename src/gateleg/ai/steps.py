"""Steps of a flow: what it asks its driver to do. The only interface between the logic of models and their I/O.

A flow is a generator, as in the store. It yields steps, receives their results, and returns its own; errors are raised at the `yield`.
There are two drivers (`drivers.py`): one blocks, one awaits.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from gateleg.store.flow import Pause

if TYPE_CHECKING:
    from gateleg.ai.replies import Delta
    from gateleg.net import Deadline
    from gateleg.net.http import HttpRequest, Timeouts
    from gateleg.store.operations import Operation

R = TypeVar("R")


class Source(Protocol):
    """What is received piece by piece."""

    #: of a driver: waits for the next piece, at most for a number of seconds
    receive: Callable[[float], Any]

    def close(self) -> None:
        """End it."""
        ...


class Opened(Source, Protocol):
    """A response whose headers have arrived."""

    status: int
    #: by lower-case name
    headers: dict[str, str]

    def close(self) -> None:
        """Release the connection. It is reused if the response was read to its end."""
        ...


@dataclass(slots=True)
class Open:
    """Send a request. Returns an `Opened` when the headers have arrived."""

    request: HttpRequest
    timeouts: Timeouts
    #: the deadline of the whole call
    until: Deadline


@dataclass(slots=True)
class Receive:
    """Wait for more, at most this many seconds. Returns bytes of a response, which are empty at its end, or an item of a subscription."""

    source: Source
    seconds: float


@dataclass(slots=True)
class Subscribe:
    """Run an asynchronous generator, in a task of its own. Returns a `Source` of its items; None is its end."""

    make: Callable[[], AsyncGenerator[Any, None]]


@dataclass(slots=True)
class Offload:
    """Call a function that computes or blocks, without blocking the event loop. Returns its result."""

    call: Callable[[], Any]


@dataclass(slots=True)
class StoreOperation:
    """Run an operation of the store. Returns its result."""

    operation: Operation[Any]


@dataclass(slots=True)
class EmitPiece:
    """Pass a piece of the reply to the caller. Returns None when the next one is wanted."""

    delta: Delta


Step = Open | Receive | Subscribe | Offload | StoreOperation | Pause | EmitPiece
#: A flow that returns an `R`.
Flow = Generator[Step, Any, R]


def completed(result: R) -> Flow[R]:
    """A flow that returns a result without a step."""
    yield from ()
    return result
