from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.jobs.claim import Candidate, CandidateSelector, LeaseTerm, claim_write, planned_claim
from gateleg.jobs.finish import completion, planned_completion
from gateleg.jobs.queue import Queue
from gateleg.jobs.queue_context import QueueContext
from gateleg.jobs.rules import Completed, Decision
from gateleg.jobs.tables.job import Attempt, Job, JobStatus, Results, TableNames
from gateleg.jobs.tables.records import moved_to, tables_named
from gateleg.jobs.testing import ManualClock
from gateleg.store import IllegalTransition, Store, create
from gateleg.store.operations import transact
from gateleg.store.setup import Setup
from tests.jobs.layouts import LAYOUTS
from tests.jobs.sample import claimed, make_jobs, submitted

TIMES = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)
RESULTS = st.builds(
    Results,
    result_type=st.just("SUCCESS"),
    value=VALUES,
    output_location=st.dictionaries(WORDS, st.lists(WORDS, max_size=2), max_size=2),
    summary_metrics=st.dictionaries(WORDS, st.integers(0, 10**6) | WORDS, max_size=2),
)
ATTEMPTS = st.builds(
    Attempt, number=st.integers(1, 99), worker_id=WORDS, started_at=TIMES, ended_at=TIMES, outcome=st.just("retried"), error=st.none()
)
JOBS = st.builds(
    Job,
    job_id=st.uuids(),
    status=st.just(JobStatus.PROCESSING),
    version=st.integers(1, 10**6),
    attempt=st.integers(1, 99),
    attempts=st.lists(ATTEMPTS, max_size=20),
    queue=st.sampled_from(["default", "math"]),
    priority=st.integers(0, 100),
    job_type=st.just("plain"),
    subject=st.none() | WORDS,
    worker_id=WORDS,
    started_at=TIMES,
    lease_until=TIMES,
    run_at=st.none() | TIMES,
    retry_count=st.integers(0, 3),
)


def request(operation: Any, setup: Setup) -> dict[str, Any]:
    sent: dict[str, Any] = next(operation.flow(setup)).payload
    write = operation.write(setup.now())
    assert sent == write.request(setup.name_of(write.table)) | (operation.options(write) or {})
    return sent


@pytest.mark.parametrize("names", LAYOUTS.values(), ids=LAYOUTS)
@given(st.uuids(), st.integers(0, 10**6), st.sampled_from(["default", "a.b:c"]), WORDS, WORDS, TIMES)
def test_a_prepared_claim_is_the_claim_that_the_model_plans(
    names: TableNames, job_id: UUID, version: int, queue: str, worker: str, token: str, now: datetime
) -> None:
    context = QueueContext(Setup(prefix="test-", clock=now.timestamp), make_jobs(), tables=tables_named(names))
    kind = context.tables.job
    candidate = Candidate(job_id, version, queue, 50)
    term = LeaseTerm.of(context, worker)
    written, planned = (make(kind, candidate, term, token) for make in (claim_write, planned_claim))
    assert request(written, context.setup) == request(planned, context.setup)


@pytest.mark.parametrize("names", LAYOUTS.values(), ids=LAYOUTS)
@given(JOBS, RESULTS, TIMES)
def test_a_prepared_completion_is_the_completion_that_the_model_plans(names: TableNames, job: Job, results: Results, now: datetime) -> None:
    setup = Setup(prefix="test-", clock=now.timestamp)
    context, now = QueueContext(setup, make_jobs(), tables=tables_named(names)), setup.now()
    job = moved_to(context.tables.job, job)
    decision = Decision(JobStatus.COMPLETED, "completed", results=results, retry_count=job.retry_count)
    assert request(completion(context, job, decision, now), setup) == request(planned_completion(context, job, decision, now), setup)


def test_a_job_that_is_known_whole_becomes_what_the_store_has(queue: Queue, selector: CandidateSelector) -> None:
    submitted(queue, config={"path": "a/b", "numbers": [1, 2]})
    job = claimed(queue, selector)
    results = Results(result_type="SUCCESS", value={"rows": 3}, summary_metrics={"seconds": 1.5})
    assert queue.finish(job, Completed(results), unchanged=True) == queue.get(job.job_id)


def test_a_refused_claim_says_why(queue: Queue, selector: CandidateSelector) -> None:
    job = submitted(queue)
    claimed(queue, selector)
    with pytest.raises(IllegalTransition) as refused:
        queue.store.run(claim_write(queue.tables.job, Candidate(job.job_id, 1, "default", 50), LeaseTerm.of(queue.context, "w"), "t"))
    assert isinstance(refused.value.current, Job)
    assert refused.value.current.status == JobStatus.PROCESSING


def test_a_claim_can_be_part_of_a_transaction(queue: Queue, store: Store, clock: ManualClock) -> None:
    job = submitted(queue)
    write = claim_write(queue.tables.job, Candidate(job.job_id, 1, "default", 50), LeaseTerm.of(queue.context, "w"), "t")
    results = store.run(transact([write, create(queue.tables.job(job_type="plain"))]))
    assert results is not None
    assert queue.get(job.job_id).worker_id == "w"
