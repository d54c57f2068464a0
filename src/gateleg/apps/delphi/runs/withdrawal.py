"""What becomes of earlier runs when a comment is rejected: their files are withdrawn at once, and a job writes them again without it.

    redone = await withdraw_reports(store, objects, "trees")     # the files are gone, and so are links that were given out
    await redact_runs(store, objects, "trees")                   # topics and reports are written again

Both compare what runs have shown with what is rejected now, so either can be done again after an accident.
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
#: Before anything else: people wait for reports that are withdrawn.
_PRIORITY = 95


async def withdraw_rejected(
    store: AsyncStore, objects: AsyncObjects, queue: AsyncQueue, conversation_id: str, by: str | None = None
) -> Job | None:
    """Withdraw the reports that show what is rejected by now, and submit the job that redacts all runs; None if no run shows any of it."""
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
    """Delete the files of reports that show a comment which is rejected by now, and note that they are withdrawn."""
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
    """Take what is rejected out of the stored topics of all runs, and write withdrawn reports again; how many there were of each."""
    from gateleg.apps.delphi.runs.report_runs import write_again

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
    """The completed runs of a stage. One that is not completed sees for itself what is rejected by then."""
    found = [run async for run in store.query(Run.of_conversation, conversation_id=conversation_id)]
    return [run for run in found if run.stage == stage and run.status is RunStatus.COMPLETED]


async def _shows(store: AsyncStore, run: Run, rejections: Rejections) -> bool:
    """Whether a run was made without knowing of a rejection."""
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
        if (renamed := redact_row(name, rejections, names)) is not name:
            # Where somebody gives it another name at this moment, that one stays.
            with suppress(ConditionFailed):
                await store.put(renamed, condition=TopicName.topic_name == name.topic_name)
    await store.patch(run, Run.summary.set({**run.summary, "moderated_by": str(rejections.upload_id)}))


async def _names_without(store: AsyncStore, run: Run, rejections: Rejections) -> Mapping[str, str]:
    """What topics are called once rejected words are out, by key."""
    from gateleg.apps.delphi.runs.topic_runs import load_topics
    from gateleg.apps.delphi.topics.redaction import without_words

    topics = await load_topics(store, run, vectors=False)
    return {topic.key: topic.name for layer in without_words(topics.topics, rejections.words) for topic in layer}
