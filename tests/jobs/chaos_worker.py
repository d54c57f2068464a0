"""A worker for the fault suite: `python -m tests.jobs.chaos_worker <data> <audit file> <seed> <fault rate>`.

Its store loses requests and answers at the given rate. What it believes to have completed goes into the audit file.
"""

import asyncio
import os
import random
import signal
import sys
from typing import Any

from gateleg.jobs.context import JobContext
from gateleg.jobs.desk import Settings
from gateleg.jobs.direct import DirectTransport
from gateleg.jobs.execution import Execution
from gateleg.jobs.handlers import Handler, Jobs
from gateleg.jobs.queue import AsyncQueue
from gateleg.jobs.rules import Retry
from gateleg.jobs.tables import Job
from gateleg.jobs.worker import Worker
from gateleg.store import AsyncStore
from gateleg.store.transports import AsyncTransport, ServiceError, Unreachable
from gateleg.store.transports.embedded import open_async_embedded

LEASE = 1.0
LINES = 45

jobs = Jobs()


@jobs.handler("work", retry=Retry(times=200, first=0.02, longest=0.2))
async def work(job: JobContext, config: dict[str, Any]) -> dict[str, int]:
    """Writes many lines, and fails now and then."""
    chance = random.Random(f"{job.job_id}:{job.attempt}")
    fails_at = chance.randrange(LINES * 8)
    for number in range(LINES):
        job.log(f"{job.attempt} {number}")
        if number % 9 == 0:
            await asyncio.sleep(chance.random() * 0.15)
        if number == fails_at:
            raise ConnectionError("by chance")
    return {"lines": LINES}


class Faulty:
    """Loses requests before and answers after they were carried out, and throttles."""

    def __init__(self, inner: AsyncTransport, rate: float, seed: str) -> None:
        self.inner, self.rate, self.chance = inner, rate, random.Random(seed)

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        draw = self.chance.random()
        if draw < self.rate / 3:
            raise Unreachable("the request was lost")
        if draw < self.rate * 2 / 3:
            raise ServiceError("ProvisionedThroughputExceededException", "too much")
        reply = await self.inner.call(operation, request)
        if draw < self.rate:
            raise Unreachable("the answer was lost")
        return reply

    async def close(self) -> None:
        await self.inner.close()


class AuditedExecution(Execution):
    """An execution that notes what it believes to have completed."""

    audit: int

    async def carry_out(self) -> Job | None:
        """As usual, with a note."""
        job = await super().carry_out()
        told = "lost" if job is None else job.attempts[-1].outcome
        os.write(self.audit, f"{self.job.job_id} {self.job.attempt} {told}\n".encode())
        return job


class AuditedWorker(Worker):
    """A worker with audited executions."""

    def execution(self, job: Job, handler: Handler) -> Execution:
        """As usual, audited."""
        return AuditedExecution(self.queue, job, handler)


async def main(data: str, audit: str, seed: str, rate: float) -> None:
    """Work until told to stop."""
    AuditedExecution.audit = os.open(audit, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    store = AsyncStore(Faulty(DirectTransport(open_async_embedded(data)), rate, seed))
    queue = AsyncQueue(store, jobs, Settings(lease_seconds=LEASE))
    worker = AuditedWorker(queue, concurrency=4, worker_id=f"w{seed}", idle=(0.01, 0.1), drain_seconds=0.2)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
    os.write(AuditedExecution.audit, f"ready {os.getpid()}\n".encode())
    await worker.run()
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])))
