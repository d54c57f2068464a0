"""What runs have found, read whole and kept for a while: several parts of a page are about the same run.

Results of a completed run do not change but for the names of topics and for what is rejected since, so those are read every time.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

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

#: Readings that are kept; together they are about this many votes at most, the last one in any case.
_KEPT, _VOTES = 8, 5_000_000


@dataclass(frozen=True, eq=False)
class Reading:
    """What a run of the votes stage and one of the comments stage have found."""

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


class Readings:
    """The last readings of one store."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Reading] = OrderedDict()
        self._one_at_a_time = asyncio.Lock()

    async def read(self, store: AsyncStore, votes: Run, topics: Run | None = None) -> Reading:
        """What two completed runs have found. Two who ask at once wait for the same reading."""
        async with self._one_at_a_time:
            rejections = await load_rejections(store, votes.conversation_id)
            names = [] if topics is None else [row async for row in service.results(store, TopicName, topics.job_id)]
            key = (rejections.upload_id, *_mark(votes), *_mark(topics), tuple((row.topic_key, row.topic_name) for row in names))
            if key not in self._kept:
                self._kept[key] = await _read(store, votes, topics, names, rejections)
            self._kept.move_to_end(key)
            self._tidy()
            return self._kept[key]

    def _tidy(self) -> None:
        while len(self._kept) > 1 and (len(self._kept) > _KEPT or sum(len(one.matrix.rows) for one in self._kept.values()) > _VOTES):
            self._kept.popitem(last=False)


async def _read(store: AsyncStore, votes: Run, topics: Run | None, names: Sequence[TopicName], rejections: Rejections) -> Reading:
    found = None if topics is None else await load_topics(store, topics, names, vectors=False)
    conversation, findings = await load_findings(store, votes, found, rejections)
    matrix = await asyncio.to_thread(VoteMatrix.of, conversation.votes.without(conversation.removed_participants))
    shown = {topic.key: topic.name for layer in findings.topics for topic in layer}
    return Reading(votes, topics, findings, matrix, {row.topic_key: redact_row(row, rejections, shown) for row in names})


def _mark(run: Run | None) -> tuple[Hashable, ...]:
    return () if run is None else (run.job_id, run.stage, run.completed_at)


_OF_STORES: WeakKeyDictionary[AsyncStore, Readings] = WeakKeyDictionary()


async def read(store: AsyncStore, votes: Run, topics: Run | None = None) -> Reading:
    """What two completed runs have found. There is one set of readings for the API and the pages of a host."""
    return await _OF_STORES.setdefault(store, Readings()).read(store, votes, topics)
