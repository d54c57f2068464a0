"""Jobs of other programs in the table of a queue: they run, they end, and they exclude each other with Gateleg's own."""

import logging
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest

from gateleg.jobs.claim import Candidate, CandidateSelector
from gateleg.jobs.errors import JobMissing, JobUnreadable
from gateleg.jobs.foreign_jobs import Sweep
from gateleg.jobs.leases import LeaseObserver
from gateleg.jobs.queue import Queue
from gateleg.jobs.queue_context import UnreadableJob
from gateleg.jobs.rules import Lost
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Failure, Job, JobStatus, Readiness
from gateleg.jobs.tables.records import ArchivedJob
from gateleg.jobs.testing import ManualClock, TestWorker
from gateleg.model import spec_of
from gateleg.store import Store
from tests.jobs.foreign.seed_items import NO_UUID, PCA, boto3_table, pca_item, pipeline_item, seed_claim, seed_completion, wire_item
from tests.jobs.sample import DONE, claimed, everything, failed, reaped, submitted, swept

JOB = UUID(PCA)


@pytest.fixture
def table(queue: Queue) -> Any:
    return boto3_table(queue)


def stored(table: Any, job_id: str = PCA) -> dict[str, Any]:
    item: dict[str, Any] = table.get_item(Key={"job_id": job_id})["Item"]
    return item


def naive(clock: ManualClock) -> str:
    """The time as `datetime.now().isoformat()` gives it on a machine in UTC."""
    return clock.now.replace(tzinfo=None).isoformat()


def test_the_item_of_the_seed_runs(queue: Queue, table: Any, clock: ManualClock) -> None:
    table.put_item(Item=pca_item(job_config={"n_components": 3}))
    (ended,) = TestWorker(queue, clock).run()
    assert (ended.job_id, ended.status, ended.queue, ended.attempt) == (JOB, "COMPLETED", "math", 1)
    assert (ended.max_retries, ended.timeout_seconds, ended.created_by, ended.owner) == (3, 3600, "server-api", "#server-api")
    item = stored(table)
    assert (item["conversation_id"], item["version"], item["job_config"]) == ("19305", Decimal(3), {"n_components": 3})


def test_adoption_adds_what_a_submission_would_have_and_keeps_what_was_written(queue: Queue, table: Any) -> None:
    config = '{"n_components": 2}'
    table.put_item(Item=pca_item(version=7, job_config=config, mark="kept", max_retries=None))
    (adopted,) = queue.adopt_jobs()
    item = stored(table)
    assert (item["version"], item["queue"], item["readiness"], item["ready_queue"]) == (8, "math", "ready", "math")
    assert (item["max_retries"], item["job_config"], item["mark"], item["logs"]) == (2, config, "kept", pca_item()["logs"])
    assert not {"started_at", "completed_at", "worker_id"} & item.keys()
    assert (adopted, adopted.job_config) == (queue.get(JOB), {"n_components": 2})
    assert queue.adopt_jobs() == []
    assert stored(table) == item


def test_what_gateleg_writes_is_never_adopted(queue: Queue, clock: ManualClock, selector: CandidateSelector) -> None:
    first = submitted(queue, subject="s", created_by="nina", tags=["a"])
    blocked = submitted(queue, depends_on=[first.job_id])
    submitted(queue, delay=60)
    running = claimed(queue, selector)
    before = {job.job_id: job for job in everything(queue)}
    assert queue.adopt_jobs() == []
    assert {job.job_id: job for job in everything(queue)} == before
    queue.finish(running, failed())
    queue.cancel(submitted(queue).job_id)
    before = {job.job_id: job for job in everything(queue)}
    assert queue.adopt_jobs() == []
    assert {job.job_id: job for job in everything(queue)} == before
    assert blocked.job_id in before


def test_a_job_of_an_unknown_type_waits_for_a_worker_that_knows_it(queue: Queue, table: Any, clock: ManualClock) -> None:
    table.put_item(Item=pca_item(job_type="UMAP", max_retries=0))
    sweep = Sweep()
    assert queue.adopt_jobs(sweep) == []
    clock.advance(9)
    assert queue.adopt_jobs(sweep) == []
    clock.advance(2)
    (adopted,) = queue.adopt_jobs(sweep)
    assert adopted.queue == "default"
    assert TestWorker(queue, clock).run() == []
    assert queue.get(adopted.job_id).status == "PENDING"


def test_a_config_that_does_not_fit_fails_the_job_with_the_reason(queue: Queue, table: Any, clock: ManualClock) -> None:
    table.put_item(Item=pca_item(max_retries=0, job_config={"n_components": "many"}))
    (ended,) = TestWorker(queue, clock).run()
    assert ended.status == "FAILED"
    assert ended.attempts[0].error is not None
    assert "n_components" in ended.attempts[0].error.message


def test_a_job_of_another_program_waits_for_its_dependencies(queue: Queue, table: Any, clock: ManualClock) -> None:
    first, second = str(uuid4()), str(uuid4())
    table.put_item(Item=pca_item(job_id=second, created_at="2025-04-23T19:14:00Z", dependencies=[first], job_config={}))
    queue.adopt_jobs()
    assert queue.get(UUID(second)).readiness is Readiness.BLOCKED
    table.put_item(Item=pca_item(job_id=first, job_config={}))
    ended = TestWorker(queue, clock).run()
    assert [(str(job.job_id), job.status) for job in ended] == [(first, "COMPLETED"), (second, "COMPLETED")]


def test_a_dependency_that_another_program_completes_releases_its_dependents(queue: Queue, table: Any, clock: ManualClock) -> None:
    table.put_item(Item=pca_item(version=1))
    queue.adopt_jobs()
    waiting = submitted(queue, depends_on=[JOB])
    version = int(stored(table)["version"])
    assert seed_claim(table, PCA, "worker-1", version, naive(clock))
    assert seed_completion(table, PCA, version + 1, naive(clock))
    queue.adopt_jobs()
    assert queue.get(waiting.job_id).readiness is Readiness.READY


def test_a_dependency_that_another_program_fails_cancels_its_dependents(queue: Queue, table: Any) -> None:
    table.put_item(Item=pca_item(status="FAILED"))
    other = str(uuid4())
    table.put_item(Item=pca_item(job_id=other, dependencies=[PCA]))
    queue.adopt_jobs()
    cancelled = queue.get(UUID(other))
    assert (cancelled.status, cancelled.cancelled_by) == ("CANCELLED", JOB)


# --- claims ---


def test_a_job_that_the_seed_has_claimed_is_shown_and_not_claimed_again(
    queue: Queue, table: Any, clock: ManualClock, selector: CandidateSelector
) -> None:
    table.put_item(Item=pca_item())
    queue.adopt_jobs()
    assert seed_claim(table, PCA, "worker-1", 1, naive(clock))
    job = queue.get(JOB)
    assert (job.status, job.worker_id, job.started_at, job.version) == ("PROCESSING", "worker-1", clock.now, 2)
    assert queue.claim(selector, "math", "w1") is None
    queue.adopt_jobs()
    # The claim of the seed leaves the keys of the index of claimable jobs behind; the version is the seed's.
    assert not {"ready_queue", "ready_order"} & stored(table).keys()
    assert stored(table)["version"] == 2
    assert seed_completion(table, PCA, 2, naive(clock))
    done = queue.get(JOB)
    assert (done.status, done.job_results and done.job_results.result_type) == ("COMPLETED", "SUCCESS")
    assert done.job_results is not None
    assert done.job_results.output_location["s3_artifacts"] == ["s3://polis-analysis/19305/visualization.html"]


def test_a_claim_of_the_seed_in_the_way_of_others_hides_none(
    queue: Queue, table: Any, clock: ManualClock, selector: CandidateSelector
) -> None:
    for number in range(60):
        table.put_item(Item=pca_item(job_id=str(uuid4()), priority=90, version=1, conversation_id=str(number)))
    queue.adopt_jobs()
    for job in everything(queue):
        assert seed_claim(table, str(job.job_id), "worker-1", job.version, naive(clock))
    behind = queue.submit(Submission("PCA", {}, priority=1)).job
    assert claimed(queue, selector, name="math").job_id == behind.job_id


def test_the_claim_of_the_seed_and_of_gateleg_exclude_each_other(
    queue: Queue, table: Any, clock: ManualClock, selector: CandidateSelector
) -> None:
    table.put_item(Item=pca_item())
    queue.adopt_jobs()
    version = queue.get(JOB).version
    ours = claimed(queue, selector, name="math")
    assert seed_claim(table, PCA, "worker-1", version, naive(clock)) is None
    assert seed_claim(table, PCA, "worker-1", ours.version, naive(clock)) is None
    assert not seed_completion(table, PCA, version, naive(clock))
    assert queue.finish(ours, DONE).status == "COMPLETED"


class Interrupted(CandidateSelector):
    """A selector whose worker is interrupted between reading the candidates and claiming one."""

    def take_candidates(self, queue: str, number: int) -> list[Candidate]:
        chosen = super().take_candidates(queue, number)
        for candidate in chosen:
            assert seed_claim(self.table, str(candidate.job_id), "worker-1", candidate.version)
        return chosen

    table: Any = None


def test_gateleg_cannot_claim_what_the_seed_claims_between_its_read_and_its_claim(queue: Queue, table: Any, clock: ManualClock) -> None:
    table.put_item(Item=pca_item())
    queue.adopt_jobs()
    selector = Interrupted(clock, fresh_for=-1.0)
    selector.table = table
    assert queue.claim(selector, "math", "w1") is None
    assert selector.lost_claims == 1
    assert (queue.get(JOB).status, queue.get(JOB).worker_id) == ("PROCESSING", "worker-1")


def test_a_program_that_completes_our_job_against_the_rules_takes_it_from_its_worker(
    queue: Queue, table: Any, clock: ManualClock, selector: CandidateSelector
) -> None:
    table.put_item(Item=pca_item())
    queue.adopt_jobs()
    ours = claimed(queue, selector, name="math")
    table.update_item(
        Key={"job_id": PCA},
        UpdateExpression="SET #status = :done",
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues={":done": "COMPLETED"},
    )
    # The condition on the token and the version cannot refuse a write that has no condition; the worker's result is not written.
    assert queue.finish(ours, DONE).job_results is None
    queue.reap("math", LeaseObserver[UUID]())
    assert "lease_queue" not in stored(table)


# --- operators ---


def test_a_job_that_the_seed_runs_is_cancelled_at_once(queue: Queue, table: Any, clock: ManualClock) -> None:
    table.put_item(Item=pca_item(version=1))
    assert seed_claim(table, PCA, "worker-1", 1, naive(clock))
    cancelled = queue.cancel(JOB, reason="enough")
    assert (cancelled.status, cancelled.cancel_reason) == ("CANCELLED", "enough")
    assert not seed_completion(table, PCA, 2, naive(clock))
    assert queue.get(JOB).status == "CANCELLED"


def test_cancelled_and_retried_the_item_of_the_seed_runs_and_stops_nobody(queue: Queue, table: Any, clock: ManualClock) -> None:
    table.put_item(Item=pca_item(version=1, job_config={}))
    assert queue.cancel(JOB).status == "CANCELLED"
    assert queue.retry(JOB).status == "PENDING"
    other = queue.submit(Submission("PCA", {})).job
    ended = TestWorker(queue, clock).run()
    assert {(job.job_id, str(job.status)) for job in ended} == {(JOB, "COMPLETED"), (other.job_id, "COMPLETED")}


def test_a_failed_item_of_another_program_is_retried(queue: Queue, table: Any, clock: ManualClock) -> None:
    table.put_item(Item=pca_item(status="FAILED", completed_at="2025-04-23T20:00:00", worker_id="w", started_at="", job_config={}))
    assert [job.job_id for job in queue.retry_failed()] == [JOB]
    assert [job.status for job in TestWorker(queue, clock).run()] == ["COMPLETED"]


def test_a_program_may_make_a_finished_job_pending_again(queue: Queue, table: Any, clock: ManualClock, selector: CandidateSelector) -> None:
    job = queue.submit(Submission("PCA", {})).job
    assert [ended.status for ended in TestWorker(queue, clock).run()] == ["COMPLETED"]
    table.update_item(
        Key={"job_id": str(job.job_id)},
        UpdateExpression="SET #status = :pending, version = version + :one",
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues={":pending": "PENDING", ":one": 1},
    )
    (again,) = queue.adopt_jobs()
    assert (again.completed_at, again.job_results) == (None, None)
    assert [(ended.status, ended.attempt) for ended in TestWorker(queue, clock).run()] == [("COMPLETED", 2)]


def test_a_worker_of_another_program_has_the_timeout_of_the_job(queue: Queue, table: Any, clock: ManualClock) -> None:
    table.put_item(Item=pca_item(version=1, timeout_seconds=100, max_retries=1))
    assert seed_claim(table, PCA, "worker-1", 1, naive(clock))
    clock.advance(99)
    assert queue.adopt_jobs() == []
    clock.advance(2)
    (lost,) = queue.adopt_jobs()
    assert (lost.status, lost.retry_count) == ("PENDING", 1)
    assert lost.attempts[0].error is not None
    assert "worker-1" in lost.attempts[0].error.message
    assert not seed_completion(table, PCA, 2, naive(clock))
    assert [job.status for job in TestWorker(queue, clock).run()] == ["COMPLETED"]


def test_a_worker_whose_clock_is_ahead_has_the_timeout_from_now_on(queue: Queue, table: Any, clock: ManualClock) -> None:
    ahead = (clock.now + timedelta(days=3000)).replace(tzinfo=None).isoformat()
    table.put_item(Item=pca_item(version=1, timeout_seconds=100, max_retries=0))
    assert seed_claim(table, PCA, "worker-1", 1, ahead)
    sweep = Sweep()
    assert queue.adopt_jobs(sweep) == []
    clock.advance(101)
    assert [job.status for job in queue.adopt_jobs(sweep)] == ["FAILED"]


def test_a_finished_job_of_another_program_is_archived(queue: Queue, table: Any, clock: ManualClock) -> None:
    for number, ended in enumerate(("2025-04-23T20:00:00", "", None)):
        table.put_item(Item=pca_item(job_id=str(UUID(int=number)), status="COMPLETED", completed_at=ended, version=str(number)))
    # The first sweep brings those into the form of the model that the archive would refuse.
    assert swept(queue) + swept(queue) == 3
    assert everything(queue) == []
    assert {job.completed_at for job in queue.archive_page(job_type="PCA")} == {
        datetime(2025, 4, 23, 20, tzinfo=UTC),
        datetime(2025, 4, 23, 19, 15, tzinfo=UTC),
    }


# --- bad items ---


def bad_item(**changes: Any) -> dict[str, Any]:
    return pca_item(**{"job_id": str(uuid4()), "created_at": "yesterday"} | changes)


def test_a_bad_item_is_named_once_and_hides_no_other(
    queue: Queue, table: Any, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    bad = bad_item(ready_queue="math", ready_order="000")
    table.put_item(Item=bad)
    good = queue.submit(Submission("PCA", {})).job
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            page = queue.jobs_page()
            queue.adopt_jobs()
            queue.stats("math")
            queue.record_history("math")
    assert [job.job_id for job in page] == [good.job_id]
    assert len(page.unreadable) == 1
    assert [record.getMessage().count(bad["job_id"]) for record in caplog.records] == [1]
    assert [ended.job_id for ended in TestWorker(queue, clock).run()] == [good.job_id]
    (named,) = queue.set_aside()
    assert (named.job_id, named.problems[0].split(":")[0]) == (bad["job_id"], "created_at")


def test_operators_learn_what_is_wrong_with_an_item(queue: Queue, table: Any) -> None:
    bad = bad_item(status="CANCELLED")
    table.put_item(Item=bad)
    job_id = UUID(bad["job_id"])
    for act in (queue.get, queue.get_or_archived, queue.cancel, queue.retry, queue.tree, queue.cancel_tree, queue.log):
        with pytest.raises(JobUnreadable, match="created_at"):
            act(job_id)
    with pytest.raises(JobUnreadable, match="created_at"):
        queue.set_priority(job_id, 3)
    assert queue.retry_failed() == []


#: Numbers that the key of the claim order has no place for.
NO_PRIORITIES = (-1, 101, 5000, 10**30)


@pytest.mark.parametrize("priority", NO_PRIORITIES)
@pytest.mark.parametrize("status", JobStatus)
def test_a_priority_out_of_range_is_named_at_every_door(queue: Queue, table: Any, status: JobStatus, priority: int) -> None:
    doors = (queue.get, queue.get_or_archived, queue.tree, queue.log, queue.cancel, queue.retry, queue.cancel_tree)
    table.put_item(Item=pca_item(status=status, priority=priority, version=1, worker_id="w", completed_at="2025-04-23T20:00:00Z"))
    for door in doors:
        with pytest.raises(JobUnreadable, match="priority: must be 0 to 100"):
            door(JOB)
    with pytest.raises(JobUnreadable, match="Correct these attributes"):
        queue.set_priority(JOB, 7)
    assert queue.adopt_jobs() == []
    assert [bad.problems for bad in queue.set_aside()] == [("priority: must be 0 to 100",)]
    assert [UnreadableJob.of(bad).job_id for bad in queue.jobs_page(status=status).unreadable] == [PCA]
    table.update_item(Key={"job_id": PCA}, UpdateExpression="SET priority = :p", ExpressionAttributeValues={":p": 100})
    assert queue.get(JOB).priority == 100
    assert queue.set_aside() == []


def test_a_priority_that_another_program_changes_out_of_range_is_not_claimed(queue: Queue, table: Any, clock: ManualClock) -> None:
    jobs = [submitted(queue), submitted(queue, delay=60), submitted(queue)]
    for job in jobs[:2]:
        key = {"job_id": str(job.job_id)}
        table.update_item(Key=key, UpdateExpression="SET priority = :p", ExpressionAttributeValues={":p": 5000})
    clock.advance(seconds=61)
    assert queue.promote("default") == 0
    assert [ended.job_id for ended in TestWorker(queue, clock).run()] == [jobs[2].job_id]
    assert {bad.job_id for bad in queue.set_aside()} == {str(job.job_id) for job in jobs[:2]}
    assert stored(table, str(jobs[0].job_id))["status"] == "PENDING"


@pytest.mark.parametrize("status", JobStatus)
def test_a_concurrency_key_that_the_ledger_cannot_hold_is_named_at_every_door(queue: Queue, table: Any, status: JobStatus) -> None:
    longest = "ü" * 340 + "xx"
    too_long = longest + "x"
    item = pca_item(status=status, version=1, worker_id="w", completed_at="2025-04-23T20:00:00Z")
    table.put_item(Item=item | {"concurrency_key": too_long})
    for door in (queue.get, queue.get_or_archived, queue.tree, queue.log, queue.cancel, queue.retry, queue.cancel_tree):
        with pytest.raises(JobUnreadable, match="concurrency_key: must have at most 2042 bytes"):
            door(JOB)
    assert queue.adopt_jobs() == []
    assert [bad.job_id for bad in queue.set_aside()] == [PCA]
    table.put_item(Item=item | {"concurrency_key": longest})
    assert queue.get(JOB).concurrency_key == longest
    if status is JobStatus.PROCESSING:
        assert queue.cancel(JOB).status is JobStatus.CANCELLED


def test_a_job_whose_concurrency_key_another_program_makes_too_long_is_not_claimed(queue: Queue, table: Any, clock: ManualClock) -> None:
    broken, good = submitted(queue), submitted(queue)
    key = {"job_id": str(broken.job_id)}
    table.update_item(Key=key, UpdateExpression="SET concurrency_key = :k", ExpressionAttributeValues={":k": "x" * 3000})
    assert [ended.job_id for ended in TestWorker(queue, clock).run()] == [good.job_id]
    assert [bad.job_id for bad in queue.set_aside()] == [str(broken.job_id)]


def test_an_archived_job_that_no_queue_can_hold_is_not_brought_back(queue: Queue, clock: ManualClock) -> None:
    job = queue.cancel(submitted(queue).job_id)
    clock.advance(seconds=31 * 86400)
    assert swept(queue) == 1
    archived = queue.get_or_archived(job.job_id)
    assert isinstance(archived, ArchivedJob)
    # As an earlier release has archived it.
    queue.store.put(archived.model_copy(update={"priority": 5000}))
    with pytest.raises(JobUnreadable, match=r"in the archive is not a valid job: priority: .*100"):
        queue.retry(job.job_id)


@pytest.mark.parametrize("version", [None, "7", " 7 "])
def test_a_job_that_another_program_runs_is_ended_whatever_the_form_of_its_version(
    queue: Queue, table: Any, clock: ManualClock, version: str | None
) -> None:
    running = pca_item(status="PROCESSING", worker_id="w", started_at=naive(clock), updated_at=naive(clock), version=version)
    table.put_item(Item=running)
    queue.adopt_jobs()
    assert stored(table)["version"] == version
    clock.advance(seconds=3601)
    (ended,) = queue.adopt_jobs()
    assert (ended.status, ended.attempts[-1].error.kind) == ("PENDING", "timed-out")  # type: ignore[union-attr]
    table.put_item(Item=running)
    assert queue.cancel(JOB).status == "CANCELLED"


def test_an_expired_job_is_missing_at_every_door(queue: Queue, table: Any) -> None:
    table.put_item(Item=pca_item(status="COMPLETED", version=1, expires_at=1))
    for door in (queue.get, queue.cancel, queue.retry):
        with pytest.raises(JobMissing):
            door(JOB)
    with pytest.raises(JobMissing):
        queue.set_priority(JOB, 7)


def test_the_pipeline_of_the_seed_is_set_aside_with_what_to_do_because_its_id_is_no_uuid(
    queue: Queue, table: Any, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    table.put_item(Item=pipeline_item(job_id=NO_UUID))
    table.put_item(Item=pca_item(job_config={"n_components": 3}))
    (ended,) = TestWorker(queue, clock).run()
    assert str(ended.job_id) == PCA
    assert stored(table, NO_UUID)["status"] == "PENDING"
    (bad,) = queue.set_aside()
    again = queue.find_set_aside(NO_UUID)
    assert again == bad
    assert bad.reason.startswith(f"job_id: '{NO_UUID}' is not a UUID. Put the job again with one, such as ")
    assert NO_UUID in caplog.text
    # What it proposes is done.
    proposed = bad.reason.removesuffix(", and delete this item").rpartition(" ")[2]
    table.put_item(Item=pca_item(job_id=proposed, job_config={"n_components": 3}))
    table.delete_item(Key={"job_id": NO_UUID})
    (ended,) = TestWorker(queue, clock).run()
    assert (str(ended.job_id), queue.set_aside(), queue.find_set_aside(NO_UUID)) == (proposed, [], None)


def test_an_item_that_cannot_be_updated_is_named_once_and_refused_with_the_reason(queue: Queue, caplog: pytest.LogCaptureFixture) -> None:
    # One more would have 39 digits.
    item = wire_item(pca_item()) | {"version": {"N": "1E38"}}
    queue.store.transport.call("PutItem", {"TableName": queue.context.queue_table_name, "Item": item})
    for act in (queue.cancel, lambda job_id: queue.set_priority(job_id, 3)):
        with pytest.raises(JobUnreadable, match="it cannot be updated"):
            act(JOB)
    assert queue.adopt_jobs() == []
    assert caplog.text.count("set aside the item") == 1


def test_other_processes_learn_of_bad_items_from_the_ledger_until_they_are_repaired(queue: Queue, store: Store, table: Any) -> None:
    bad = bad_item(job_id="not a UUID # at all")
    table.put_item(Item=bad)
    queue.adopt_jobs()
    queue.record_set_aside()
    host = Queue(store, queue.context.jobs, tables=queue.tables.names)
    (named,) = host.set_aside()
    assert named.job_id == "not a UUID # at all"
    table.delete_item(Key={"job_id": bad["job_id"]})
    assert host.set_aside() == []
    assert queue.set_aside(clean=True) == []
    assert list(store.query(queue.tables.set_aside_record.every())) == []


def test_a_repaired_item_runs(queue: Queue, table: Any, clock: ManualClock) -> None:
    bad = bad_item(job_config={})
    table.put_item(Item=bad)
    assert TestWorker(queue, clock).run() == []
    table.update_item(
        Key={"job_id": bad["job_id"]}, UpdateExpression="SET created_at = :now", ExpressionAttributeValues={":now": "2025-04-23T19:15:00Z"}
    )
    assert [str(job.job_id) for job in TestWorker(queue, clock).run()] == [bad["job_id"]]
    assert queue.set_aside() == []


def test_the_survey_finds_items_that_no_list_shows(queue: Queue, table: Any) -> None:
    odd = bad_item(created_at="2025-04-23T19:15:00Z", status="queued")
    table.put_item(Item=odd)
    without = bad_item(created_at="2025-04-23T19:15:00Z")
    del without["created_at"], without["updated_at"]
    table.put_item(Item=without)
    for _ in range(30):
        submitted(queue)
    sweep, pages = Sweep(), 1
    while not queue.survey(sweep, examine=5):
        pages += 1
    assert pages > 5
    assert {bad.job_id for bad in queue.set_aside()} == {odd["job_id"], without["job_id"]}


def test_a_ready_job_that_another_program_breaks_stops_nobody(
    queue: Queue, table: Any, clock: ManualClock, selector: CandidateSelector
) -> None:
    broken = [queue.submit(Submission("PCA", {}, priority=90)).job for _ in range(3)]
    changes: list[tuple[str, Any]] = [("job_config", "no JSON"), ("attempt", "many"), ("start_by", "2025-04-23T19:15:00")]
    for job, (name, value) in zip(broken, changes, strict=True):
        table.update_item(
            Key={"job_id": str(job.job_id)},
            UpdateExpression="SET #name = :value",
            ExpressionAttributeNames={"#name": name},
            ExpressionAttributeValues={":value": value},
        )
    good = queue.submit(Submission("PCA", {}, priority=10)).job
    taken = [queue.claim(selector, "math", "w1") for _ in range(3)]
    assert [job.job_id for job in taken if job is not None] == [good.job_id]
    assert {bad.job_id for bad in queue.set_aside()} == {str(broken[0].job_id), str(broken[1].job_id)}
    assert queue.get(broken[2].job_id).status == "FAILED"


def test_a_changed_priority_does_not_keep_the_statistics_busy_for_ever(queue: Queue, table: Any) -> None:
    job = submitted(queue, priority=50)
    table.update_item(Key={"job_id": str(job.job_id)}, UpdateExpression="SET priority = :more", ExpressionAttributeValues={":more": 90})
    assert queue.stats("default").waiting == 1


def test_a_long_queue_is_read_a_page_at_a_time_and_its_oldest_and_newest_jobs_each_time(store: Store, queue: Queue, table: Any) -> None:
    for _ in range(120):
        submitted(queue)
    sweep = Sweep()

    def step() -> list[Job]:
        return queue.adopt_jobs(sweep, examine=20)

    assert step() == []
    table.put_item(Item=pca_item(created_at="2025-01-01T00:00:00Z"))
    assert [job.job_id for job in step()] == [JOB]
    newest = str(uuid4())
    table.put_item(Item=pca_item(job_id=newest, created_at="2300-01-01T00:00:00Z"))
    assert [str(job.job_id) for job in step()] == [newest]
    middle = everything(queue)[60]
    table.put_item(Item=pca_item(job_id=str(uuid4()), created_at=middle.created_at.isoformat()))
    steps = 0
    while not step():
        steps += 1
        assert steps < 10


def test_jobs_of_an_older_release_are_left_alone(queue: Queue) -> None:
    """A release before this one did not write every attribute of today; its jobs are in the indexes nevertheless."""
    job = submitted(queue)
    kind = spec_of(queue.tables.job)
    item = kind.encode(job)
    for name in ("attempts", "tags", "concurrency_limit"):
        del item[name]
    queue.store.transport.call("PutItem", {"TableName": queue.store.setup.name_of(kind.table), "Item": item})
    assert queue.adopt_jobs() == []
    assert queue.get(job.job_id).status == JobStatus.PENDING


def test_a_lost_worker_is_not_mistaken_for_another_program(queue: Queue, clock: ManualClock, selector: CandidateSelector) -> None:
    submitted(queue)
    job = claimed(queue, selector)
    clock.advance(days=2)
    assert queue.adopt_jobs() == []
    assert queue.finish(job, Lost(Failure(kind="lease-expired", message="gone"))).losses == 1


def test_a_program_that_writes_a_lease_of_its_own_is_recovered_like_a_lost_worker(queue: Queue, table: Any, clock: ManualClock) -> None:
    lease = {"lease_queue": "math", "lease_until": "2099-12-31T23:59:59.000000Z"}
    table.put_item(Item=pca_item(status="PROCESSING", started_at="2025-04-23T19:16:00", version=2, queue="math", **lease))
    assert queue.adopt_jobs() == []
    (recovered,) = reaped(queue, clock, "math")
    assert (recovered.status, recovered.losses) == ("PENDING", 1)


def test_the_oldest_and_the_newest_are_read_once_where_they_are_all(queue: Queue, table: Any) -> None:
    requests: list[str] = []
    call = queue.store.transport.call

    def counted(operation: str, *arguments: Any, **options: Any) -> Any:
        requests.append(operation)
        return call(operation, *arguments, **options)

    for _ in range(20):
        submitted(queue)
    queue.store.transport.call = counted  # type: ignore[method-assign]
    queue.adopt_jobs(Sweep())
    assert requests == ["Query", "Query"] * len(queue.members)
