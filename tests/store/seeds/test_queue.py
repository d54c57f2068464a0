"""The job queue: four indexes of the document, the claim and its race."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from gateleg.model import ModelError
from gateleg.store import IllegalTransition, LostRace, Store
from tests.model.seeds.jobs import Job, JobStatus, queue

START = datetime(2025, 4, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _tables(store: Store) -> None:
    store.create_tables(queue)


def job(**values: object) -> Job:
    return Job(**{"job_type": "PCA", "conversation_id": "19305", **values})  # type: ignore[arg-type]


def claim(store: Store, pending: Job, worker: str) -> Job:
    now = store.setup.now()
    return store.patch(
        pending,
        Job.status.to(JobStatus.PROCESSING),
        Job.worker_id.set(worker),
        Job.started_at.set(now),
        Job.lease_until.set(now + timedelta(minutes=5)),
    )


def test_jobs_in_a_status_come_oldest_first(store: Store) -> None:
    made = [store.create(job(created_at=START - timedelta(hours=age))) for age in range(3)]
    assert [found.job_id for found in store.query(Job.in_status, status="PENDING")] == [each.job_id for each in made[::-1]]


def test_jobs_of_a_conversation_come_newest_first(store: Store) -> None:
    made = [store.create(job(created_at=START - timedelta(hours=age))) for age in range(3)]
    store.create(job(conversation_id="other"))
    assert [found.job_id for found in store.query(Job.of_conversation, conversation_id="19305")] == [each.job_id for each in made]


def test_jobs_of_a_type_come_highest_priority_first(store: Store) -> None:
    for priority in (10, 90, 50):
        store.create(job(priority=priority))
    store.create(job(job_type="UMAP", priority=99))
    assert [found.priority for found in store.query(Job.of_type, job_type="PCA")] == [90, 50, 10]


def test_jobs_of_a_worker_are_only_those_it_has(store: Store) -> None:
    store.create(job())
    mine = claim(store, store.create(job()), "w1")
    assert [found.job_id for found in store.query(Job.of_worker, worker_id="w1")] == [mine.job_id]
    assert list(store.query(Job.of_worker, worker_id="w1", status="COMPLETED")) == []


def test_ready_jobs_come_by_priority_then_age(store: Store) -> None:
    young = store.create(job(priority=50, created_at=START))
    old = store.create(job(priority=50, created_at=START - timedelta(days=1)))
    urgent = store.create(job(priority=90, created_at=START))
    assert [found.job_id for found in store.query(Job.ready, queue="default")] == [urgent.job_id, old.job_id, young.job_id]


def test_claimed_job_leaves_the_ready_index_and_enters_the_lease_index(store: Store) -> None:
    mine = claim(store, store.create(job()), "w1")
    assert list(store.query(Job.ready, queue="default")) == []
    assert [found.job_id for found in store.query(Job.leased, queue="default")] == [mine.job_id]
    done = store.patch(mine, Job.status.to(JobStatus.COMPLETED), Job.lease_until.set(None))
    assert list(store.query(Job.leased, queue="default")) == []
    assert done.version == 3


def test_second_claim_of_one_job_loses_and_sees_the_winner(store: Store) -> None:
    pending = store.create(job())
    winner = claim(store, pending, "w1")
    with pytest.raises(LostRace) as caught:
        claim(store, pending, "w2")
    assert caught.value.current == winner
    assert caught.value.current.worker_id == "w1"
    assert caught.value.failed == {"version", "status"}


def test_of_many_workers_exactly_one_gets_the_job(store: Store) -> None:
    pending = store.create(job())
    won: list[str] = []
    lost: list[str] = []
    ready = threading.Barrier(8)

    def work(name: str) -> None:
        ready.wait()
        try:
            claim(store, pending, name)
            won.append(name)
        except LostRace as race:
            lost.append(race.current.worker_id)

    threads = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert lost == won * 7
    assert store.get(pending).worker_id == won[0]


def test_finished_job_cannot_be_claimed_by_reference(store: Store) -> None:
    done = store.patch(claim(store, store.create(job()), "w1"), Job.status.to(JobStatus.COMPLETED))
    with pytest.raises(IllegalTransition, match="from COMPLETED to PENDING"):
        store.patch(done, Job.status.to(JobStatus.PENDING))


def test_claim_by_reference_without_values_for_the_indexes_is_refused_before_sending(store: Store) -> None:
    with pytest.raises(ModelError, match=r"LeaseIndex|ReadyIndex"):
        store.patch(store.create(job()).key, Job.status.to(JobStatus.PROCESSING))


def test_concurrent_priority_increments_all_count(store: Store) -> None:
    pending = store.create(job(priority=10))
    stale = pending
    for _ in range(3):
        store.retrying(stale, lambda found: [Job.priority.set(found.priority + 1)])
    assert store.get(pending).priority == 13
