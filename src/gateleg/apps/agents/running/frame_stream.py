"""Follow a run: stream its frames from any index, live or afterwards.

The frames of a run are the events of its jobs, in order. A run ended from outside (cancelled, expired) has no last frame, and a run whose
events have expired has none at all: in both cases the missing frames are rebuilt from the stored run.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import UUID

from gateleg.apps.agents.running.answer_job import end_frame
from gateleg.apps.agents.running.frames import Frame
from gateleg.apps.agents.running.ids import step_of
from gateleg.apps.agents.running.threads import find_run, is_open
from gateleg.apps.agents.running.tool_calls import parse_arguments
from gateleg.apps.agents.running.transcripts import read_run
from gateleg.apps.agents.thread_tables import RunStatus
from gateleg.jobs import JobMissing, follow_async
from gateleg.jobs.tables import ArchivedJob

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateleg.apps.agents.running.transcripts import Transcript
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tenancy import Context
    from gateleg.apps.agents.thread_tables import Run
    from gateleg.host import Resources

__all__ = ["follow_run", "wait_for_run"]

#: Poll interval for a queued run, where no notification arrives.
_POLL_SECONDS = 1.0


async def follow_run(
    resources: Resources[AgentsSettings], context: Context, thread_uuid: str, run_uuid: str, *, after: int = -1
) -> AsyncIterator[Frame]:
    """Stream the frames of a run after an index. The last frame reports the run's end, or that it needs approval.

    Raises `NotFoundInPartition`, before the first frame, for a run that the caller may not see.
    """
    run = await find_run(resources.store, context, thread_uuid, run_uuid)
    return _frames(resources, context, run, after)


async def _frames(resources: Resources[AgentsSettings], context: Context, run: Run, after: int) -> AsyncIterator[Frame]:
    index, last = 0, None
    jobs = await _jobs(resources, context, run)
    for job_id in jobs:
        async for frame in _frames_of(resources, job_id, index, after):
            if frame is None:
                # The job's events have expired: rebuild the frames from the stored run.
                async for told in _stored(resources, context, run, after):
                    yield told
                return
            last, index = frame, frame.index + 1
            if frame.index > after:
                # Another job continued the run after this one ended.
                yield frame.model_copy(update={"kind": "status"}) if frame.ends and job_id != jobs[-1] else frame
    run = await find_run(resources.store, context, run.thread_uuid, run.run_uuid)
    if last is None or not last.ends or last.status != run.status:
        yield end_frame(run).model_copy(update={"index": index})


async def _jobs(resources: Resources[AgentsSettings], context: Context, run: Run) -> list[UUID]:
    """The jobs of a run; polls a queued run until it has one."""
    changed = asyncio.Event()
    stop = resources.queue.changes.listen(changed.set)
    try:
        while run.job_id is None and run.status is RunStatus.QUEUED:
            changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), _POLL_SECONDS)
            run = await find_run(resources.store, context, run.thread_uuid, run.run_uuid)
    finally:
        stop()
    return [UUID(one) for one in (*run.earlier_job_ids, *([run.job_id] if run.job_id else []))]


async def _frames_of(resources: Resources[AgentsSettings], job_id: UUID, first: int, after: int) -> AsyncIterator[Frame | None]:
    """The frames of one job, numbered from `first`; None if its events have expired."""
    # Skip the frames that the reader already has, except the last: it may be the end.
    seen = max(0, after - first)
    try:
        async for update in follow_async(resources.queue, job_id, emitted=seen):
            if isinstance(update.job, ArchivedJob):
                yield None
                return
            begun = first + update.emitted - len(update.events)
            for place, event in enumerate(update.events):
                yield Frame.of_event(event, begun + place)
    except JobMissing:
        yield None


async def _stored(resources: Resources[AgentsSettings], context: Context, run: Run, after: int) -> AsyncIterator[Frame]:
    transcript = await read_run(resources.store, run.partition, run.thread_uuid, run.run_uuid)
    run = await find_run(resources.store, context, run.thread_uuid, run.run_uuid)
    for index, frame in enumerate([*_frames_from_store(run, transcript), end_frame(run)]):
        if index > after:
            yield frame.model_copy(update={"index": index})


def _frames_from_store(run: Run, transcript: Transcript) -> list[Frame]:
    """Rebuild frames from the stored messages and tool calls of a run."""
    found: list[Frame] = []
    for message in transcript.messages:
        step = step_of(run.run_uuid, message.message_uuid)
        if not step:
            continue
        if message.message:
            found.append(Frame(kind="text", delta=message.message, step=step))
        found.append(Frame(kind="message", step=step, id=message.message_uuid))
        for call in transcript.calls:
            if step_of(run.run_uuid, call.tool_call_uuid) == step:
                place: dict[str, Any] = {"step": step, "id": call.tool_call_uuid, "name": call.name}
                found.append(Frame(kind="call", status="in_progress", data=parse_arguments(call.arguments), **place))
                found.append(Frame(kind="result", status=call.status, data=call.content, **place))
    return found


async def wait_for_run(resources: Resources[AgentsSettings], context: Context, thread_uuid: str, run_uuid: str) -> Run:
    """Wait until a run has ended or needs approval, and return it."""
    async for _ in await follow_run(resources, context, thread_uuid, run_uuid):
        pass
    run = await find_run(resources.store, context, thread_uuid, run_uuid)
    assert not is_open(run) or run.status is RunStatus.REQUIRES_ACTION
    return run
