from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from gateleg.apps.delphi.runs.pipeline import PIPELINE, STAGES
from gateleg.apps.delphi.runs.run_tables import Run, RunStatus, StoredConversation
from gateleg.apps.delphi.web.overviews import PipelineRun, by_pipeline, files_of, job_title, load_overview, select_run, stage_runs_of
from tests.apps.delphi.served import Served, serving

NOW = datetime(2026, 1, 5, tzinfo=UTC)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as served:
        yield served


def run(stage: str, minutes: int, root: UUID | None = None, status: RunStatus = RunStatus.COMPLETED) -> Run:
    at = NOW + timedelta(minutes=minutes)
    return Run(job_id=uuid4(), stage=stage, conversation_id="c", created_at=at, root_job_id=root, upload_id=uuid4(), status=status)


def test_stages_of_a_pipeline_are_one_pipeline_run() -> None:
    root = uuid4()
    alone = run("PCA", 5)
    found = by_pipeline([alone, run("REPORT", 2, root), run("UMAP", 1, root), run("PCA", 0, root)])
    assert [(one.job_id, one.stages) for one in found] == [(alone.job_id, ("PCA",)), (root, ("PCA", "UMAP", "REPORT"))]
    assert found[1].at == NOW


def test_the_newest_run_with_a_report_is_shown_unless_another_is_asked_for() -> None:
    root = uuid4()
    found = by_pipeline([run("PCA", 5), run("REPORT", 2, root), run("PCA", 0, root)])
    shown, asked = select_run(found, None), select_run(found, str(found[0].job_id))
    assert shown is found[1]
    assert asked is found[0]


def test_a_run_that_does_not_exist_is_answered_with_the_newest() -> None:
    found = by_pipeline([run("PCA", 5), run("PCA", 0)])
    assert select_run(found, "nonsense") is found[0]
    assert select_run([], "nonsense") is None


def test_a_report_that_is_not_completed_does_not_count() -> None:
    found = by_pipeline([run("REPORT", 5, status=RunStatus.RUNNING), run("PCA", 0)])
    assert select_run(found, None) is found[1]


async def test_an_overview_has_the_stages_of_the_newest_run(served: Served) -> None:
    conversation = await served.host.store.get(StoredConversation, conversation_id="town")
    shown = await load_overview(served.host.queue, conversation)
    assert shown.selected is not None
    assert shown.selected.job_id == served.root
    runs = [shown.stages.votes, shown.stages.topics, shown.stages.report]
    assert [run and run.job_id for run in runs] == [served.votes, served.topics, served.report]
    assert shown.active_jobs == ()


async def test_a_run_without_stages_of_its_own_tells_of_the_latest(served: Served) -> None:
    store = served.host.store
    alone = await store.get(Run, job_id=served.topics, stage="UMAP")
    stages = await stage_runs_of(store, PipelineRun(served.topics, (alone,)))
    assert stages.votes is not None
    assert stages.topics is not None
    assert (stages.votes.job_id, stages.topics.job_id, stages.report) == (served.votes, served.topics, None)


async def test_a_report_alone_tells_of_what_it_was_made_from(served: Served) -> None:
    store = served.host.store
    report = await store.get(Run, job_id=served.report, stage="REPORT")
    stages = await stage_runs_of(store, PipelineRun(served.report, (report,)))
    assert stages.votes is not None
    assert stages.votes.job_id == served.votes
    assert "report.html" in await files_of(served.host.objects, report)


async def test_an_overview_has_the_jobs_that_are_not_done(served: Served) -> None:
    job = (await served["admin"].post("/api/delphi/conversations/town/jobs", json={"job_type": "PCA"})).json()["job"]
    conversation = await served.host.store.get(StoredConversation, conversation_id="town")
    shown = await load_overview(served.host.queue, conversation)
    assert [str(one.job_id) for one in shown.active_jobs] == [job["job_id"]]


def test_every_job_type_has_words_of_its_own() -> None:
    types = [PIPELINE, *STAGES]
    assert len({job_title(kind) for kind in types}) == len(types)
    assert not {job_title(kind) for kind in types} & set(types)
