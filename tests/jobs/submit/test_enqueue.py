from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import pytest

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.errors import (
    BadConfig,
    BadSubmission,
    ConfigTooLarge,
    DependencyMissing,
    JobError,
    ParentGone,
    TooManyDependencies,
    UnknownJobType,
)
from gateleg.jobs.queue import Queue
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import JobStatus, Readiness
from gateleg.jobs.testing import ManualClock
from gateleg.store import Store, StoreError, create
from tests.jobs.sample import Sizes, claimed, everything, submitted


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
