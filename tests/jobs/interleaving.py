"""Running flows against each other, request by request, in every order.

Flows are generators that yield requests, so a scheduler that decides whose request is next decides everything about a race. A schedule is
a list of choices; the search runs the scenario again and again from the beginning, each time with another schedule, until there is none
left. `preemptions` bounds how often a flow is left in the middle for another, which keeps the number of schedules small: most races
need one or two.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gateleg.store import StoreError
from gateleg.store.error_translation import translated
from gateleg.store.flow import Flow, Request, Together, request_of
from gateleg.store.transports import ServiceError, Transport, Unreachable

#: Whether a request is carried out and answered, carried out and the answer lost, or not carried out at all.
FAULTS = ("none", "answer-lost", "not-sent")


@dataclass
class Choices:
    """The choices of one run: first those of a prefix, then always the first possibility."""

    prefix: Sequence[int] = ()
    taken: list[tuple[int, int]] = field(default_factory=list)

    def choose(self, possibilities: int) -> int:
        place = len(self.taken)
        choice = self.prefix[place] if place < len(self.prefix) else 0
        self.taken.append((choice, possibilities))
        return choice

    def following(self) -> list[int] | None:
        """The prefix of the next run in the search; None at its end."""
        for place in reversed(range(len(self.taken))):
            choice, possibilities = self.taken[place]
            if choice + 1 < possibilities:
                return [*(earlier for earlier, _ in self.taken[:place]), choice + 1]
        return None


class Actor:
    """A flow under way. `result` and `error` say how it ended."""

    def __init__(self, name: str, flow: Flow[Any], faults: int = 0) -> None:
        self.name = name
        self.faults = faults
        self.result: Any = None
        self.error: Exception | None = None
        self.ended = False
        self._flow: Generator[Any, Any, Any] = flow
        self._step: Any = None
        self._started = False

    def _advance(self, go: Callable[[], Any]) -> None:
        try:
            self._step = go()
        except StopIteration as end:
            self.result, self.ended = end.value, True
        except (ServiceError, Unreachable) as error:
            self.error, self.ended = translated(error, request_of(self._step)), True
        except Exception as error:
            self.error, self.ended = error, True

    def act(self, transport: Transport, choices: Choices) -> None:
        """Carry out the next step. A flow begins with its first one: what it decides before, it decides then."""
        if not self._started:
            self._started = True
            self._advance(lambda: next(self._flow))
            if self.ended:
                return
        step = self._step
        if isinstance(step, Request):
            reply = self._ask(transport, step, choices)
        elif isinstance(step, Together):
            reply = [self._ask(transport, request, choices) for request in step.requests]
        else:
            reply = None
        if isinstance(reply, Exception):
            error = reply
            self._advance(lambda: self._flow.throw(error))
        else:
            self._advance(lambda: self._flow.send(reply))

    def _ask(self, transport: Transport, request: Request, choices: Choices) -> Any:
        fault = "none"
        if self.faults and request.operation in ("UpdateItem", "PutItem", "TransactWriteItems"):
            fault = FAULTS[choices.choose(len(FAULTS))]
        if fault != "none":
            self.faults -= 1
        if fault == "not-sent":
            return Unreachable("not sent")
        try:
            reply = transport.call(request.operation, request.payload)
        except ServiceError as error:
            reply = error  # type: ignore[assignment]
        return Unreachable("answer lost") if fault == "answer-lost" else reply


def run(actors: Sequence[Actor], transport: Transport, choices: Choices, preemptions: int) -> None:
    """Run flows to their ends in the order that the choices say."""
    current: Actor | None = None
    while alive := [actor for actor in actors if not actor.ended]:
        if current is None or current.ended:
            picked = alive[choices.choose(len(alive))]
        elif preemptions > 0 and len(alive) > 1:
            others = [current, *(actor for actor in alive if actor is not current)]
            picked = others[choices.choose(len(others))]
            preemptions -= picked is not current
        else:
            picked = current
        current = picked
        picked.act(transport, choices)


def search(scenario: Callable[[Choices], None], limit: int = 100_000) -> int:
    """Run a scenario with every schedule; how many there were. A failure tells its schedule."""
    prefix: list[int] | None = []
    runs = 0
    while prefix is not None and runs < limit:
        choices = Choices(prefix)
        try:
            scenario(choices)
        except (AssertionError, StoreError) as error:
            error.add_note(f"schedule {[choice for choice, _ in choices.taken]} after {runs} runs")
            raise
        runs += 1
        prefix = choices.following()
    return runs
