from typing import Any

from gateleg.jobs.queue_context import run_concurrently
from gateleg.store.flow import Flow, Pause, Request, Together


def asks(*names: str) -> Flow[list[Any]]:
    replies: list[Any] = []
    for name in names:
        reply = yield Request(name, {})
        replies = [*replies, reply]
    return replies


def waits(seconds: float) -> Flow[str]:
    yield Pause(seconds)
    return "waited"


def raises() -> Flow[None]:
    yield Request("asked", {})
    raise ValueError("no")


def drive(flow: Flow[Any]) -> tuple[Any, list[Any]]:
    """The result of a flow whose requests are answered with their names, and what it did."""
    done: list[Any] = []
    reply: Any = None
    try:
        while True:
            step = flow.send(reply)
            if isinstance(step, Together):
                reply = [request.operation for request in step.requests]
                done.append(reply)
            else:
                assert isinstance(step, Pause)
                done.append(step.seconds)
                reply = None
    except StopIteration as end:
        return end.value, done


def test_what_flows_ask_is_asked_together() -> None:
    result, done = drive(run_concurrently([asks("a", "b"), asks("c")]))
    assert result == [["a", "b"], ["c"]]
    assert done == [["a", "c"], ["b"]]


def test_waiting_comes_after_asking_and_is_done_once() -> None:
    result, done = drive(run_concurrently([waits(1), asks("a"), waits(3)]))
    assert result == ["waited", ["a"], "waited"]
    assert done == [["a"], 3]


def test_an_error_of_one_is_no_error_of_the_others() -> None:
    (error, kept), _ = drive(run_concurrently([raises(), asks("a", "b")]))
    assert isinstance(error, ValueError)
    assert kept == ["a", "b"]


def test_no_flows_have_no_results() -> None:
    assert drive(run_concurrently([])) == ([], [])
