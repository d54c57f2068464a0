from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gateleg.apps.delphi.errors import RunMissing
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.opinions.stage import analyse
from gateleg.apps.delphi.reports.config import ReportConfig
from gateleg.apps.delphi.reports.findings import Findings, find
from gateleg.apps.delphi.runs.origin import REPORT_STAGE, TOPICS_STAGE, Origin, artifact_key
from gateleg.apps.delphi.runs.report_runs import load_findings, run_report
from gateleg.apps.delphi.runs.run_tables import NarrativeSection, Run
from gateleg.apps.delphi.runs.topic_rows import topics_summary
from gateleg.apps.delphi.runs.topic_runs import load_topics, write_topics
from gateleg.apps.delphi.service import VOTES_STAGE, complete_run, latest_run, results, run_votes, start_run, upload_conversation
from gateleg.apps.delphi.topics.stage import Topics, analyse_comments
from gateleg.objects import DirectoryObjects, ThreadedObjects
from gateleg.store import AsyncStore
from tests.apps.delphi.texts import local_embeddings
from tests.apps.delphi.told import synthetic

CONVERSATION = synthetic().conversation
CONFIG = VotesConfig()


@cache
def _topics() -> Topics:
    """Topics of the first comments: few enough to do without a long computation."""
    return analyse_comments(CONVERSATION.comments[:7], local_embeddings())


def _origin(store: AsyncStore, stage: str, root: UUID | None = None) -> Origin:
    return Origin(uuid4(), CONVERSATION.conversation_id, store.setup.now(), root_job_id=root, job_stage=stage)


@pytest.fixture
async def votes(store: AsyncStore) -> Run:
    await upload_conversation(store, CONVERSATION)
    return await run_votes(store, _origin(store, VOTES_STAGE), CONFIG)


@pytest.fixture
def objects(tmp_path: Path) -> ThreadedObjects:
    return ThreadedObjects(DirectoryObjects(tmp_path / "objects"))


async def _with_topics(store: AsyncStore) -> Run:
    where = _origin(store, TOPICS_STAGE)
    run, _ = await start_run(store, where, _topics().config.model_dump(mode="json"))
    await write_topics(store, _topics(), CONVERSATION.comments, where)
    return await complete_run(store, run, summary=topics_summary(_topics()))


def _assert_alike(stored: Findings, found: Findings) -> None:
    assert stored.statements.keys() == found.statements.keys()
    for number, statement in found.statements.items():
        other = stored.statements[number]
        assert (other.body, other.everybody, other.groups, other.topics) == (
            statement.body,
            statement.everybody,
            statement.groups,
            statement.topics,
        )
        assert other.divisiveness == pytest.approx(statement.divisiveness)
        assert other.group_consensus == pytest.approx(statement.group_consensus)
    assert (stored.totals, stored.agreed, stored.disagreed) == (found.totals, found.agreed, found.disagreed)
    assert (stored.mode, stored.replayed) == (found.mode, found.replayed)
    assert [group.size for group in stored.groups] == [group.size for group in found.groups]
    assert [[one.comment_id for one in group.representatives] for group in stored.groups] == [
        [one.comment_id for one in group.representatives] for group in found.groups
    ]
    assert np.allclose(stored.people, found.people)
    assert np.array_equal(stored.people_groups, found.people_groups)


async def test_findings_from_the_tables_are_those_of_the_analysis(store: AsyncStore, votes: Run) -> None:
    topics = await _with_topics(store)
    _, stored = await load_findings(store, votes, await load_topics(store, topics))
    _assert_alike(stored, find(CONVERSATION, analyse(CONVERSATION.votes, CONVERSATION.comments, CONFIG), _topics()))


async def test_a_report_is_stored_with_its_sections_and_files(store: AsyncStore, votes: Run, objects: ThreadedObjects) -> None:
    await _with_topics(store)
    steps: list[str] = []
    run = await run_report(store, objects, _origin(store, REPORT_STAGE), report=lambda done, step: steps.append(step))
    sections = [row async for row in results(store, NarrativeSection, run.job_id)]
    assert {"overview", "groups", "group_informed_consensus", "uncertainty", "layer0_0"} <= {row.section for row in sections}
    assert all(row.model == "templates" for row in sections)
    assert [row.place for row in sorted(sections, key=lambda row: row.place)] == list(range(len(sections)))
    assert {"report.html", "map.html", "maps/groups.svg", "data/comment-clusters.csv"} <= set(run.summary["artifacts"])
    key = f"visualizations/{CONVERSATION.conversation_id}/{run.job_id}/report.html"
    assert (await objects.get(key)).startswith(b"<!doctype html>")
    assert (await objects.head(key)).content_type == "text/html; charset=utf-8"
    assert list(dict.fromkeys(steps)) == [
        "reading results",
        "tracing the groups back",
        # Some of its comments resemble descriptions of oneself.
        "finding groups without self-descriptions",
        "writing sections",
        "drawing maps",
        "storing files",
    ]
    assert (await latest_run(store, CONVERSATION.conversation_id, REPORT_STAGE)).job_id == run.job_id


async def test_a_report_that_is_written_again_is_the_same(store: AsyncStore, votes: Run, objects: ThreadedObjects) -> None:
    where = _origin(store, REPORT_STAGE)
    first = await run_report(store, objects, where)
    before = {name: await objects.get(artifact_key(where, name)) for name in first.summary["artifacts"]}
    again = await run_report(store, objects, where)
    assert {name: await objects.get(artifact_key(where, name)) for name in again.summary["artifacts"]} == before


async def test_a_report_tells_of_the_runs_of_its_own_pipeline(store: AsyncStore, votes: Run, objects: ThreadedObjects) -> None:
    root = uuid4()
    mine = await run_votes(store, _origin(store, VOTES_STAGE, root), CONFIG)
    newer = await run_votes(store, replace(_origin(store, VOTES_STAGE), created_at=store.setup.now()), CONFIG)
    run = await run_report(store, objects, _origin(store, REPORT_STAGE, root))
    assert run.summary["votes_job"] == str(mine.job_id) != str(newer.job_id)


async def test_parts_that_are_not_wanted_are_left_out(store: AsyncStore, votes: Run, objects: ThreadedObjects) -> None:
    await _with_topics(store)
    config = ReportConfig(include_topics=False, include_consensus=False, include_uncertainty=False)
    run = await run_report(store, objects, _origin(store, REPORT_STAGE), config)
    assert {row.section async for row in results(store, NarrativeSection, run.job_id)} == {"overview", "groups"}
    assert run.summary["topics_job"] is None


async def test_a_report_needs_votes(store: AsyncStore, objects: ThreadedObjects) -> None:
    await upload_conversation(store, CONVERSATION)
    with pytest.raises(RunMissing, match="no completed run of PCA"):
        await run_report(store, objects, _origin(store, REPORT_STAGE))


def test_the_config_of_the_document_is_understood() -> None:
    config = ReportConfig.model_validate(
        {
            "model": "claude-3-7-sonnet-20250219",
            "include_topics": True,
            "include_consensus": True,
            "include_uncertainty": True,
            "language": "en",
            "max_tokens": 4000,
        }
    )
    assert config.model_address == "anthropic:claude-3-7-sonnet-20250219"
    assert ReportConfig(model="ollama:llama3.2").model_address == "ollama:llama3.2"
    with pytest.raises(ValidationError):
        ReportConfig.model_validate({"tokens": 3})


def test_no_conversation_can_reach_into_the_folder_of_another() -> None:
    origin = Origin(uuid4(), "../x/y", datetime.now(UTC))
    assert artifact_key(origin, "a.svg") == f"visualizations/%2E%2E%2Fx%2Fy/{origin.job_id}/a.svg"


async def test_a_report_that_cannot_be_printed_says_why(
    store: AsyncStore, votes: Run, objects: ThreadedObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATELEG_CHROMIUM", "/nowhere/chromium")
    run = await run_report(store, objects, _origin(store, REPORT_STAGE), ReportConfig(formats=("pdf",)))
    assert "report.html" in run.summary["artifacts"]
    assert "report.pdf" not in run.summary["artifacts"]
    assert "Chromium failed or timed out" in run.summary["not_printed"]


@given(st.text(min_size=1, max_size=200), st.text(min_size=1, max_size=200))
def test_every_name_of_a_conversation_makes_keys_of_its_own(one: str, other: str) -> None:
    job_id, now = uuid4(), datetime(2026, 1, 1, tzinfo=UTC)
    keys = {name: artifact_key(Origin(job_id, name, now), "data/participant-votes.csv") for name in (one, other)}
    assert all(len(key.encode()) <= 1_024 for key in keys.values())
    assert len(set(keys.values())) == len(keys)


def test_names_that_begin_alike_and_are_long_have_folders_of_their_own() -> None:
    job_id, now = uuid4(), datetime(2026, 1, 1, tzinfo=UTC)
    assert len({artifact_key(Origin(job_id, "日" * 199 + end, now), "map.html") for end in "ab"}) == 2
