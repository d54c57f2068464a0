"""A worker that kills itself: `python -m tests.apps.rag.ingesting.mortal_worker FOLDER JOB COUNT`.

It dies by SIGKILL before the operation of that number which an ingestion sends to the store, the objects or the index. If an ingestion
needs fewer, the worker stops when the job has ended.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

from gateleg.apps.rag.application import application
from gateleg.apps.rag.index.registry import Indexes
from gateleg.apps.rag.ingesting import ingestion, reembedding
from gateleg.host.host import Host
from gateleg.host.settings import load_settings
from gateleg.jobs import AsyncQueue, QueueSettings, Worker, follow_async
from gateleg.objects import ThreadedObjects
from gateleg.store import AsyncStore


def worker_of(host: Host, folder: Path) -> Worker:
    """A worker whose jobs are soon taken over when it dies."""
    queue = AsyncQueue(host.store, host.queue.context.jobs, QueueSettings(lease_seconds=2.0))
    return Worker(queue, concurrency=1, scratch=folder / "scratch")


class Death:
    """Counts the operations of an ingestion, and comes before one of them."""

    def __init__(self, count: int) -> None:
        self.left = count
        self.begun = False

    def before(self, kind: type, name: str) -> None:
        """Count the calls of a method."""
        original = getattr(kind, name)

        async def counted(*args: Any, **options: Any) -> Any:
            self.left -= self.begun
            if self.left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return await original(*args, **options)

        setattr(kind, name, counted)

    def _begin_at(self, kind: Any) -> None:
        original = kind.run

        async def run(own: Any) -> Any:
            self.begun = True
            return await original(own)

        kind.run = run

    def watch(self) -> None:
        """Begin to count when the first document is opened, or the collection that is embedded anew."""
        for kind in (ingestion._Ingestion, reembedding._Reembedding):
            self._begin_at(kind)
        self.before(AsyncStore, "carry_out")
        self.before(ThreadedObjects, "put")
        self.before(ThreadedObjects, "delete")
        self.before(Indexes, "run")


async def finish(host: Host, folder: Path, job_id: UUID) -> None:
    """Work until a job has ended."""
    worker = worker_of(host, folder)
    running = asyncio.ensure_future(worker.run())
    async for _ in follow_async(host.queue, job_id):
        pass
    worker.stop()
    await running


async def main(folder: Path, job_id: UUID, count: int) -> None:
    Death(count).watch()
    flags = {"store": f"embedded:{folder}/store?durability=relaxed", "objects": f"dir:{folder}/objects", "data": folder}
    async with Host.open(load_settings(flags=flags, environ={}), [application]) as host:
        await finish(host, folder, job_id)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), UUID(sys.argv[2]), int(sys.argv[3])))
