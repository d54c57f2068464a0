"""A key that was taken: what is submitted again is answered with its first job."""

from typing import Any
from uuid import uuid4

import pytest

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.errors import BadSubmission, DependencyMissing, KeyReused
from gateleg.jobs.queue import Queue
from gateleg.jobs.submission import Submission, Submitted
from gateleg.jobs.tables.job import JobStatus, Readiness
from gateleg.jobs.testing import ManualClock
from gateleg.store import Store
from tests.jobs.sample import DONE, claimed, everything, reaped, submitted


class TestIdempotency:
    def test_a_repetition_answers_with_the_first_job(self, queue: Queue, store: Store) -> None:
        first = queue.submit(Submission("plain", {"a": 1}, idempotency_key="order #7"))
        second = queue.submit(Submission("plain", {"a": 1}, idempotency_key="order #7"))
        assert (first.created, second.created) == (True, False)
        assert second.job.job_id == first.job.job_id
        assert len(everything(queue)) == 1

    def test_a_repetition_answers_with_the_first_job_after_its_end(self, queue: Queue, selector: CandidateSelector) -> None:
        first = queue.submit(Submission("plain", idempotency_key="k"))
        queue.finish(claimed(queue, selector), DONE)
        again = queue.submit(Submission("plain", idempotency_key="k"))
        assert (again.job.job_id, again.job.status) == (first.job.job_id, JobStatus.COMPLETED)

    def test_a_repetition_answers_with_the_first_job_when_what_it_waits_for_was_cancelled(self, queue: Queue, store: Store) -> None:
        needed = queue.submit(Submission("plain")).job.job_id
        first = queue.submit(Submission("plain", dependencies=[needed], idempotency_key="k"))
        queue.cancel(needed)
        before = len(everything(queue))
        again = queue.submit(Submission("plain", dependencies=[needed], idempotency_key="k"))
        assert (again.job.job_id, again.created) == (first.job.job_id, False)
        with pytest.raises(DependencyMissing):
            queue.submit(Submission("plain", dependencies=[needed], idempotency_key="another"))
        assert len(everything(queue)) == before

    def test_the_same_key_with_another_config_is_refused(self, queue: Queue) -> None:
        queue.submit(Submission("plain", {"a": 1}, idempotency_key="k"))
        with pytest.raises(KeyReused):
            queue.submit(Submission("plain", {"a": 2}, idempotency_key="k"))

    def test_a_key_is_forgotten_after_a_while(self, queue: Queue, clock: ManualClock) -> None:
        first = queue.submit(Submission("plain", idempotency_key="k"))
        clock.advance(days=8)
        again = queue.submit(Submission("plain", idempotency_key="k"))
        assert again.created
        assert again.job.job_id != first.job.job_id

    def test_the_same_id_with_the_same_config_is_a_repetition(self, queue: Queue) -> None:
        name = uuid4()
        assert queue.submit(Submission("plain", job_id=name)).created
        assert not queue.submit(Submission("plain", job_id=name)).created
        with pytest.raises(BadSubmission):
            queue.submit(Submission("plain", {"a": 1}, job_id=name))


class TestRepetitions:
    """Handlers may run twice, and then submit their children again."""

    def test_many_with_keys_answer_with_the_first_jobs(self, queue: Queue, store: Store) -> None:
        asked = [Submission("plain", {"part": number}, idempotency_key=f"part {number}") for number in range(5)]
        first = queue.submit_many(asked)
        again = queue.submit_many(asked)
        assert [one.created for one in again] == [False] * 5
        assert [one.job.job_id for one in again] == [one.job.job_id for one in first]
        assert len(everything(queue)) == 5

    def test_a_parent_that_runs_again_gets_its_first_children(self, queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
        submitted(queue)
        asked = [Submission("plain", {"part": number}, idempotency_key=f"part {number}") for number in range(3)]
        first = queue.submit_many(asked, under=claimed(queue, selector, "lost"))
        reaped(queue, clock)
        clock.advance(60)
        queue.promote("default")
        parent = next(job for job in (claimed(queue, selector, "other") for _ in range(4)) if job.attempt == 2)
        again = queue.submit_many(asked, under=parent)
        assert [(one.job.job_id, one.created) for one in again] == [(one.job.job_id, False) for one in first]

    def test_those_that_are_new_are_submitted_and_the_others_answered(self, queue: Queue, store: Store) -> None:
        first = queue.submit_many([Submission("plain", idempotency_key=f"part {number}") for number in (0, 2)])
        again = queue.submit_many([Submission("plain", idempotency_key=f"part {number}") for number in range(4)])
        assert [one.created for one in again] == [False, True, False, True]
        assert [again[0].job.job_id, again[2].job.job_id] == [one.job.job_id for one in first]
        assert len(everything(queue)) == 4

    def test_a_new_one_waits_for_the_first_job_in_place_of_its_repetition(self, queue: Queue, selector: CandidateSelector) -> None:
        (first,) = queue.submit_many([Submission("plain", {"is": "needed"}, job_id=uuid4(), idempotency_key="needed")])
        needed = Submission("plain", {"is": "needed"}, job_id=uuid4(), idempotency_key="needed")
        after = Submission("plain", {"is": "after"}, dependencies=[needed.job_id or uuid4()], idempotency_key="after")
        repeated, fresh = queue.submit_many([needed, after])
        assert (repeated.created, repeated.job.job_id) == (False, first.job.job_id)
        assert fresh.job.dependencies == [first.job.job_id]
        assert fresh.job.readiness == Readiness.BLOCKED
        queue.finish(claimed(queue, selector), DONE)
        assert claimed(queue, selector).job_id == fresh.job.job_id

    def test_a_new_one_is_below_the_first_job_in_place_of_its_repetition(self, queue: Queue) -> None:
        (first,) = queue.submit_many([Submission("plain", job_id=uuid4(), idempotency_key="above")])
        above = uuid4()
        asked = [
            Submission("plain", job_id=above, idempotency_key="above"),
            Submission("plain", parent_job_id=above, idempotency_key="below"),
        ]
        assert queue.submit_many(asked)[1].job.parent_job_id == first.job.job_id

    def test_nothing_is_written_when_one_of_the_keys_was_used_for_something_else(self, queue: Queue, store: Store) -> None:
        queue.submit(Submission("plain", {"a": 1}, idempotency_key="k"))
        with pytest.raises(KeyReused):
            queue.submit_many([Submission("plain", idempotency_key="new"), Submission("plain", {"a": 2}, idempotency_key="k")])
        assert len(everything(queue)) == 1

    def test_a_unique_key_that_a_waiting_job_has_does_not_keep_others_out(self, queue: Queue, store: Store) -> None:
        first = queue.submit(Submission("plain", unique_key="nightly"))
        again = queue.submit_many([Submission("plain", unique_key="nightly"), Submission("plain", unique_key="other")])
        assert [one.created for one in again] == [False, True]
        assert again[0].job.job_id == first.job.job_id
        assert len(everything(queue)) == 2

    def test_ids_that_are_there_are_answered_and_others_submitted(self, queue: Queue, store: Store) -> None:
        names = [uuid4() for _ in range(3)]
        queue.submit_many([Submission("plain", job_id=name) for name in names[:2]])
        again = queue.submit_many([Submission("plain", job_id=name) for name in names])
        assert [one.created for one in again] == [False, False, True]
        assert len(everything(queue)) == 3

    def test_a_repetition_with_very_many_dependencies_makes_no_other_gates(self, queue: Queue, store: Store) -> None:
        parts = [one.job.job_id for one in queue.submit_many([Submission("plain") for _ in range(95)])]
        join = Submission("plain", dependencies=parts, idempotency_key="join")
        first = queue.submit(join)
        number = len(everything(queue))
        queue.cancel(parts[3])
        assert queue.submit(join) == Submitted(queue.get(first.job.job_id), created=False)
        again = queue.submit_many([join, Submission("plain", idempotency_key="new")])
        assert [one.created for one in again] == [False, True]
        assert len([job for job in everything(queue) if not job.job_type.startswith("gateleg.settle")]) == number + 1

    def test_in_a_transaction_of_the_caller_an_id_that_is_there_is_not_written_again(self, queue: Queue) -> None:
        name = uuid4()
        first = queue.submit(Submission("plain", job_id=name))
        again = queue.enlist(Submission("plain", job_id=name))
        assert (again.created, again.writes, again.job.job_id) == (False, (), first.job.job_id)
        with pytest.raises(BadSubmission):
            queue.enlist(Submission("plain", {"a": 1}, job_id=name))


class TestUniqueness:
    def test_a_second_job_with_the_key_is_not_submitted_while_the_first_waits(self, queue: Queue, store: Store) -> None:
        first = queue.submit(Submission("plain", unique_key="k"))
        second = queue.submit(Submission("plain", {"other": 1}, unique_key="k"))
        assert not second.created
        assert second.job.job_id == first.job.job_id
        assert len(everything(queue)) == 1

    def test_the_key_is_free_once_the_first_is_claimed(self, queue: Queue, selector: CandidateSelector) -> None:
        first = queue.submit(Submission("plain", unique_key="k"))
        claimed(queue, selector)
        second = queue.submit(Submission("plain", unique_key="k"))
        assert second.created
        third = queue.submit(Submission("plain", unique_key="k"))
        assert third.job.job_id == second.job.job_id != first.job.job_id

    def test_both_kinds_of_keys_go_together(self, queue: Queue, selector: CandidateSelector) -> None:
        first = queue.submit(Submission("plain", unique_key="k", idempotency_key="k"))
        assert not queue.submit(Submission("plain", unique_key="k", idempotency_key="k")).created
        claimed(queue, selector)
        assert queue.submit(Submission("plain", unique_key="k", idempotency_key="k")).job.job_id == first.job.job_id
        assert queue.submit(Submission("plain", unique_key="k")).created


@pytest.mark.parametrize("key", ["idempotency_key", "unique_key"])
def test_jobs_of_one_call_cannot_have_the_same_key(queue: Queue, store: Store, key: str) -> None:
    options: dict[str, Any] = {key: "k"}
    with pytest.raises(BadSubmission, match="Two of the jobs have"):
        queue.submit_many([Submission("plain", **options) for _ in range(2)])
    assert store.count(queue.tables.job.in_status, status=JobStatus.PENDING) == 0
