"""Six tables of results by job: all access patterns of the document."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from gateleg.model import spec_of
from gateleg.store import Store
from tests.model.seeds.delphi import RESULTS, CommentEmbedding, CommentExtremity, Embedding, JobResult

TABLES = [spec_of(entity).table for entity, _, _ in RESULTS]
START = datetime(2025, 5, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _tables(store: Store) -> None:
    store.create_tables(*TABLES)


def result(entity: type[JobResult], sort: str, value: int | str, job: UUID, conversation: str = "c1", age: int = 0) -> JobResult:
    extra: dict[str, Any] = {"embedding": Embedding(vector=[0.5, -0.25], dimensions=2, model="m")} if entity is CommentEmbedding else {}
    return entity(**{"job_id": job, "conversation_id": conversation, "created_at": START - timedelta(hours=age), sort: value, **extra})


@pytest.mark.parametrize(("entity", "sort", "value"), RESULTS)
def test_result_is_found_by_job_and_sort_key(store: Store, entity: type[JobResult], sort: str, value: int | str) -> None:
    job = uuid4()
    stored = store.put(result(entity, sort, value, job))
    components: dict[str, Any] = {sort: value}
    assert store.get(entity, job_id=job, **components) == stored


@pytest.mark.parametrize(("entity", "sort", "value"), RESULTS)
def test_results_of_a_job_do_not_include_those_of_others(store: Store, entity: type[JobResult], sort: str, value: int | str) -> None:
    mine, other = uuid4(), uuid4()
    store.batch_write([result(entity, sort, value, mine), result(entity, sort, value, other)])
    assert [found.job_id for found in store.query(entity.of_job, job_id=mine)] == [mine]


@pytest.mark.parametrize(("entity", "sort", "value"), RESULTS)
def test_results_of_a_conversation_come_newest_first_over_all_jobs(
    store: Store, entity: type[JobResult], sort: str, value: int | str
) -> None:
    jobs = [uuid4() for _ in range(3)]
    store.batch_write([result(entity, sort, value, job, age=age) for age, job in enumerate(jobs)])
    store.put(result(entity, sort, value, uuid4(), conversation="c2"))
    assert [found.job_id for found in store.query(entity.of_conversation, conversation_id="c1")] == jobs


def test_results_of_a_job_can_be_filtered_by_conversation(store: Store) -> None:
    job = uuid4()
    store.batch_write(
        [
            CommentExtremity(job_id=job, conversation_id="c1", comment_id=1, extremity=0.5),
            CommentExtremity(job_id=job, conversation_id="c2", comment_id=2, extremity=0.5),
        ]
    )
    question = CommentExtremity.of_job(job_id=job).filter(CommentExtremity.conversation_id == "c2")
    assert [found.comment_id for found in store.query(question)] == [2]


def test_thousand_comments_are_written_in_batches_and_read_in_order(store: Store) -> None:
    job = uuid4()
    comments = [CommentExtremity(job_id=job, conversation_id="c", comment_id=number, extremity=number / 7) for number in range(1000)]
    assert store.batch_write(comments) == 1000
    assert [found.comment_id for found in store.query(CommentExtremity.of_job, job_id=job)] == list(range(1000))


def test_results_of_a_job_are_deleted_together(store: Store) -> None:
    mine, other = uuid4(), uuid4()
    for job in (mine, other):
        store.batch_write([CommentExtremity(job_id=job, conversation_id="c", comment_id=number) for number in range(60)])
    assert store.delete_all(CommentExtremity.of_job, job_id=mine) == 60
    assert store.count(CommentExtremity.of_job, job_id=mine) == 0
    assert store.count(CommentExtremity.of_job, job_id=other) == 60
