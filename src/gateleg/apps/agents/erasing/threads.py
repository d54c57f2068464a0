"""Deletes a thread with its runs, messages, tool calls, tasks and files: a small one at once, a large one in a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.erasing.job_types import DELETE_THREAD, DeleteThreadConfig
from gateleg.apps.agents.errors import BusyThread, StillUsed
from gateleg.apps.agents.files import tenant_folder
from gateleg.apps.agents.items import delete_item
from gateleg.apps.agents.running.run_end import end_run, stop_job
from gateleg.apps.agents.running.threads import is_open
from gateleg.apps.agents.tables import Thread
from gateleg.apps.agents.thread_tables import AsyncTask, Message, Run, RunStatus, ToolCall
from gateleg.apps.agents.threads import get_thread
from gateleg.host import submitted_by
from gateleg.jobs import Submission
from gateleg.store import LostRace, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from gateleg.apps.agents.partitions import Partition
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tenancy import Context
    from gateleg.host import Resources
    from gateleg.store import AsyncStore

__all__ = ["SMALL", "delete_whole_thread", "erase_thread"]

#: The maximum number of runs of a thread that is deleted within the request.
SMALL = 20
#: The maximum number of deletion passes while new questions arrive.
_PASSES = 10


async def delete_whole_thread(resources: Resources[AgentsSettings], context: Context, thread_uuid: str) -> UUID | None:
    """Delete a thread that the caller may change, with everything in it. Returns the job that deletes it if the thread is large.

    Raises `NotFoundInPartition`, `NotYours` and `BusyThread`.
    """
    thread = await get_thread(resources.store, context, thread_uuid, change=True)
    if thread.run_count <= SMALL:
        await erase_thread(resources, context.partition, thread_uuid)
        return None
    config = DeleteThreadConfig(endpoint_id=context.endpoint_id, part_id=context.part_id, thread_uuid=thread_uuid)
    once = f"{DELETE_THREAD}/{context.partition_key}/{thread_uuid}"
    submission = Submission(DELETE_THREAD, config, subject=thread_uuid, idempotency_key=once)
    return (await resources.queue.submit(submitted_by(context.principal, submission))).job.job_id


async def erase_thread(
    resources: Resources[AgentsSettings],
    partition: Partition,
    thread_uuid: str,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, int]:
    """Cancel the runs of a thread, delete everything in it, then the thread. Returns the counts by kind. A repeated call continues."""
    store, place = resources.store, {"partition": partition, "thread_uuid": thread_uuid}
    deleted = {"runs": 0, "messages": 0, "tool calls": 0, "files": 0}
    for _ in range(_PASSES):
        thread = await store.find(Thread, **place, consistent=True)
        if thread is None:
            return deleted
        total = thread.run_count + sum(deleted.values())
        await _cancel_open(resources, place)
        deleted["files"] += await _delete_files(resources, partition, place)
        for kind, entity in (("tool calls", ToolCall), ("messages", Message), ("runs", Run)):
            async for item in store.query(entity.of_thread(**place), consistent=True):
                deleted[kind] += await _delete(store, item)
                progress(deleted["runs"], total)
        try:
            await delete_item(store, Thread, place)
        except StillUsed:
            # A new question has arrived in the meantime.
            continue
    if await store.find(Thread, **place, consistent=True) is None:
        return deleted
    raise BusyThread(f"New questions keep arriving in the thread {thread_uuid!r}.")


async def _cancel_open(resources: Resources[AgentsSettings], place: dict[str, Any]) -> None:
    async for run in resources.store.query(Run.of_thread(**place), consistent=True):
        if is_open(run) and await end_run(resources, run, RunStatus.CANCELLED) is not None:
            await stop_job(resources, run)


async def _delete_files(resources: Resources[AgentsSettings], partition: Partition, place: dict[str, Any]) -> int:
    """Delete the files attached to messages of the thread."""
    keys: set[str] = set()
    async for message in resources.store.query(Message.of_thread(**place), consistent=True):
        keys |= {str(file["object_key"]) for file in message.files if file.get("object_key")}
    own = sorted(key for key in keys if key.startswith(tenant_folder(partition)))
    await resources.objects.delete_many(own)
    return len(own)


async def _delete(store: AsyncStore, item: Run | Message | ToolCall) -> int:
    """Delete an item; a run with its task. Returns 0 if it no longer exists or has changed; the next pass handles it."""
    try:
        if isinstance(item, Run) and item.async_task_uuid is not None:
            await store.delete(AsyncTask, partition=item.partition, async_task_uuid=item.async_task_uuid)
        await store.delete(item)
    except (NotFound, LostRace):
        return 0
    return 1
