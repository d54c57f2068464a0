"""Flows that run concurrently."""

from collections.abc import Callable
from typing import Any

import pytest

from gateleg.store.flow import Flow, Pause, Request, Together, run_concurrently

CLOSED: list[str] = []


def asks(*names: str) -> Flow[list[Any]]:
    replies: list[Any] = []
    for name in names:
        reply = yield Request(name, {})
        replies = [*replies, reply]
    return replies


def asks_together(*names: str) -> Flow[list[Any]]:
    replies: list[Any] = yield Together([Request(name, {}) for name in names])
    return replies


def waits(seconds: float) -> Flow[str]:
    yield Pause(seconds)
    return "waited"


def raises() -> Flow[None]:
    yield Request("asked", {})
    raise ValueError("no")


def lasts() -> Flow[None]:
    try:
        while True:
            yield Request("again", {})
    finally:
        CLOSED.append("lasts")


class Driver:
    """Answers requests with their names, and moves its clock when a flow pauses, unless the clock is stopped."""

    def __init__(self, *, stopped: bool = False) -> None:
        self.time = 0.0
        self.done: list[Any] = []
        self.stopped = stopped

    def ticks(self) -> float:
        return self.time

    def drive(self, make: Callable[[Callable[[], float]], Flow[Any]]) -> Any:
        flow, reply = make(self.ticks), None
        try:
            while True:
                step = flow.send(reply)
                if isinstance(step, Together):
                    reply = [ValueError("refused") if request.operation == "refused" else request.operation for request in step.requests]
                    self.done.append([request.operation for request in step.requests])
                else:
                    assert isinstance(step, Pause)
                    self.time += 0.0 if self.stopped else step.seconds
                    self.done.append(step.seconds)
                    reply = None
        except StopIteration as end:
            return end.value


def test_requests_of_all_flows_are_sent_together() -> None:
    driver = Driver()
    assert driver.drive(lambda ticks: run_concurrently([asks("a", "b"), asks("c"), asks_together("d", "e")], ticks)) == [
        ["a", "b"],
        ["c"],
        ["d", "e"],
    ]
    assert driver.done == [["a", "c", "d", "e"], ["b"]]


def test_pauses_overlap_and_come_after_requests() -> None:
    driver = Driver()
    assert driver.drive(lambda ticks: run_concurrently([waits(1), asks("a"), waits(3)], ticks)) == ["waited", ["a"], "waited"]
    assert driver.done == [["a"], 1, 2]


def test_pauses_end_even_if_the_clock_does_not_move() -> None:
    driver = Driver(stopped=True)
    assert driver.drive(lambda ticks: run_concurrently([waits(1), waits(3)], ticks)) == ["waited", "waited"]


def test_an_exception_of_one_flow_does_not_end_the_others() -> None:
    error, refused, kept = Driver().drive(lambda ticks: run_concurrently([raises(), asks("refused"), asks("a", "b")], ticks))
    assert [str(error), str(refused)] == ["no", "refused"]
    assert kept == ["a", "b"]


def test_failing_fast_closes_the_others_and_raises() -> None:
    CLOSED.clear()
    with pytest.raises(ValueError, match="no"):
        Driver().drive(lambda ticks: run_concurrently([lasts(), raises()], ticks, fail_fast=True))
    assert CLOSED == ["lasts"]


def test_no_flows_have_no_results() -> None:
    assert Driver().drive(lambda ticks: run_concurrently([], ticks)) == []
