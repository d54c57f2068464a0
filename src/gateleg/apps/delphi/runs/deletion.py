"""Deletes a conversation with all that belongs to it: runs, results, files of reports, uploads, comments and votes.

The conversation itself goes last, so a deletion that is interrupted can be repeated. Jobs and the audit log stay; neither has texts of
participants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.delphi.errors import ConversationBusy, ConversationMissing
from gateleg.apps.delphi.runs.origin import artifact_folder
from gateleg.apps.delphi.runs.run_tables import LatestRun, Run, StoredComment, StoredConversation, Upload, VotesChunk
from gateleg.apps.delphi.service import RESULTS
from gateleg.jobs import JobStatus

if TYPE_CHECKING:
    from gateleg.jobs import AsyncQueue
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore


async def check_idle(queue: AsyncQueue, conversation_id: str) -> None:
    """Raise `ConversationBusy` if a job on the conversation is waiting or running: it would write results again."""
    states = [JobStatus.PENDING, JobStatus.PROCESSING]
    unfinished = await queue.jobs_where(lambda job: job.of_subject(subject=conversation_id).filter(job.status.is_in(states)), limit=1)
    for job in unfinished:
        raise ConversationBusy(f"Job {job.job_id} on conversation {conversation_id!r} is not finished.")


async def delete_conversation(store: AsyncStore, objects: AsyncObjects, conversation_id: str) -> dict[str, int]:
    """Delete a conversation, and return the numbers of deleted results, files, uploads and runs."""
    if await store.find(StoredConversation, conversation_id=conversation_id, consistent=True) is None:
        raise ConversationMissing(f"There is no conversation {conversation_id!r}.")
    runs = [run async for run in store.query(Run.of_conversation, conversation_id=conversation_id)]
    files = [entry.key async for entry in objects.walk(artifact_folder(conversation_id))]
    await objects.delete_many(files)
    results = 0
    for run in runs:
        for kind in RESULTS:
            results += await store.delete_all(kind.of_job(job_id=run.job_id))
        await store.delete(Run, job_id=run.job_id, stage=run.stage)
    await store.delete_all(LatestRun.of_conversation(conversation_id=conversation_id))
    uploads = [upload async for upload in store.query(Upload.of_conversation, conversation_id=conversation_id)]
    for upload in uploads:
        await store.delete_all(StoredComment.of_upload(upload_id=upload.upload_id))
        await store.delete_all(VotesChunk.of_upload(upload_id=upload.upload_id))
        await store.delete(Upload, upload_id=upload.upload_id)
    await store.delete(StoredConversation, conversation_id=conversation_id)
    return {"results": results, "files": len(files), "uploads": len(uploads), "runs": len(runs)}
