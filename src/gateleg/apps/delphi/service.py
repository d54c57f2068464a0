"""Use cases: store a conversation, analyse its votes under a job, and load results. Stores are passed in; nothing is global.

    await ensure_tables(store)
    upload = await upload_conversation(store, conversation)
    run = await run_votes(store, Origin(job_id, conversation.conversation_id, now), VotesConfig())
    latest = await latest_run(store, conversation.conversation_id)
    groups = [group async for group in results(store, OpinionGroup, latest.job_id)]

A run never changes the rows of another. A run that is interrupted and restarted reads the same upload and writes the same rows.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from gateleg.apps.delphi import tables
from gateleg.apps.delphi.errors import RunMissing
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.runs import run_tables, vote_tables
from gateleg.apps.delphi.runs.comparison import Comparison, Outcome, compare
from gateleg.apps.delphi.runs.origin import VOTES_STAGE, Origin
from gateleg.apps.delphi.runs.run_tables import LatestRun, NarrativeSection, Run, RunStatus, StoredConversation, Upload
from gateleg.apps.delphi.runs.uploads import find_upload, load_conversation, upload_conversation
from gateleg.apps.delphi.runs.vote_tables import ConsensusComment, ParticipantProjection, RepresentativeComment
from gateleg.apps.delphi.tables import (
    ClusterAssignment,
    ClusterKeywords,
    CommentEmbedding,
    CommentExtremity,
    GraphEdge,
    JobResult,
    TopicName,
)
from gateleg.store import ConditionFailed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from datetime import datetime
    from uuid import UUID

    from gateleg.apps.delphi.conversations.conversation import Conversation
    from gateleg.apps.delphi.opinions.stage import Opinions
    from gateleg.store import AsyncStore

__all__ = [
    "RESULTS",
    "TABLES",
    "VOTES_STAGE",
    "Comparison",
    "Origin",
    "compare_runs",
    "complete_run",
    "conversations",
    "delete_run",
    "ensure_tables",
    "find_upload",
    "latest_run",
    "load_conversation",
    "results",
    "results_of_conversation",
    "run_beside",
    "run_votes",
    "runs",
    "start_run",
    "upload_conversation",
    "write_opinions",
]

R = TypeVar("R", bound=JobResult)
TABLES = (*tables.TABLES, *vote_tables.TABLES, *run_tables.TABLES)
#: Every kind of result that a job may write.
RESULTS: tuple[type[JobResult], ...] = (
    CommentEmbedding,
    ClusterAssignment,
    ClusterKeywords,
    GraphEdge,
    TopicName,
    CommentExtremity,
    *vote_tables.RESULTS,
    NarrativeSection,
)
_ROWS_AT_ONCE = 500
#: The progress of a run, of 1, at the start of each step of the analysis.
_STEPS = {"matrix": 0.15, "components": 0.2, "groups": 0.35, "statistics": 0.5}


async def ensure_tables(store: AsyncStore) -> list[str]:
    """Create Delphi's tables that are missing."""
    return await store.ensure_tables(*TABLES)


def conversations(store: AsyncStore, limit: int | None = None) -> AsyncIterator[StoredConversation]:
    """All conversations, most recently changed first."""
    return store.query(StoredConversation.recent, limit=limit)


async def run_votes(
    store: AsyncStore,
    origin: Origin,
    config: VotesConfig | None = None,
    report: Callable[[float, str], object] = lambda done, step: None,
) -> Run:
    """Analyse the votes of a conversation, write the results under the job, and make the run the latest.

    `report` is called with the progress of the run, from 0 to 1, and its current step; it may raise to end the run.
    """
    config = config or VotesConfig()
    run, upload = await start_run(store, origin, config.model_dump(mode="json"))
    report(0.0, "reading votes")
    conversation = await load_conversation(
        store,
        upload,
        batch_size=config.batch_size,
        report=lambda read: report(0.15 * min(1.0, read / max(1, upload.n_votes)), "reading votes"),
    )
    opinions = await asyncio.to_thread(_analyse, conversation, config, report)
    await write_opinions(store, opinions, origin, report)
    return await complete_run(store, run, opinions)


def _analyse(conversation: Conversation, config: VotesConfig, report: Callable[[float, str], object]) -> Opinions:
    # Imported here, in the thread of the first run, because it takes a second.
    from gateleg.apps.delphi.opinions.stage import analyse

    return analyse(
        conversation.votes,
        conversation.comments,
        config,
        removed_participants=conversation.removed_participants,
        report=lambda step: report(_STEPS[step], step),
    )


async def start_run(store: AsyncStore, origin: Origin, config: dict[str, object], upload_id: UUID | None = None) -> tuple[Run, Upload]:
    """Record that a stage has started, and return its run and the upload that it reads, by default the current one.

    A restarted stage reads the same upload as before.
    """
    known = await store.find(Run, job_id=origin.job_id, stage=origin.job_stage, consistent=True)
    upload = await find_upload(store, origin.conversation_id, upload_id if known is None else known.upload_id)
    run = Run(
        job_id=origin.job_id,
        stage=origin.job_stage,
        conversation_id=origin.conversation_id,
        created_at=origin.created_at,
        parent_job_id=origin.parent_job_id,
        root_job_id=origin.root_job_id,
        upload_id=upload.upload_id,
        config=config,
    )
    return await store.put(run), upload


async def write_opinions(
    store: AsyncStore, opinions: Opinions, origin: Origin, report: Callable[[float, str], object] = lambda done, step: None
) -> None:
    """Write all rows of a run. Idempotent."""
    from gateleg.apps.delphi.runs.rows import rows_of

    rows = rows_of(opinions, origin)
    expected = len(opinions.matrix.participants) + 2 * len(opinions.matrix.comments) + 1
    written = 0
    while batch := list(islice(rows, _ROWS_AT_ONCE)):
        await store.batch_write(batch)
        written += len(batch)
        report(0.5 + 0.5 * min(1.0, written / expected), "writing results")


async def complete_run(store: AsyncStore, run: Run, opinions: Opinions | None = None, summary: dict[str, object] | None = None) -> Run:
    """Record that a stage is completed, after all its results are written, and make it the latest unless a newer run exists."""
    found, history = summary or {}, []
    if opinions is not None:
        from gateleg.apps.delphi.runs.rows import summary_of

        found, history = summary_of(opinions), [asdict(update) for update in opinions.history]
    done = await store.patch(
        run,
        Run.status.to(RunStatus.COMPLETED),
        Run.completed_at.set(store.setup.now()),
        Run.summary.set(found),
        Run.history.set(history),
    )
    await _make_latest(store, done)
    return done


async def _make_latest(store: AsyncStore, run: Run) -> None:
    pointer = LatestRun(conversation_id=run.conversation_id, stage=run.stage, job_id=run.job_id, run_created_at=run.created_at)
    free = LatestRun.job_id.missing() | (LatestRun.run_created_at <= run.created_at)
    try:
        await store.put(pointer, condition=free)
    except ConditionFailed:
        # A run that was submitted later has already completed.
        return


async def run_beside(store: AsyncStore, origin: Origin, stage: str) -> Run:
    """The completed run of another stage in the same pipeline, or else the latest of the conversation."""
    if origin.root_job_id is not None:
        async for run in store.query(Run.of_root, root_job_id=origin.root_job_id):
            if run.stage == stage and run.status is RunStatus.COMPLETED and run.conversation_id == origin.conversation_id:
                return run
    return await latest_run(store, origin.conversation_id, stage)


async def latest_run(store: AsyncStore, conversation_id: str, stage: str = VOTES_STAGE) -> Run:
    """The newest completed run of a stage of a conversation."""
    pointer = await store.find(LatestRun, conversation_id=conversation_id, stage=stage, consistent=True)
    run = None if pointer is None else await store.find(Run, job_id=pointer.job_id, stage=stage, consistent=True)
    if run is None:
        raise RunMissing(f"Conversation {conversation_id!r} has no completed run of {stage}.")
    return run


def runs(store: AsyncStore, conversation_id: str, limit: int | None = None) -> AsyncIterator[Run]:
    """The runs of a conversation, newest first, whether completed or not."""
    return store.query(Run.of_conversation, conversation_id=conversation_id, limit=limit)


def results(store: AsyncStore, kind: type[R], job_id: UUID, conversation_id: str | None = None) -> AsyncIterator[R]:
    """The results of one kind of a job, by identifier; only those of one conversation, if it is given."""
    question = kind.of_job(job_id=job_id)
    if conversation_id is not None:
        question = question.filter(kind.conversation_id == conversation_id)
    return store.query(question, consistent=True)


def results_of_conversation(
    store: AsyncStore, kind: type[R], conversation_id: str, *, since: datetime | None = None, limit: int | None = None
) -> AsyncIterator[R]:
    """The results of one kind of a conversation from all jobs, newest first."""
    question = kind.of_conversation(conversation_id=conversation_id)
    if since is not None:
        question = question.where(kind.created_at >= since)
    return store.query(question, limit=limit)


async def compare_runs(store: AsyncStore, before: UUID, after: UUID) -> Comparison:
    """Compare two runs of the votes stage, of one conversation or of two."""
    return compare(await _outcome(store, before), await _outcome(store, after))


async def _outcome(store: AsyncStore, job_id: UUID) -> Outcome:
    run = await store.find(Run, job_id=job_id, stage=VOTES_STAGE, consistent=True)
    if run is None or run.status is not RunStatus.COMPLETED:
        raise RunMissing(f"Job {job_id} has no completed run of {VOTES_STAGE}.")
    people = results(store, ParticipantProjection, job_id)
    shared = results(store, ConsensusComment, job_id)
    return Outcome(
        {row.participant_id: row.group_id async for row in people if row.group_id is not None},
        frozenset([(row.comment_id, row.kind) async for row in shared if row.kind != "common"]),
        frozenset([(row.group_id, row.comment_id, row.side) async for row in results(store, RepresentativeComment, job_id)]),
        {row.comment_id: row.extremity_value async for row in results(store, CommentExtremity, job_id)},
    )


async def delete_run(store: AsyncStore, job_id: UUID) -> int:
    """Delete the results of a job and return their number. The run before it becomes the latest."""
    stages = [run async for run in store.query(Run.of_job, job_id=job_id, consistent=True)]
    if not stages:
        raise RunMissing(f"Job {job_id} has no runs.")
    for run in stages:
        await _unmake_latest(store, run)
    removed = 0
    for kind in RESULTS:
        removed += await store.delete_all(kind.of_job(job_id=job_id))
    await store.delete_all(Run.of_job(job_id=job_id))
    return removed


async def _unmake_latest(store: AsyncStore, run: Run) -> None:
    """If the pointer is at this run, move it to the run before."""
    mine = LatestRun.job_id == run.job_id
    before = None
    async for other in runs(store, run.conversation_id):
        if other.stage == run.stage and other.status is RunStatus.COMPLETED and other.job_id != run.job_id:
            before = other
            break
    try:
        if before is None:
            await store.delete(LatestRun, conversation_id=run.conversation_id, stage=run.stage, condition=mine)
        else:
            pointer = LatestRun(
                conversation_id=run.conversation_id, stage=run.stage, job_id=before.job_id, run_created_at=before.created_at
            )
            await store.put(pointer, condition=mine)
    except ConditionFailed:
        return
