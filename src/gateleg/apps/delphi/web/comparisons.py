"""Two runs side by side: what they were told, and what has become of groups, comments, common ground and topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.delphi import service
from gateleg.apps.delphi.errors import RunMissing
from gateleg.apps.delphi.runs.origin import VOTES_STAGE
from gateleg.apps.delphi.runs.topic_changes import TopicChange, compare_topics
from gateleg.apps.delphi.web.portraits import stages_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.apps.delphi.runs.comparing import Comparison
    from gateleg.apps.delphi.runs.run_tables import Run
    from gateleg.apps.delphi.web.portraits import Outing, Stages
    from gateleg.apps.delphi.web.readings import Reading
    from gateleg.store import AsyncStore


@dataclass(frozen=True)
class SettingChange:
    """A setting of a stage that two runs were given differently."""

    stage: str
    name: str
    before: Any
    after: Any


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Two runs, and what differs."""

    before: Reading
    after: Reading
    settings: tuple[SettingChange, ...]
    votes: Comparison
    topics: tuple[TopicChange, ...]


async def side_by_side(store: AsyncStore, before: Outing, after: Outing) -> SideBySide:
    """Compare what two outings tell of; `RunMissing` when one of them has no groups."""
    from gateleg.apps.delphi.web.readings import read

    stages = [await stages_of(store, outing) for outing in (before, after)]
    readings = []
    for outing, told in zip((before, after), stages, strict=True):
        if told.votes is None:
            raise RunMissing(f"Job {outing.job_id} has no completed run of {VOTES_STAGE}.")
        readings.append(await read(store, told.votes, told.topics))
    old, new = readings
    differences = await service.compare_runs(store, old.votes.job_id, new.votes.job_id)
    return SideBySide(old, new, tuple(setting_changes(*stages)), differences, tuple(topic_changes(old, new)))


def setting_changes(before: Stages, after: Stages) -> Iterator[SettingChange]:
    """What the stages of two runs were given differently, what they read included."""
    pairs: Sequence[tuple[Run | None, Run | None]] = (
        (before.votes, after.votes),
        (before.topics, after.topics),
        (before.report, after.report),
    )
    for old, new in pairs:
        if old is not None and new is not None and old.job_id != new.job_id:
            told, now = dict(_flat(old.config)), dict(_flat(new.config))
            for name in dict.fromkeys((*told, *now)):
                if told.get(name) != now.get(name):
                    yield SettingChange(new.stage, name, told.get(name), now.get(name))
            if old.upload_id != new.upload_id:
                yield SettingChange(new.stage, "upload", str(old.upload_id), str(new.upload_id))


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in config.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def topic_changes(before: Reading, after: Reading) -> list[TopicChange]:
    """What has become of the topics, from the layer that one run begins with to that of the other."""
    old, new = before.findings, after.findings
    if not old.topics or not new.topics:
        return []
    return compare_topics(old.topics[old.main_layer], new.topics[new.main_layer])
