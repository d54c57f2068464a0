"""Shutdown of a worker: wait for the running jobs, stop jobs that take too long, and release them for other workers."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from gateleg.jobs.worker.attempt import Execution

_log = logging.getLogger("gateleg.jobs.worker")
#: How long handlers have to end when they are asked to stop after the drain time.
_STOP_GRACE_SECONDS = 2.0
#: How long the worker then tries to write their outcomes.
_WRITE_GRACE_SECONDS = 5.0
#: How long to wait for a cancelled write.
_CANCEL_GRACE_SECONDS = 1.0
#: A worker ends at most this many seconds after its drain time, whatever handlers and the store do: the times above and its last report.
DRAIN_GRACE = 10.0
#: How often a stopping worker logs which jobs it waits for, and how many of them it names.
_LOG_INTERVAL_SECONDS = 5.0
_MAX_NAMED_JOBS = 20


async def drain(running: Mapping[UUID, Execution], tasks: set[asyncio.Task[None]], seconds: float) -> None:
    """Wait up to `seconds` for the running jobs, and release jobs that have not ended. Returns at most `DRAIN_GRACE` seconds later.

    `running` and `tasks` change while this waits: jobs that end are removed.
    """
    executions = list(running.values())
    await _wait_for_jobs(running, tasks, seconds)
    if running:
        _log.warning("drain time is over: stopping and releasing %s", _names(running.values()))
    for execution in list(running.values()):
        execution.stop("draining", grace=_STOP_GRACE_SECONDS)
    if tasks:
        _, unfinished = await asyncio.wait(set(tasks), timeout=_STOP_GRACE_SECONDS + _WRITE_GRACE_SECONDS)
        for task in unfinished:
            # The store does not respond. Other workers take these jobs when their leases expire.
            task.cancel()
        if unfinished:
            await asyncio.wait(unfinished, timeout=_CANCEL_GRACE_SECONDS)
    still_running = [execution for execution in executions if execution.run.alive]
    if still_running:
        _log.warning("these jobs did not stop when asked to, so other workers will run them again: %s", _names(still_running))


async def _wait_for_jobs(running: Mapping[UUID, Execution], tasks: set[asyncio.Task[None]], seconds: float) -> None:
    loop = asyncio.get_running_loop()
    deadline, message = loop.time() + seconds, "shutting down: waiting up to %g s for %s"
    while tasks and (left := deadline - loop.time()) > 0:
        _log.info(message, round(left, 1), _names(running.values()) or "outcomes to be written")
        await asyncio.wait(set(tasks), timeout=min(left, _LOG_INTERVAL_SECONDS))
        message = "shutting down: still waiting, %g s left, for %s"


def _names(executions: Iterable[Execution]) -> str:
    """Types and ids of some jobs, for a log line."""
    names = [f"{execution.job.job_type} {execution.job.job_id}" for execution in executions]
    more = len(names) - _MAX_NAMED_JOBS
    return ", ".join([*names[:_MAX_NAMED_JOBS], *([f"and {more} more"] if more > 0 else [])])
