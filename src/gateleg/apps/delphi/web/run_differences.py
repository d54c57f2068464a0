"""Compares two runs: their settings, groups, comments, common ground and topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.delphi import service
from gateleg.apps.delphi.errors import RunMissing
from gateleg.apps.delphi.runs.origin import VOTES_STAGE
from gateleg.apps.delphi.runs.topic_changes import TopicChange, compare_topics
from gateleg.apps.delphi.web.loaded_runs import load_run
from gateleg.apps.delphi.web.overviews import stage_runs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.apps.delphi.runs.comparison import Comparison
    from gateleg.apps.delphi.runs.run_tables import Run
    from gateleg.apps.delphi.web.overviews import PipelineRun, StageRuns
    from gateleg.apps.delphi.web.run_cache import LoadedRun
    from gateleg.store import AsyncStore


@dataclass(frozen=True)
class SettingChange:
    """A setting of a stage in which two runs differ."""

    stage: str
    name: str
    before: Any
    after: Any


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Two runs and their differences."""

    before: LoadedRun
    after: LoadedRun
    settings: tuple[SettingChange, ...]
    votes: Comparison
    topics: tuple[TopicChange, ...]


async def side_by_side(store: AsyncStore, before: PipelineRun, after: PipelineRun) -> SideBySide:
    """Compare two pipeline runs. Raises `RunMissing` if one of them has no groups."""
    stages = [await stage_runs_of(store, run) for run in (before, after)]
    loaded = []
    for run, found in zip((before, after), stages, strict=True):
        if found.votes is None:
            raise RunMissing(f"Job {run.job_id} has no completed run of {VOTES_STAGE}.")
        loaded.append(await load_run(store, found.votes, found.topics))
    old, new = loaded
    differences = await service.compare_runs(store, old.votes.job_id, new.votes.job_id)
    return SideBySide(old, new, tuple(setting_changes(*stages)), differences, tuple(topic_changes(old, new)))


def setting_changes(before: StageRuns, after: StageRuns) -> Iterator[SettingChange]:
    """The settings in which the stages of two runs differ, including the upload that they read."""
    pairs: Sequence[tuple[Run | None, Run | None]] = (
        (before.votes, after.votes),
        (before.topics, after.topics),
        (before.report, after.report),
    )
    for old, new in pairs:
        if old is not None and new is not None and old.job_id != new.job_id:
            earlier, now = dict(_flat(old.config)), dict(_flat(new.config))
            for name in dict.fromkeys((*earlier, *now)):
                if earlier.get(name) != now.get(name):
                    yield SettingChange(new.stage, name, earlier.get(name), now.get(name))
            if old.upload_id != new.upload_id:
                yield SettingChange(new.stage, "upload", str(old.upload_id), str(new.upload_id))


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in config.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def topic_changes(before: LoadedRun, after: LoadedRun) -> list[TopicChange]:
    """How the topics changed between the main layers of two runs."""
    old, new = before.findings, after.findings
    if not old.topics or not new.topics:
        return []
    return compare_topics(old.topics[old.main_layer], new.topics[new.main_layer])
