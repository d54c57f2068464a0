"""Jobs that may be what ends their workers: they run alone, in a process of their own where that can be."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gateleg.jobs.errors import BadHandler
from gateleg.jobs.rules import is_suspect
from gateleg.jobs.tasks import Task
from gateleg.jobs.worker.processes import module_of

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.jobs.handlers import Handler
    from gateleg.jobs.tables.job import Job


def confined(handler: Handler) -> Handler:
    """The handler in a process of its own, if one can get it; otherwise as it is."""
    if handler.factory is not None:
        return replace(handler, runs="process")
    wanted = [handler.handle] if handler.config is None else [handler.handle, handler.config]
    return replace(handler, runs="process") if all(map(_importable, wanted)) else handler


def _importable(named: Any) -> bool:
    try:
        # The module that was started with `python -m` is imported by another name.
        module_of(named)
        module = sys.modules[named.__module__]
    except (BadHandler, KeyError, AttributeError):
        return False
    found = getattr(module, getattr(named, "__qualname__", ""), None)
    return (found.function if isinstance(found, Task) else found) is named


class Places:
    """The jobs that a worker has, and which of them are to run alone: one after another, and each with nothing beside it."""

    def __init__(self) -> None:
        self._taken: set[UUID] = set()
        self._alone: list[UUID] = []
        self._left = asyncio.Event()

    def take(self, job: Job) -> None:
        """A job has been claimed."""
        self._taken.add(job.job_id)
        if is_suspect(job):
            self._alone.append(job.job_id)

    def leave(self, job: Job) -> None:
        """Nothing of a job is left in the worker."""
        self._taken.discard(job.job_id)
        if job.job_id in self._alone:
            self._alone.remove(job.job_id)
        self._left.set()

    @property
    def reserved(self) -> bool:
        """Whether a job is here that must run alone, so that no other may be claimed."""
        return bool(self._alone)

    async def turn(self, job: Job) -> None:
        """Wait until a job can run alone."""
        while self._alone[0] != job.job_id or self._taken - set(self._alone):
            self._left.clear()
            await self._left.wait()
