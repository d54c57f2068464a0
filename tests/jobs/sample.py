"""Handlers and shortcuts for the tests of the queue."""

import asyncio
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.handlers import Jobs
from gateleg.jobs.leases import LeaseObserver
from gateleg.jobs.queue import AsyncQueue, Queue
from gateleg.jobs.retention import Archiver
from gateleg.jobs.rules import Completed, Failed, Retry
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Failure, Job, Results
from gateleg.jobs.tasks import JobContext
from gateleg.jobs.testing import ManualClock
from gateleg.model import spec_of
from gateleg.store import AsyncStore
from gateleg.store.transports.embedded import AsyncEmbeddedTransport, EmbeddedTransport


class Sizes(BaseModel):
    n_components: int = Field(2, ge=1, le=10)


async def _nothing(job: JobContext, config: Any) -> None:
    """Does nothing: most tests end attempts by hand."""


def make_jobs() -> Jobs:
    jobs = Jobs()
    jobs.handler("plain")(_nothing)
    jobs.handler("PCA", config=Sizes, queue="math", priority=60, retry=Retry(times=2, first=10, jitter=0))(_nothing)
    return jobs


DONE = Completed(Results(result_type="SUCCESS"))


def failed(kind: str = "ValueError", final: bool = False) -> Failed:
    return Failed(Failure(kind=kind, message="no"), (kind, "Exception"), final)


def everything(queue: Queue) -> list[Job]:
    """All jobs of a queue, whatever their status."""
    kind = spec_of(queue.tables.job)
    return [kind.decode(item) for item in queue.store.scan(kind.table)]


def submitted(queue: Queue, /, **options: Any) -> Job:
    return queue.submit(Submission("plain", **options)).job


def reaped(queue: Queue, clock: ManualClock, name: str = "default", seconds: float = 31) -> list[Job]:
    """Time passes, as somebody sees it who looks after the leases of a queue: the jobs whose leases have not moved meanwhile."""
    leases = LeaseObserver[UUID]()
    queue.reap(name, leases)
    clock.advance(seconds)
    return queue.reap(name, leases)


def claimed(queue: Queue, selector: CandidateSelector, worker: str = "w1", name: str = "default") -> Job:
    job = queue.claim(selector, name, worker)
    assert job is not None
    return job


def swept(queue: Queue, limit: int = 1000) -> int:
    """Finished jobs that are due are moved to the archive, as a worker on the same store does it; how many."""
    assert isinstance(queue.store.transport, EmbeddedTransport)
    store = AsyncStore(AsyncEmbeddedTransport(queue.store.transport.engine))
    store.setup = queue.store.setup
    return asyncio.run(Archiver(AsyncQueue(store, queue.context.jobs, tables=queue.tables.names)).sweep(limit=limit))
