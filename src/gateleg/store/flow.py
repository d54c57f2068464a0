"""Flows: multi-step operations as generators. This is the only interface between the store's logic and its I/O.

A flow yields steps for its driver to perform, receives their results, and returns its own. Errors of the service are raised at the
`yield`. Flows do no I/O and read only the setup's clock, so tests can drive them by hand. `run_concurrently` makes one flow of several,
whose requests are sent together.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Flow", "Pause", "Request", "Response", "Step", "StreamedItems", "Together", "run_concurrently"]

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


def run_concurrently(flows: Sequence[Flow[R]], ticks: Callable[[], float], *, fail_fast: bool = False) -> Flow[list[R | Exception]]:
    """Run flows concurrently; `ticks` is the clock of their pauses. Returns their results, or the exceptions that ended them, in order.

    With `fail_fast`, the first exception closes the other flows and is raised.
    """
    if len(flows) == 1:
        # Nothing else runs meanwhile.
        try:
            return [(yield from flows[0])]
        except Exception as error:
            if fail_fast:
                raise
            return [error]
    branches = [_Branch(flow) for flow in flows]
    try:
        for branch in branches:
            branch.advance(ticks)
        while True:
            if (
                fail_fast
                and (failed := next((branch.result for branch in branches if isinstance(branch.result, Exception)), None)) is not None
            ):
                raise failed
            asking = [branch for branch in branches if branch.requests]
            waiting = [branch for branch in branches if not branch.requests and not branch.ended]
            if asking:
                received = iter((yield Together([request for branch in asking for request in branch.requests])))
                for branch in asking:
                    responses = [next(received) for _ in branch.requests]
                    branch.advance(ticks, responses if branch.together else responses[0])
                if waiting:
                    _resume(waiting, ticks(), ticks)
            elif waiting:
                due = min(branch.due for branch in waiting)
                yield Pause(max(0.0, due - ticks()))
                _resume(waiting, due, ticks)
            else:
                return [branch.result for branch in branches]
    finally:
        for branch in branches:
            branch.flow.close()


class _Branch(Generic[R]):
    """One of the flows: the step it waits for, and how it ended."""

    __slots__ = ("due", "ended", "flow", "requests", "result", "together")

    def __init__(self, flow: Flow[R]) -> None:
        self.flow = flow
        #: the requests that it waits for; none while it pauses
        self.requests: list[Request] = []
        self.together = False
        #: when its pause ends
        self.due = 0.0
        self.ended = False
        self.result: Any = None

    def advance(self, ticks: Callable[[], float], response: Any = None) -> None:
        """Send the flow the result of its step; an exception is raised in it."""
        self.requests = []
        try:
            step = self.flow.throw(response) if isinstance(response, Exception) else self.flow.send(response)
        except StopIteration as end:
            self.ended, self.result = True, end.value
        except Exception as error:
            self.ended, self.result = True, error
        else:
            if isinstance(step, Request):
                self.requests, self.together = [step], False
            elif isinstance(step, Together):
                self.requests, self.together = step.requests, True
            elif isinstance(step, Pause):
                self.due = ticks() + step.seconds


def _resume(waiting: Sequence[_Branch[R]], now: float, ticks: Callable[[], float]) -> None:
    for branch in waiting:
        if branch.due <= now:
            branch.advance(ticks)
