"""`Queue` and `AsyncQueue` are derived from one list, and say so truly in `help`."""

import inspect

import pytest

from gateleg.jobs import AsyncQueue, Queue
from gateleg.jobs.queue import QueueVerbs, Verb

VERBS = [name for name, verb in vars(QueueVerbs).items() if isinstance(verb, Verb)]


@pytest.mark.parametrize("name", VERBS)
def test_both_queues_have_the_verb_with_its_true_signature(name: str) -> None:
    called, awaited = getattr(Queue, name), getattr(AsyncQueue, name)
    assert inspect.isfunction(called)
    assert inspect.isfunction(awaited)
    ours, theirs = inspect.signature(called), inspect.signature(awaited)
    assert ours.parameters == theirs.parameters
    assert next(iter(ours.parameters)) == "self"
    assert "context" not in ours.parameters
    assert theirs.return_annotation == f"Awaitable[{ours.return_annotation}]"
    assert "Flow" not in ours.return_annotation
    assert called.__doc__


def test_a_queue_of_ones_own_inherits_the_verbs() -> None:
    class Own(Queue):
        """A subclass."""

    assert Own.submit is Queue.submit


def test_the_list_has_the_verbs_that_people_know() -> None:
    assert {"submit", "submit_many", "enlist", "get", "cancel", "retry", "schedule", "ensure_tables", "declare_schedules"} <= set(VERBS)
