"""Run several flows concurrently within one, batching their requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.store.flow import Pause, Request, Together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup


class _Branch:
    """One of the flows: what it waits for, and until when."""

    def __init__(self, flow: Flow[Any]) -> None:
        self.flow = flow
        self.step: Any = None
        self.due = 0.0
        self.result: Any = None
        self.ended = False

    def advance(self, setup: Setup, reply: Any = None) -> None:
        """Send the flow its reply; an exception is raised in it."""
        try:
            self.step = self.flow.throw(reply) if isinstance(reply, Exception) else self.flow.send(reply)
        except StopIteration as end:
            self.result, self.ended, self.step = end.value, True, None
            return
        if isinstance(self.step, Pause):
            self.due = setup.ticks() + self.step.seconds

    def requests(self) -> list[Request]:
        """Its pending requests."""
        if isinstance(self.step, Together):
            return self.step.requests
        return [self.step] if isinstance(self.step, Request) else []


def run_concurrently(flows: Sequence[Flow[Any]], setup: Setup) -> Flow[list[Any]]:
    """Run flows until all have ended. The first error ends all of them."""
    branches = [_Branch(flow) for flow in flows]
    try:
        for branch in branches:
            branch.advance(setup)
        while not all(branch.ended for branch in branches):
            asking = [branch for branch in branches if branch.requests()]
            if asking:
                yield from _ask(asking, setup)
            else:
                due = min(branch.due for branch in branches if not branch.ended)
                yield Pause(max(0.0, due - setup.ticks()))
            now = setup.ticks()
            for branch in branches:
                if isinstance(branch.step, Pause) and branch.due <= now + 1e-6:
                    branch.advance(setup)
    finally:
        for branch in branches:
            branch.flow.close()
    return [branch.result for branch in branches]


def _ask(asking: Sequence[_Branch], setup: Setup) -> Flow[None]:
    replies = yield Together([request for branch in asking for request in branch.requests()])
    rest = iter(replies)
    for branch in asking:
        answers = [next(rest) for _ in branch.requests()]
        branch.advance(setup, answers if isinstance(branch.step, Together) else answers[0])
