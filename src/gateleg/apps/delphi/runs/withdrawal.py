"""Removes rejected comments from earlier runs: withdraws report files immediately, and writes them again in a job.

    withdrawn = await withdraw_reports(store, objects, "trees")     # deletes files, which invalidates links to them
    await redact_runs(store, objects, "trees")                      # writes topics and reports again

Both compare the moderation of runs with the current one, so both can be repeated after a crash.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

from gateleg.apps.delphi.runs.origin import REPORT_STAGE, TOPICS_STAGE, Origin, artifact_key
from gateleg.apps.delphi.runs.redacted_rows import redact_row
from gateleg.apps.delphi.runs.rejections import comment_ids, load_rejections, rejections_at
from gateleg.apps.delphi.runs.run_tables import Run, RunStatus, StoredConversation
from gateleg.apps.delphi.tables import ClusterKeywords, CommentEmbedding, TopicName
from gateleg.apps.delphi.topics.redaction import without_words
from gateleg.event_loops import import_in_thread
from gateleg.jobs import Submission
from gateleg.store import ConditionFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateleg.ai import Models
    from gateleg.apps.delphi.runs.rejections import Rejections
    from gateleg.jobs import AsyncQueue, Job
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore

REDACTION = "REDACTION"
#: High, because withdrawn reports are missing until the job is done.
_PRIORITY = 95


async def withdraw_rejected(
    store: AsyncStore, objects: AsyncObjects, queue: AsyncQueue, conversation_id: str, by: str | None = None
) -> Job | None:
    """Withdraw reports that show comments rejected by now, and submit the job that redacts all runs. Returns None if no run shows any."""
    withdrawn = await withdraw_reports(store, objects, conversation_id)
    rejections = await load_rejections(store, conversation_id)
    topics = [run for run in await _runs(store, conversation_id, TOPICS_STAGE) if await _shows(store, run, rejections)]
    if not withdrawn and not topics:
        return None
    found = await store.find(StoredConversation, conversation_id=conversation_id)
    tenant = None if found is None else found.tenant
    submission = Submission(REDACTION, {}, subject=conversation_id, priority=_PRIORITY, created_by=by, tenant=tenant)
    return (await queue.submit(submission)).job


async def withdraw_reports(store: AsyncStore, objects: AsyncObjects, conversation_id: str) -> list[Run]:
    """Delete the files of reports that show comments rejected by now, and record that these reports are withdrawn."""
    rejections = await load_rejections(store, conversation_id)
    found = []
    for run in await _runs(store, conversation_id, REPORT_STAGE):
        if await _shows(store, run, rejections):
            origin = Origin(run.job_id, run.conversation_id, run.created_at)
            await objects.delete_many([artifact_key(origin, name) for name in run.summary.get("artifacts", [])])
            found.append(await store.patch(run, Run.summary.set({**run.summary, "artifacts": [], "withdrawn": True})))
    return found


async def redact_runs(
    store: AsyncStore,
    objects: AsyncObjects,
    conversation_id: str,
    report: Callable[[float, str], object] = lambda done, step: None,
    models: Models | None = None,
) -> dict[str, int]:
    """Remove rejected comments from the stored topics of all runs, and write withdrawn reports again. Returns the number of each."""
    write_again = (await import_in_thread("gateleg.apps.delphi.runs.report_runs")).write_again
    rejections = await load_rejections(store, conversation_id)
    topics = [run for run in await _runs(store, conversation_id, TOPICS_STAGE) if await _shows(store, run, rejections)]
    for number, run in enumerate(topics):
        report(0.3 * number / len(topics), "redacting topics")
        await _redact_topics(store, run, rejections)
    await withdraw_reports(store, objects, conversation_id)
    reports = [run for run in await _runs(store, conversation_id, REPORT_STAGE) if run.summary.get("withdrawn")]
    for number, run in enumerate(reports):
        report(0.3 + 0.7 * number / len(reports), "writing reports again")
        await write_again(store, objects, run, models)
    return {"topics": len(topics), "reports": len(reports)}


async def _runs(store: AsyncStore, conversation_id: str, stage: str) -> list[Run]:
    """The completed runs of a stage. A run that is not completed applies the rejections itself."""
    found = [run async for run in store.query(Run.of_conversation, conversation_id=conversation_id)]
    return [run for run in found if run.stage == stage and run.status is RunStatus.COMPLETED]


async def _shows(store: AsyncStore, run: Run, rejections: Rejections) -> bool:
    """Whether a run may show comments that were rejected after it."""
    applied = run.summary.get("moderated_by", str(run.upload_id))
    if not rejections.comments or applied == str(rejections.upload_id):
        return False
    later = rejections.comments - (await rejections_at(store, run.conversation_id, UUID(applied))).comments
    return not later.isdisjoint(await comment_ids(store, run.upload_id))


async def _redact_topics(store: AsyncStore, run: Run, rejections: Rejections) -> None:
    names = await _names_without(store, run, rejections)
    for kind in (ClusterKeywords, CommentEmbedding):
        async for row in store.query(kind.of_job(job_id=run.job_id), consistent=True):
            if (redact := redact_row(row, rejections, names)) is not row:
                await store.put(redact)
    async for name in store.query(TopicName.of_job(job_id=run.job_id), consistent=True):
        if (redacted_name := redact_row(name, rejections, names)) is not name:
            # If somebody renames the topic at the same time, that name is kept.
            with suppress(ConditionFailed):
                await store.put(redacted_name, condition=TopicName.topic_name == name.topic_name)
    await store.patch(run, Run.summary.set({**run.summary, "moderated_by": str(rejections.upload_id)}))


async def _names_without(store: AsyncStore, run: Run, rejections: Rejections) -> Mapping[str, str]:
    """The names of topics without rejected words, by key."""
    topic_runs = await import_in_thread("gateleg.apps.delphi.runs.topic_runs")
    topics = await topic_runs.load_topics(store, run, vectors=False)
    return {topic.key: topic.name for layer in without_words(topics.topics, rejections.words) for topic in layer}
