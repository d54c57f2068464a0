"""A worker for the fault suite: `python -m tests.jobs.chaos_worker <data> <audit file> <seed> <fault rate> <clock offset> <lease>`.

Its store loses requests and answers at the given rate, and its clock is ahead by the given seconds. What it believes to have completed goes
into the audit file.
"""

import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from gateleg.engine import Engine
from gateleg.engine.database import WriteGroup
from gateleg.jobs.handlers import Handler, Jobs
from gateleg.jobs.queue import AsyncQueue
from gateleg.jobs.queue_context import QueueSettings
from gateleg.jobs.rules import Retry
from gateleg.jobs.tables.job import Job
from gateleg.jobs.tasks import JobContext
from gateleg.jobs.worker.attempt import Execution
from gateleg.jobs.worker.worker import Worker
from gateleg.store import AsyncStore
from gateleg.store.transports import ServiceError, Unreachable
from gateleg.store.transports.embedded import AsyncEmbeddedTransport, GroupCommitTransport, database_file

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


@jobs.handler("ends-its-process", retry=Retry(times=1, first=0.02))
async def ends_its_process(job: JobContext, config: dict[str, Any]) -> None:
    """Takes its worker with it, unless it has a process of its own."""
    os._exit(1)


@jobs.handler("takes-long", retry=Retry(times=3, first=0.02))
async def takes_long(job: JobContext, config: dict[str, Any]) -> None:
    """Is not done when its worker is ended by another job."""
    await asyncio.sleep(2)


@jobs.handler("waits-for-a-file", retry=Retry(times=3, first=0.02))
async def waits_for_a_file(job: JobContext, config: dict[str, Any]) -> None:
    """Runs until the test writes a file, so it lasts for as many leases as the test wants to see."""
    while not Path(config["file"]).exists():
        await asyncio.sleep(0.05)


@jobs.handler("at-once", retry=Retry(times=3, first=0.02))
async def at_once(job: JobContext, config: dict[str, Any]) -> None:
    """Ends when it begins."""


@jobs.handler("fails-once", retry=Retry(times=3, first=8.0, jitter=0.0))
async def fails_once(job: JobContext, config: dict[str, Any]) -> None:
    """Is put off by the clock of its first worker, and ends when it begins again."""
    if job.attempt == 1:
        raise ConnectionError("the first time")


class Fate:
    """Whether a request is lost before it is carried out, refused for now, or its answer is lost after."""

    def __init__(self, rate: float, seed: str) -> None:
        self.rate, self.chance = rate, random.Random(seed)

    def before(self) -> bool:
        """Lose or refuse a request now and then; whether its answer is to be lost."""
        draw = self.chance.random()
        if draw < self.rate / 3:
            raise Unreachable("the request was lost")
        if draw < self.rate * 2 / 3:
            raise ServiceError("ProvisionedThroughputExceededException", "too much")
        return draw < self.rate

    @staticmethod
    def after(lost: bool) -> None:
        """Lose the answer."""
        if lost:
            raise Unreachable("the answer was lost")


class FaultyThreads(AsyncEmbeddedTransport):
    """The usual transport, with faults."""

    fate: Fate

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        lost = self.fate.before()
        reply = await super().call(operation, request)
        self.fate.after(lost)
        return reply


class Faulty(GroupCommitTransport):
    """The transport of a worker, with faults of single requests."""

    fate: Fate

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self._fated(lambda: GroupCommitTransport.execute(self, operation, request))

    def prepare_call(self, operation: str, request: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        step = super().prepare_call(operation, request)
        return lambda: self._fated(step)

    def _fated(self, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        lost = self.fate.before()
        reply = ask()
        self.fate.after(lost)
        return reply


class FaultyEngine(Engine):
    """An engine with faults of whole groups: one is never begun, rolled back, or its commit is not heard of."""

    fate: Fate

    def begin_group(self) -> WriteGroup:
        undone = self.fate.chance.random() < self.fate.rate / 2
        lost = self.fate.before()
        group = super().begin_group()
        commit = group.commit

        def faulty_commit() -> None:
            if undone:
                group.roll_back()
                raise ServiceError("InternalServerError", "nothing of it was written", status=500)
            commit()
            self.fate.after(lost)

        group.commit = faulty_commit  # type: ignore[method-assign]
        return group


class AuditedExecution(Execution):
    """An execution that notes what it believes to have completed."""

    audit: int

    async def execute(
        self, vacate: Callable[[], None] = lambda: None, turn: Callable[[], Coroutine[Any, Any, None]] | None = None
    ) -> Job | None:
        """As usual, with a note."""
        job = await super().execute(vacate, turn)
        told = "lost" if job is None else job.attempts[-1].outcome
        os.write(self.audit, f"{self.job.job_id} {self.job.attempt} {told}\n".encode())
        return job


class AuditedWorker(Worker):
    """A worker with audited executions."""

    def execution(self, job: Job, handler: Handler) -> Execution:
        """As usual, audited."""
        return AuditedExecution(self.queue, job, handler, self.resources)


async def main(data: str, audit: str, seed: str, rate: float, offset: float, lease: float) -> None:
    """Work until told to stop."""
    AuditedExecution.audit = os.open(audit, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    engine = FaultyEngine(database_file(data))
    usual = FaultyThreads(engine, owned=True)
    transport = Faulty(usual)
    engine.fate = usual.fate = transport.fate = Fate(rate, seed)
    store = AsyncStore(transport, clock=lambda: time.time() + offset)
    queue = AsyncQueue(store, jobs, QueueSettings(lease_seconds=lease))
    worker = AuditedWorker(queue, concurrency=4, worker_id=f"w{seed}", idle=(0.01, 0.1), drain_seconds=0.2)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
    os.write(AuditedExecution.audit, f"ready {os.getpid()}\n".encode())
    await worker.run()
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], *map(float, sys.argv[4:])))
