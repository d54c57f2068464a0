"""Test doubles for time, randomness and services."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from gateleg.net import Backoff
from gateleg.store.flow import Flow, Pause, Request, Step, Together
from gateleg.store.setup import Setup, Signer
from gateleg.store.transports import ServiceError


class Ticking:
    """A clock that advances only by sleeping."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def quiet_setup(**members: Any) -> Setup:
    """A setup with a fixed clock and seeded randomness."""
    clock = Ticking()
    given: dict[str, Any] = {"clock": clock, "ticks": clock, "random": random.Random(7), "cursors": Signer(b"key"), "backoff": Backoff()}
    return Setup(**(given | members))


Answer = dict[str, Any] | Exception
Answers = Callable[[Request], Answer] | Sequence[Answer]


class Played:
    """A flow that was driven by hand: its result, and all steps that it yielded."""

    def __init__(self, result: Any, steps: list[Step]) -> None:
        self.result = result
        self.steps = steps

    @property
    def requests(self) -> list[Request]:
        return [request for step in self.steps for request in _requests(step)]

    @property
    def pauses(self) -> list[float]:
        return [step.seconds for step in self.steps if isinstance(step, Pause)]


def play(flow: Flow[Any], answers: Answers) -> Played:
    """Drive a flow with prepared answers, without any I/O."""
    left = list(answers) if not callable(answers) else []

    def answer(request: Request) -> Answer:
        return answers(request) if callable(answers) else left.pop(0)

    steps: list[Step] = []
    reply: Any = None
    try:
        step = next(flow)
        while True:
            steps.append(step)
            if isinstance(step, Request):
                reply = answer(step)
            elif isinstance(step, Together):
                reply = [answer(request) for request in step.requests]
            else:
                reply = None
            step = flow.throw(reply) if isinstance(reply, Exception) else flow.send(reply)
    except StopIteration as end:
        return Played(end.value, steps)


def _requests(step: Step) -> list[Request]:
    if isinstance(step, Together):
        return step.requests
    return [step] if isinstance(step, Request) else []


def refusal(code: str, **extra: Any) -> ServiceError:
    """An error of the service."""
    return ServiceError(code, "refused", extra)


class Scripted:
    """A transport that answers from a list and records requests."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[str, dict[str, Any], float | None]] = []

    def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        self.calls.append((operation, request, timeout))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        pass
