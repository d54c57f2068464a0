"""A cache of the results of completed runs, because several parts of a page show the same run. `loaded_runs` imports it in a thread.

Topic names and rejections are the only results of a completed run that can change, so they are read every time.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import orjson

from gateleg.apps.delphi import service
from gateleg.apps.delphi.opinions.matrix import VoteMatrix
from gateleg.apps.delphi.reports.atlas import atlas
from gateleg.apps.delphi.runs.redacted_rows import redact_row
from gateleg.apps.delphi.runs.rejections import load_rejections
from gateleg.apps.delphi.runs.report_runs import load_findings
from gateleg.apps.delphi.runs.topic_runs import load_topics
from gateleg.apps.delphi.tables import TopicName

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from gateleg.apps.delphi.reports.findings import Findings
    from gateleg.apps.delphi.runs.rejections import Rejections
    from gateleg.apps.delphi.runs.run_tables import Run
    from gateleg.store import AsyncStore

#: The maximum numbers of cached runs and of their votes in total. The most recent run is always kept.
_MAX_RUNS, _MAX_VOTES = 8, 5_000_000


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """The results of a run of the votes stage, and of one of the topics stage if there is one."""

    votes: Run
    topics: Run | None
    findings: Findings
    matrix: VoteMatrix
    #: by topic key
    names: Mapping[str, TopicName]

    @cached_property
    def atlas(self) -> bytes:
        """The data of the linked maps, as JSON."""
        return orjson.dumps(atlas(self.findings, self.matrix))


class RunCache:
    """The most recently loaded runs of one store."""

    def __init__(self) -> None:
        self._cached: OrderedDict[Hashable, LoadedRun] = OrderedDict()
        self._lock = asyncio.Lock()

    async def load(self, store: AsyncStore, votes: Run, topics: Run | None = None) -> LoadedRun:
        """The results of two completed runs. Concurrent callers share one load."""
        async with self._lock:
            rejections = await load_rejections(store, votes.conversation_id)
            names = [] if topics is None else [row async for row in service.results(store, TopicName, topics.job_id)]
            key = (rejections.upload_id, *_version(votes), *_version(topics), tuple((row.topic_key, row.topic_name) for row in names))
            if key not in self._cached:
                self._cached[key] = await _load(store, votes, topics, names, rejections)
            self._cached.move_to_end(key)
            self._evict()
            return self._cached[key]

    def _evict(self) -> None:
        while len(self._cached) > 1 and (
            len(self._cached) > _MAX_RUNS or sum(len(one.matrix.rows) for one in self._cached.values()) > _MAX_VOTES
        ):
            self._cached.popitem(last=False)


async def _load(store: AsyncStore, votes: Run, topics: Run | None, names: Sequence[TopicName], rejections: Rejections) -> LoadedRun:
    found = None if topics is None else await load_topics(store, topics, names, vectors=False)
    conversation, findings = await load_findings(store, votes, found, rejections)
    matrix = await asyncio.to_thread(VoteMatrix.of, conversation.votes.without(conversation.removed_participants))
    shown = {topic.key: topic.name for layer in findings.topics for topic in layer}
    return LoadedRun(votes, topics, findings, matrix, {row.topic_key: redact_row(row, rejections, shown) for row in names})


def _version(run: Run | None) -> tuple[Hashable, ...]:
    return () if run is None else (run.job_id, run.stage, run.completed_at)
