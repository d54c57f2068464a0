"""Submitting: options, keys that were taken, parents, and jobs that wait for others, a few or many."""

from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import pytest

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.errors import (
    BadConfig,
    BadSubmission,
    ConfigTooLarge,
    DependencyCycle,
    DependencyMissing,
    JobError,
    KeyReused,
    ParentGone,
    TooManyDependencies,
    UnknownJobType,
)
from gateleg.jobs.queue import Queue
from gateleg.jobs.submission import Submission, Submitted
from gateleg.jobs.tables.job import Job, JobStatus, Readiness
from gateleg.jobs.testing import ManualClock, TestWorker
from gateleg.store import Store, StoreError, create
from tests.jobs.sample import DONE, Sizes, claimed, everything, failed, reaped, submitted


def test_a_submission_takes_its_defaults_from_the_handler(queue: Queue) -> None:
    job = queue.submit(Submission("PCA", Sizes(n_components=3), subject="19305", created_by="api")).job
    stored = queue.get(job.job_id)
    assert stored == job
    assert (stored.queue, stored.priority, stored.max_retries, stored.job_config) == ("math", 60, 2, {"n_components": 3})
    assert (stored.status, stored.readiness, stored.version) == (JobStatus.PENDING, Readiness.READY, 1)


@pytest.mark.parametrize(
    ("submission", "error"),
    [
        (Submission("nothing"), UnknownJobType),
        (Submission("PCA", {"n_components": 99}), BadConfig),
        (Submission("PCA", {"n_components": "many"}), BadConfig),
        (Submission("plain", {"x": object()}), BadConfig),
        (Submission("plain", {"x": [None, {"y": float("nan")}]}), BadConfig),
        (Submission("plain", {"x": float("inf")}), BadConfig),
        (Submission("plain", {"x": "y" * 400_000}), ConfigTooLarge),
        (Submission("plain", priority=101), BadSubmission),
        (Submission("plain", priority=-1), BadSubmission),
        (Submission("plain", queue="a#b"), BadSubmission),
        (Submission("plain", max_retries=-1), BadSubmission),
        (Submission("plain", delay=-1), BadSubmission),
        (Submission("plain", unique_key=""), BadSubmission),
        (Submission("plain", idempotency_key="k" * 501), BadSubmission),
        (Submission("plain", dependencies=[uuid4()]), DependencyMissing),
        (Submission("plain", dependencies=[uuid4() for _ in range(4501)]), TooManyDependencies),
        (Submission("plain", parent_job_id=uuid4()), ParentGone),
    ],
)
def test_a_bad_submission_is_refused_and_nothing_is_written(
    queue: Queue, store: Store, submission: Submission, error: type[JobError]
) -> None:
    with pytest.raises(error) as refused:
        queue.submit(submission)
    assert refused.value.fix
    with pytest.raises(error):
        queue.submit_many([Submission("plain"), submission])
    assert everything(queue) == []


def test_jobs_with_keys_that_one_transaction_cannot_hold_are_refused_with_advice_that_helps(queue: Queue) -> None:
    submissions = [Submission("plain", idempotency_key=f"k{number}") for number in range(51)]
    with pytest.raises(TooManyDependencies, match=r"The 51 jobs need 102 writes .* the maximum is 100\. Call `submit_many` several times"):
        queue.submit_many(submissions)
    assert everything(queue) == []
    queue.submit_many(submissions[:50])
    assert len(everything(queue)) == 50


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"config": [1, 2]}, r"is of type list; it must be a pydantic model or a dictionary"),
        ({"dependencies": ["abc"]}, r"dependencies='abc' is not a UUID"),
        ({"parent_job_id": "abc"}, r"parent_job_id='abc' is not a UUID"),
        ({"run_at": datetime(2030, 1, 1)}, r"has no time zone. Give an aware datetime"),
    ],
)
def test_an_option_of_a_wrong_type_is_refused_where_it_is_given(options: dict[str, Any], message: str) -> None:
    with pytest.raises((BadSubmission, BadConfig), match=message):
        Submission("plain", **options)


def test_a_dependency_is_given_by_its_id(queue: Queue) -> None:
    first = queue.submit(Submission("plain"))
    with pytest.raises(BadSubmission, match=r"dependencies is a Submitted; it must be the id of a job. Pass its .job.job_id"):
        Submission("plain", dependencies=[first])  # type: ignore[list-item]
    with pytest.raises(BadSubmission, match=r"Pass its .job_id"):
        Submission("plain", dependencies=[first.job])  # type: ignore[list-item]


def test_only_submissions_are_submitted(queue: Queue) -> None:
    message = r"takes a Submission, not a str.*Write submit\(Submission\('plain', config\)\)"
    with pytest.raises(BadSubmission, match=message):
        queue.submit("plain")  # type: ignore[arg-type]
    with pytest.raises(BadSubmission, match=message):
        queue.submit_many(["plain"])  # type: ignore[list-item]
    with pytest.raises(BadSubmission, match=message):
        queue.writes("plain")  # type: ignore[arg-type]


def test_a_bad_config_tells_which_field_is_wrong(queue: Queue) -> None:
    with pytest.raises(BadConfig, match="n_components: Input should be less than or equal to 10") as refused:
        queue.submit(Submission("PCA", {"n_components": 11}))
    assert refused.value.problems[0]["loc"] == ("n_components",)


def test_a_delayed_job_cannot_be_claimed_before_its_time(queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
    job = submitted(queue, delay=60)
    assert (job.readiness, job.run_at) == (Readiness.DELAYED, clock.now + timedelta(seconds=60))
    clock.advance(59)
    assert queue.promote("default") == 0
    assert queue.claim(selector, "default", "w1") is None
    clock.advance(1)
    assert queue.promote("default") == 1
    assert claimed(queue, selector).job_id == job.job_id


def test_many_plain_jobs_are_written_in_batches(queue: Queue, store: Store) -> None:
    answers = queue.submit_many([Submission("plain", {"n": number}) for number in range(120)])
    assert len(everything(queue)) == 120
    assert queue.get(answers[7].job.job_id) == answers[7].job


def test_jobs_of_one_call_are_started_in_their_order(queue: Queue, selector: CandidateSelector) -> None:
    answers = queue.submit_many([Submission("plain", priority=90 if number == 7 else 50) for number in range(20)])
    wanted = sorted(range(20), key=lambda number: (number != 7, number))
    assert [claimed(queue, selector).job_id for _ in range(20)] == [answers[number].job.job_id for number in wanted]


def test_a_job_is_part_of_the_callers_transaction(queue: Queue, store: Store) -> None:
    other = queue.tables.job(job_type="other")
    store.create(other)
    with pytest.raises(Exception, match="already"):
        store.transact([create(other), *queue.writes(Submission("plain"))])
    assert len(everything(queue)) == 1
    store.transact([create(queue.tables.job(job_type="third")), *queue.writes(Submission("plain"))])
    assert len(everything(queue)) == 3


@pytest.mark.parametrize("options", [{"unique_key": "k"}, {"idempotency_key": "k"}, {"depends_on": [uuid4()]}, {"parent": uuid4()}])
def test_what_must_be_read_first_cannot_be_part_of_it(queue: Queue, options: dict[str, Any]) -> None:
    with pytest.raises(BadSubmission):
        queue.writes(Submission("plain", **options))


class TestEnlisting:
    """Jobs with keys, parents and dependencies in a transaction of the caller."""

    def test_a_job_and_its_keys_are_written_with_the_rest_or_not_at_all(self, queue: Queue, store: Store) -> None:
        other = store.create(queue.tables.job(job_type="other"))
        submission = Submission("plain", idempotency_key="order #7", unique_key="u")
        with pytest.raises(Exception, match="already"):
            store.transact([create(other), *queue.enlist(submission).writes])
        enlisted = queue.enlist(submission)
        store.transact([create(queue.tables.job(job_type="third")), *enlisted.writes])
        assert queue.get(enlisted.job.job_id).idempotency_key == "order #7"
        again = queue.submit(submission)
        assert (again.created, again.job.job_id) == (False, enlisted.job.job_id)

    @pytest.mark.parametrize("key", ["idempotency_key", "unique_key"])
    def test_nothing_is_to_be_written_when_the_key_is_held(self, queue: Queue, key: str) -> None:
        options: dict[str, Any] = {key: "k"}
        first = queue.submit(Submission("plain", **options)).job
        enlisted = queue.enlist(Submission("plain", **options))
        assert (enlisted.created, enlisted.writes, enlisted.job.job_id) == (False, (), first.job_id)

    def test_a_key_whose_holder_has_started_is_taken_over(self, queue: Queue, store: Store, selector: CandidateSelector) -> None:
        queue.submit(Submission("plain", unique_key="u"))
        claimed(queue, selector)
        enlisted = queue.enlist(Submission("plain", unique_key="u"))
        store.transact(enlisted.writes)
        assert queue.enlist(Submission("plain", unique_key="u")).job.job_id == enlisted.job.job_id

    def test_a_key_that_was_taken_meanwhile_cancels_the_transaction(self, queue: Queue, store: Store) -> None:
        enlisted = queue.enlist(Submission("plain", unique_key="u"))
        queue.submit(Submission("plain", unique_key="u"))
        with pytest.raises(StoreError):
            store.transact([create(queue.tables.job(job_type="other")), *enlisted.writes])
        assert len(everything(queue)) == 1

    def test_dependencies_and_parents_are_noted(self, queue: Queue, store: Store) -> None:
        above, before = submitted(queue), submitted(queue)
        enlisted = queue.enlist(Submission("plain", parent_job_id=above.job_id, dependencies=[before.job_id]))
        store.transact(enlisted.writes)
        assert queue.get(before.job_id).dependent_jobs == [enlisted.job.job_id]
        assert queue.get(enlisted.job.job_id).readiness == Readiness.BLOCKED
        assert [branch.job_id for branch in queue.tree(above.job_id).children] == [enlisted.job.job_id]


def test_a_child_knows_its_parent_root_and_path(queue: Queue) -> None:
    root = submitted(queue, subject="s")
    child = submitted(queue, parent=root.job_id, stage="one")
    grandchild = submitted(queue, parent=child.job_id)
    assert (child.parent_job_id, child.root_job_id, child.job_stage, child.subject) == (root.job_id, root.job_id, "one", "s")
    assert (grandchild.parent_job_id, grandchild.root_job_id) == (child.job_id, root.job_id)
    assert grandchild.tree_path == f"{root.job_id}/{child.job_id}/{grandchild.job_id}"
    assert UUID(str(grandchild.root_job_id)) == root.job_id


@pytest.mark.parametrize(
    "options",
    [
        {"delay": float("nan")},
        {"delay": 1e300},
        {"start_within": float("inf")},
        {"run_at": datetime.max.replace(tzinfo=timezone(timedelta(hours=-12)))},
        {"run_at": datetime.min.replace(tzinfo=timezone(timedelta(hours=12)))},
    ],
)
def test_a_time_that_no_calendar_has_is_refused(queue: Queue, options: dict[str, Any]) -> None:
    with pytest.raises(BadSubmission):
        queue.submit(Submission("plain", **options))


def test_a_repeated_id_finds_its_job_whatever_its_numbers_are_read_as(queue: Queue) -> None:
    submission = Submission("plain", {"share": 2.0, "parts": [0.0, 1.5]}, job_id=uuid4())
    first = queue.submit(submission)
    again = queue.submit(submission)
    assert (first.created, again.created, again.job.job_id) == (True, False, first.job.job_id)
    with pytest.raises(BadSubmission, match="different job"):
        queue.submit(Submission("plain", {"share": 3.0}, job_id=first.job.job_id))


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


class TestFanIn:
    """A job that waits for more jobs than one transaction can note."""

    def joined(self, queue: Queue, number: int) -> tuple[list[Job], Job]:
        parts = [one.job for one in queue.submit_many([Submission("plain") for _ in range(number)])]
        return parts, queue.submit(Submission("plain", dependencies=[part.job_id for part in parts], stage="join")).job

    def test_it_runs_once_all_of_them_are_completed(self, queue: Queue, clock: ManualClock) -> None:
        parts, join = self.joined(queue, 120)
        order = [job.job_id for job in TestWorker(queue, clock).run() if not job.job_type.startswith("gateleg.")]
        assert set(order[:-1]) == {part.job_id for part in parts}
        assert order[-1] == join.job_id

    def test_it_follows_when_one_of_them_fails_and_when_that_one_is_tried_again(self, queue: Queue, clock: ManualClock) -> None:
        parts, join = self.joined(queue, 101)
        queue.cancel(parts[77].job_id)
        TestWorker(queue, clock).run()
        assert queue.get(join.job_id).status == JobStatus.CANCELLED
        queue.retry(parts[77].job_id)
        TestWorker(queue, clock).run()
        assert queue.get(join.job_id).status == JobStatus.COMPLETED

    def test_nothing_is_written_when_one_of_them_is_not_there(self, queue: Queue, store: Store) -> None:
        parts = [one.job.job_id for one in queue.submit_many([Submission("plain") for _ in range(95)])]
        with pytest.raises(DependencyMissing):
            queue.submit(Submission("plain", dependencies=[*parts, uuid4()]))
        assert len(everything(queue)) == 95

    def test_submitting_it_again_makes_no_other_gates(self, queue: Queue, store: Store) -> None:
        parts = [one.job.job_id for one in queue.submit_many([Submission("plain") for _ in range(95)])]
        submission = Submission("plain", dependencies=parts, job_id=uuid4())
        assert queue.submit(submission).created
        assert not queue.submit(submission).created
        assert len(everything(queue)) == 95 + 2 + 1

    def test_it_can_be_submitted_along_with_all_that_it_waits_for(self, queue: Queue, clock: ManualClock) -> None:
        parts = [Submission("plain", job_id=uuid4()) for _ in range(130)]
        join = Submission("plain", job_id=uuid4(), dependencies=[part.job_id for part in parts if part.job_id], stage="join")
        after = Submission("plain", job_id=uuid4(), dependencies=[join.job_id or uuid4()])
        asked = [after, join, *parts, Submission("plain")]
        done = queue.submit_many(asked)
        assert [one.job.job_id for one in done[:-1]] == [one.job_id for one in asked[:-1]]
        assert all(one.created for one in done)
        order = [job.job_id for job in TestWorker(queue, clock).run() if not job.job_type.startswith("gateleg.")]
        places = {job_id: place for place, job_id in enumerate(order)}
        assert max(places[part.job_id] for part in parts if part.job_id) < places[done[1].job.job_id] < places[done[0].job.job_id]
        assert len(order) == 133

    def test_it_can_be_submitted_along_with_others(self, queue: Queue, clock: ManualClock) -> None:
        parts = [one.job.job_id for one in queue.submit_many([Submission("plain") for _ in range(95)])]
        first, join = queue.submit_many([Submission("plain"), Submission("plain", dependencies=parts)])
        assert first.job.readiness == Readiness.READY
        assert queue.get(join.job.job_id).readiness == Readiness.BLOCKED
        TestWorker(queue, clock).run()
        assert queue.get(join.job.job_id).status == JobStatus.COMPLETED

    def test_nothing_of_a_batch_is_written_when_one_of_its_dependencies_is_not_there(self, queue: Queue, store: Store) -> None:
        parts = [one.job.job_id for one in queue.submit_many([Submission("plain") for _ in range(95)])]
        with pytest.raises(DependencyMissing):
            queue.submit_many([Submission("plain"), Submission("plain", dependencies=[*parts, uuid4()])])
        assert len(everything(queue)) == 95

    def test_a_cycle_through_very_many_is_refused(self, queue: Queue, store: Store) -> None:
        join = uuid4()
        parts = [Submission("plain", job_id=uuid4(), dependencies=[join]) for _ in range(95)]
        with pytest.raises(DependencyCycle):
            queue.submit_many([*parts, Submission("plain", job_id=join, dependencies=[part.job_id for part in parts if part.job_id])])
        assert everything(queue) == []


class TestDependencies:
    def test_a_job_waits_for_those_it_depends_on(self, queue: Queue, selector: CandidateSelector) -> None:
        first, second = submitted(queue, priority=90), submitted(queue, priority=80)
        last = submitted(queue, dependencies=[first.job_id, second.job_id])
        assert last.readiness is Readiness.BLOCKED
        queue.finish(claimed(queue, selector), DONE)
        assert queue.get(last.job_id).waiting_for == {str(second.job_id)}
        running = claimed(queue, selector)
        assert queue.claim(selector, "default", "w2") is None
        queue.finish(running, DONE)
        assert claimed(queue, selector).job_id == last.job_id

    def test_a_completed_dependency_is_not_waited_for(self, queue: Queue, selector: CandidateSelector) -> None:
        first = submitted(queue)
        queue.finish(claimed(queue, selector), DONE)
        assert submitted(queue, dependencies=[first.job_id]).readiness is Readiness.READY

    def test_a_failed_dependency_is_refused(self, queue: Queue, selector: CandidateSelector) -> None:
        first = submitted(queue)
        queue.finish(claimed(queue, selector), failed(final=True))
        with pytest.raises(DependencyMissing, match="is FAILED"):
            submitted(queue, dependencies=[first.job_id])

    def test_jobs_submitted_together_depend_on_each_other(self, queue: Queue, selector: CandidateSelector) -> None:
        pca, umap, report = uuid4(), uuid4(), uuid4()
        queue.submit_many(
            [
                Submission("plain", job_id=report, dependencies=[pca, umap], stage="report"),
                Submission("plain", job_id=pca, stage="pca"),
                Submission("plain", job_id=umap, dependencies=[pca], stage="umap"),
            ]
        )
        order = []
        while (job := queue.claim(selector, "default", "w")) is not None:
            order.append(job.job_stage)
            queue.finish(job, DONE)
        assert order == ["pca", "umap", "report"]

    def test_a_cycle_is_refused_and_nothing_is_written(self, queue: Queue, store: Store) -> None:
        one, two, three = uuid4(), uuid4(), uuid4()
        circle = [
            Submission("plain", job_id=one, dependencies=[two]),
            Submission("plain", job_id=two, dependencies=[three]),
            Submission("plain", job_id=three, dependencies=[one]),
            Submission("plain", dependencies=[one]),
        ]
        with pytest.raises(DependencyCycle, match=" -> "):
            queue.submit_many(circle)
        with pytest.raises(DependencyCycle):
            queue.submit(Submission("plain", job_id=one, dependencies=[one]))
        assert everything(queue) == []

    def test_a_dependent_that_is_added_while_its_dependency_runs_is_released_with_it(
        self, queue: Queue, selector: CandidateSelector
    ) -> None:
        first = submitted(queue)
        running = claimed(queue, selector)
        last = submitted(queue, dependencies=[first.job_id])
        queue.finish(running, DONE)
        assert queue.get(last.job_id).readiness is Readiness.READY

    def test_a_delayed_dependent_still_waits_for_its_time(self, queue: Queue, selector: CandidateSelector) -> None:
        first = submitted(queue)
        last = submitted(queue, dependencies=[first.job_id], delay=100)
        queue.finish(claimed(queue, selector), DONE)
        assert queue.get(last.job_id).readiness is Readiness.DELAYED
