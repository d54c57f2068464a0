"""Jobs that may have crashed their workers run alone, in their own process if their handler can be imported there."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gateleg.jobs.errors import BadHandler
from gateleg.jobs.rules import must_run_alone
from gateleg.jobs.tasks import Task
from gateleg.jobs.worker.processes import module_of

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.jobs.handlers import Handler
    from gateleg.jobs.tables.job import Job


def in_own_process(handler: Handler) -> Handler:
    """The handler with `runs="process"` if another process can import it; otherwise unchanged."""
    if handler.factory is not None:
        return replace(handler, runs="process")
    required = [handler.handle] if handler.config is None else [handler.handle, handler.config]
    return replace(handler, runs="process") if all(map(_is_importable, required)) else handler


def _is_importable(target: Any) -> bool:
    try:
        # A module started with `python -m` is imported under another name.
        module_of(target)
        module = sys.modules[target.__module__]
    except (BadHandler, KeyError, AttributeError):
        return False
    found = getattr(module, getattr(target, "__qualname__", ""), None)
    return (found.function if isinstance(found, Task) else found) is target


class Quarantine:
    """The jobs of a worker, and which of them must run alone, with no other job at the same time."""

    def __init__(self) -> None:
        self._jobs: set[UUID] = set()
        self._alone: list[UUID] = []
        self._job_removed = asyncio.Event()

    def add(self, job: Job) -> None:
        """Record that a claimed job starts."""
        self._jobs.add(job.job_id)
        if must_run_alone(job):
            self._alone.append(job.job_id)

    def remove(self, job: Job) -> None:
        """Record that a job has ended completely."""
        self._jobs.discard(job.job_id)
        if job.job_id in self._alone:
            self._alone.remove(job.job_id)
        self._job_removed.set()

    @property
    def active(self) -> bool:
        """Whether the worker has a job that must run alone, so that it must not start another."""
        return bool(self._alone)

    async def wait_until_alone(self, job: Job) -> None:
        """Wait until no other job runs in this worker."""
        while self._alone[0] != job.job_id or self._jobs - set(self._alone):
            self._job_removed.clear()
            await self._job_removed.wait()
