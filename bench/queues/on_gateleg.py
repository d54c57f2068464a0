"""gateleg on its embedded engine. `BENCH_DURABILITY` says how commits are synced, `BENCH_PROCESSES` how many processes workers share."""

import asyncio
import os
import signal
import statistics
import time
from pathlib import Path
from typing import Any

from gateleg.engine import Engine
from gateleg.jobs import AsyncQueue, Job, JobContext, Jobs, Queue, Submission, Worker
from gateleg.jobs.worker import exclude_loaded_modules
from gateleg.store import AsyncStore, Store
from gateleg.store.transports.embedded import AsyncEmbeddedTransport, EmbeddedTransport
from queues import audit

jobs = Jobs()


@jobs.handler("noop")
async def noop(job: JobContext, config: dict[str, Any]) -> int:
    audit.start(config["sent"])
    return int(config["sent"])


def engine() -> Engine:
    return Engine(os.environ["BENCH_PLACE"] + "/gateleg.db", durability="full" if os.environ["BENCH_DURABILITY"] == "full" else "relaxed")


_queue: Queue | None = None


def queue() -> Queue:
    """The queue of the submitting process, opened once."""
    global _queue
    if _queue is None:
        _queue = Queue(Store(EmbeddedTransport(engine(), owned=True)), jobs)
        _queue.ensure_tables()
    return _queue


def submit(sent: int) -> None:
    queue().submit(Submission("noop", {"sent": sent}))


def submit_many(sent: list[int]) -> None:
    queue().submit_many([Submission("noop", {"sent": one}) for one in sent])


class TimedQueue(AsyncQueue):
    """A queue that notes how long successful claims took."""

    taken: list[float]

    async def claim_several(self, *args: Any, **options: Any) -> list[Job]:
        began = time.perf_counter()
        claimed: list[Job] = await super().claim_several(*args, **options)
        if claimed:
            self.taken.append(time.perf_counter() - began)
        return claimed


def work(workers: int) -> None:
    """One process, or several that share the workers among them; they are forked once everything is imported, as Celery's are."""
    processes = min(workers, int(os.environ["BENCH_PROCESSES"]))
    if processes == 1:
        asyncio.run(_work(workers))
        return
    children = []
    for number in range(processes):
        child = os.fork()
        if child == 0:
            asyncio.run(_work(workers // processes + (number < workers % processes)))
            os._exit(0)
        children.append(child)

    def pass_on(number: int, frame: object) -> None:
        for child in children:
            os.kill(child, number)

    signal.signal(signal.SIGTERM, pass_on)
    for child in children:
        os.waitpid(child, 0)


async def _work(concurrency: int) -> None:
    store = AsyncStore(AsyncEmbeddedTransport(engine(), owned=True))
    timed = TimedQueue(store, jobs)
    timed.taken = []
    worker = Worker(timed, concurrency=concurrency)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
    exclude_loaded_modules()  # as `gateleg worker` does
    await worker.run()
    await store.close()
    if timed.taken:
        with Path(os.environ["BENCH_AUDIT"] + ".claims").open("a") as file:
            file.write(f"{statistics.median(timed.taken) * 1e3}\n")
