"""Run several flows concurrently within one, sending their requests together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gateleg.store.flow import Pause, Request, Together

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.store.flow import Flow

__all__ = ["run_concurrently"]

R = TypeVar("R")


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


def run_concurrently(flows: Sequence[Flow[R]], ticks: Callable[[], float], *, fail_fast: bool = False) -> Flow[list[R | Exception]]:
    """Run flows concurrently; `ticks` is the clock of their pauses. Returns their results, or the exceptions that ended them, in order.

    With `fail_fast`, the first exception closes the other flows and is raised.
    """
    branches = [_Branch(flow) for flow in flows]
    try:
        for branch in branches:
            branch.advance(ticks)
        while True:
            if fail_fast and (failed := next((one.result for one in branches if isinstance(one.result, Exception)), None)) is not None:
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


def _resume(waiting: Sequence[_Branch[R]], now: float, ticks: Callable[[], float]) -> None:
    for branch in waiting:
        if branch.due <= now:
            branch.advance(ticks)
