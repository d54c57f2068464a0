"""How long it takes from `job.emit(...)` in a worker to a listener of the job's event stream, and what looking for changes costs.

python bench/events.py [EVENTS]

The worker is a process of its own on the same embedded store; listeners read the server-sent events of the host in this process, without
a network between. "before" writes what handlers say every half second and polls once a second; "now" writes every 0.04 s and watches
SQLite's data_version. Both run one after the other in the same run. Printed: milliseconds for the median and for 95 of 100 events, the
writes of the worker for all events, the processor time of the host for one event, and that of a host with a listener of a job that says
nothing. Listeners connect before the first event.
"""

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import orjson
from starlette.requests import Request

from gateleg.host.live import Hub
from gateleg.jobs import AsyncQueue, JobContext, Jobs, Submission, Worker
from gateleg.jobs.tables.records import EventChunk
from gateleg.store import AsyncStore
from gateleg.web.sse import job_stream

jobs = Jobs()
#: Seconds between two events: 25 tokens a second.
PAUSE = 0.04
IDLE = 3.0
#: Seconds before the first event, in which listeners connect.
CONNECTING = 3.0


@jobs.handler("speak")
async def speak(job: JobContext, config: dict[str, Any]) -> None:
    """Emit the time, again and again."""
    await asyncio.sleep(config["seconds"])
    for _ in range(config["events"]):
        job.emit({"at": time.time()})
        await asyncio.sleep(PAUSE)


async def work(folder: str, flush: float) -> None:
    """Run jobs in this process until it is ended."""
    from gateleg.jobs.worker import worker as module

    setattr(module, "EMBEDDED_FLUSH_SECONDS", flush)  # noqa: B010
    async with AsyncStore.connect(f"embedded:{folder}") as store:
        queue = AsyncQueue(store, jobs)
        await queue.ensure_tables()
        await Worker(queue).run()


async def listen(queue: AsyncQueue, hub: Hub, job_id: Any, delays: list[float]) -> None:
    """Read the stream of a job to its end, and note how old each event is when it comes to this listener."""

    async def welcome() -> bool:
        return True

    stream = await job_stream(queue, hub, job_id, Request({"type": "http", "headers": []}), welcome)
    async for part in stream.body_iterator:
        now = time.time()
        text = part if isinstance(part, bytes) else str(part).encode()
        for one in text.split(b"\n\n"):
            if b"event: emit" in one:
                delays += [now - emitted["event"]["at"] for emitted in orjson.loads(one.partition(b"data: ")[2])]


async def measure(name: str, flush: float, *, watching: bool, events: int) -> None:
    """One way, with one listener and with two hundred."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--work", folder, str(flush)]
        async with AsyncStore.connect(f"embedded:{folder}") as store:
            queue, hub = AsyncQueue(store, jobs), Hub()
            if not watching:
                queue.changes._transport = None
            await queue.ensure_tables()
            process = subprocess.Popen(command)
            try:
                await asyncio.sleep(2.0)
                for listeners in (1, 200):
                    job_id = (await queue.submit(Submission("speak", {"events": events, "seconds": CONNECTING}))).job.job_id
                    delays: list[float] = []
                    began = time.process_time()
                    await asyncio.gather(*(listen(queue, hub, job_id, delays) for _ in range(listeners)))
                    each = (time.process_time() - began) / events * 1000
                    chunks = await store.count(EventChunk.of_job(job_id=job_id))
                    p50, p95 = statistics.median(delays), statistics.quantiles(delays, n=20)[18]
                    print(
                        f"{name:7} {listeners:4} listeners   median {p50 * 1000:6.0f} ms   95 % under {p95 * 1000:6.0f} ms   "
                        f"{events} events in {chunks} writes   {each:.1f} ms of processor time an event"
                    )
                job_id = (await queue.submit(Submission("speak", {"events": 0, "seconds": IDLE}))).job.job_id
                began = time.process_time()
                await listen(queue, hub, job_id, [])
                print(f"{name:7} listening to a silent job: {(time.process_time() - began) / IDLE:.2%} of a processor")
            finally:
                process.kill()
                process.wait()


async def main(events: int) -> None:
    """Both ways."""
    await measure("before", 0.5, watching=False, events=events)
    await measure("now", 0.04, watching=True, events=events)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        asyncio.run(work(sys.argv[2], float(sys.argv[3])))
    else:
        asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
