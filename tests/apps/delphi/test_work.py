import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise
from gateleg.apps.delphi.runs.run_tables import Run
from gateleg.apps.delphi.service import ensure_tables, latest_run, upload_conversation
from gateleg.apps.delphi.work import delphi_jobs
from gateleg.jobs import AsyncQueue, BadConfig, Job, JobStatus, QueueSettings, Submission, Worker, follow_async, tasks
from gateleg.objects import DirectoryObjects, ThreadedObjects
from gateleg.store import AsyncStore


@pytest.fixture
async def store() -> AsyncIterator[AsyncStore]:
    async with AsyncStore.embedded() as store:
        await ensure_tables(store)
        await upload_conversation(store, synthesise(SyntheticPlan(participants=60, comments=20)).conversation)
        yield store


@pytest.fixture
async def queue(store: AsyncStore, tmp_path: Path) -> AsyncQueue:
    objects = ThreadedObjects(DirectoryObjects(tmp_path, durability="relaxed"))
    queue = AsyncQueue(store, delphi_jobs(store, objects), QueueSettings())
    await queue.ensure_tables()
    return queue


async def worked(queue: AsyncQueue, submission: Submission) -> Job:
    """The job of a submission, once a real worker has done it."""
    return await followed(queue, (await queue.submit(submission)).job)


async def followed(queue: AsyncQueue, job: Job) -> Job:
    """A job, once a real worker has done it."""
    worker = Worker(queue, queues={job.queue: 1})
    running = asyncio.create_task(worker.run())
    async for _ in follow_async(queue, job.job_id):
        pass
    worker.stop()
    await running
    return await queue.get(job.job_id)


async def test_a_pca_job_analyses_the_conversation_it_is_about(queue: AsyncQueue, store: AsyncStore) -> None:
    config = {"max_votes": 1_000_000, "batch_size": 500, "n_components": 2, "pca_method": "randomized"}
    job = await worked(queue, Submission("PCA", config, subject="synthetic-1"))
    assert job.status is JobStatus.COMPLETED
    assert job.job_results is not None
    assert job.job_results.value["participants"] == 60
    assert job.job_results.summary_metrics["groups_identified"] == job.job_results.value["groups"]
    assert "Delphi_CommentExtremity" in job.job_results.output_location["dynamodb_tables"]
    run = await latest_run(store, "synthetic-1")
    assert (run.job_id, run.config["pca_method"]) == (job.job_id, "randomized")
    assert [line.message for line in job.logs.entries][:3] == ["reading votes", "matrix", "components"]
    assert "60 participants on 20 comments" in job.logs.entries[-1].message


async def test_a_conversation_that_is_not_there_fails_at_once_and_clearly(queue: AsyncQueue) -> None:
    job = await worked(queue, Submission("PCA", subject="nobody"))
    assert (job.status, job.retry_count) == (JobStatus.FAILED, 0)
    assert "There is no conversation 'nobody'" in str(job.attempts[-1].error)


async def test_a_job_about_nothing_fails_clearly(queue: AsyncQueue) -> None:
    job = await worked(queue, Submission("PCA"))
    assert job.status is JobStatus.FAILED
    assert "has no conversation" in str(job.attempts[-1].error)


async def test_a_config_that_means_nothing_is_not_submitted(queue: AsyncQueue) -> None:
    with pytest.raises(BadConfig, match="n_components"):
        await queue.submit(Submission("PCA", {"n_components": 99}, subject="synthetic-1"))


async def test_a_pipeline_runs_its_stages_as_children_and_ends_with_them(queue: AsyncQueue, store: AsyncStore) -> None:
    config = {
        "stages": [{"stage": "PCA", "config": {"mode": "improved"}}, {"stage": "UMAP", "config": {"n_neighbors": 5}}, {"stage": "REPORT"}]
    }
    job = await worked(queue, Submission("FULL_PIPELINE", config, subject="synthetic-1", created_by="ann"))
    assert job.status is JobStatus.COMPLETED
    tree = await queue.tree(job.job_id)
    tasks = ("PCA", "UMAP", "REPORT")
    assert {(child.stage, child.status) for child in tree.children} == {(stage, JobStatus.COMPLETED) for stage in tasks}
    assert {(await queue.get(child.job_id)).created_by for child in tree.children} == {"ann"}
    for stage in tasks:
        run = await latest_run(store, "synthetic-1", stage)
        assert (run.parent_job_id, run.root_job_id) == (job.job_id, job.job_id)
    found = [run.stage async for run in store.query(Run.of_root, root_job_id=job.job_id)]
    assert sorted(found) == sorted(tasks)
    assert job.job_results is not None
    assert set(job.job_results.value["stages"]) == set(tasks)
    told = await latest_run(store, "synthetic-1", "REPORT")
    assert (told.summary["votes_job"], told.summary["topics_job"]) == tuple(job.job_results.value["stages"][stage] for stage in tasks[:2])


async def test_a_pipeline_fails_with_its_stages_and_says_which(queue: AsyncQueue) -> None:
    job = await worked(queue, Submission("FULL_PIPELINE", {"stages": [{"stage": "PCA"}]}, subject="nobody"))
    assert job.status is JobStatus.FAILED
    assert "PCA (job" in str(job.attempts[-1].error)
    assert job.job_results is not None
    assert (job.job_results.result_type, job.job_results.summary_metrics["error"]) == ("FAILURE", "give-up")
    assert "PCA (job" in job.job_results.summary_metrics["message"]


async def test_a_pipeline_whose_stage_cannot_be_is_not_submitted(queue: AsyncQueue) -> None:
    with pytest.raises(BadConfig, match="min_dist"):
        await queue.submit(Submission("FULL_PIPELINE", {"stages": [{"stage": "UMAP", "config": {"min_dist": 7}}]}, subject="synthetic-1"))


async def test_a_pipeline_whose_stage_failed_says_which_and_runs_what_is_missing_when_tried_again(
    queue: AsyncQueue, store: AsyncStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "LOOK_AGAIN", 0.05)
    config = {"stages": [{"stage": "PCA"}, {"stage": "REPORT"}]}
    job = await worked(queue, Submission("FULL_PIPELINE", config, subject="later"))
    assert (job.status, job.retry_count) == (JobStatus.FAILED, 0)
    assert "PCA (job" in str(job.attempts[-1].error)
    assert job.job_results is not None
    assert (job.job_results.result_type, job.job_results.summary_metrics["error"]) == ("FAILURE", "give-up")
    assert "PCA (job" in job.job_results.summary_metrics["message"]
    await upload_conversation(store, replace(synthesise(SyntheticPlan(participants=60, comments=20)).conversation, conversation_id="later"))
    await queue.retry(job.job_id)
    again = await followed(queue, job)
    assert again.status is JobStatus.COMPLETED
    assert {(child.stage, child.status) for child in (await queue.tree(job.job_id)).children} == {
        ("PCA", JobStatus.COMPLETED),
        ("REPORT", JobStatus.COMPLETED),
    }


async def test_a_model_that_cannot_be_used_is_asked_once(queue: AsyncQueue) -> None:
    job = await worked(queue, Submission("UMAP", {"embedding_model": "anthropic:x"}, subject="synthetic-1"))
    assert (job.status, job.retry_count) == (JobStatus.FAILED, 0)
    assert "anthropic has no embedding models" in str(job.attempts[-1].error)
