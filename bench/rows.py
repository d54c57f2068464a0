"""The codec, the engine and the queue in processor time, for `bench/before.py`: only what every edition of Gateleg has had.

    python bench/rows.py

Prints microseconds of processor time by row as JSON, the best of several rounds.
"""

import asyncio
import gc
import time
from collections.abc import Callable
from typing import Any

import orjson

from engine import REQUESTS, fill, taking_turns
from gateleg.engine import Engine
from gateleg.jobs import AsyncQueue, JobContext, Jobs, Submission, Worker
from gateleg.model import spec_of
from gateleg.store import AsyncStore
from gateleg.store.transports.embedded import AsyncEmbeddedTransport
from scene import VALUES, Scene

ROUNDS = 8
#: Jobs of one round.
JOBS = 300


def timed(call: Callable[[], object], times: int) -> float:
    """Microseconds of one call."""
    gc.collect()
    gc.disable()
    began = time.process_time()
    for _ in range(times):
        call()
    taken = time.process_time() - began
    gc.enable()
    return taken / times * 1e6


def codec_rows() -> dict[str, tuple[Callable[[], object], int]]:
    """An item to the wire and back."""
    spec, scene = spec_of(Scene), Scene(**VALUES)
    item = spec.encode(scene)
    return {"encode, 30 attributes": (lambda: spec.encode(scene), 400), "decode, 30 attributes": (lambda: spec.decode(item), 400)}


def engine_rows(engine: Engine) -> dict[str, tuple[Callable[[], object], int]]:
    """The requests of `bench/engine.py`."""
    fill(engine.call)
    return {f"engine: {name}": (taking_turns(engine.call, *request), 60) for name, request in REQUESTS.items()}


async def queue_rows() -> dict[str, float]:
    """A submission, and what a worker takes for one job from claim to completion; both for a job of many."""
    # As `gateleg worker` does, in every edition: a job makes a few hundred containers and no cycles.
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    jobs, left = Jobs(), 0
    worker: Any = None

    @jobs.handler("noop")
    async def noop(job: JobContext, config: dict[str, Any]) -> int:
        nonlocal left
        left -= 1
        if left == 0:
            worker.stop()
        return 1

    async with AsyncStore(AsyncEmbeddedTransport(Engine(":memory:"), owned=True)) as store:
        queue = AsyncQueue(store, jobs)
        await queue.ensure_tables()
        began = time.process_time()
        for number in range(JOBS):
            await queue.submit(Submission("noop", {"sent": number}))
        submitted = time.process_time()
        left, worker = JOBS, Worker(queue, concurrency=4)
        await worker.run()
        return {"submit": (submitted - began) / JOBS * 1e6, "claim, run and complete": (time.process_time() - submitted) / JOBS * 1e6}


def main() -> None:
    """Measure and print."""
    best: dict[str, float] = {}
    with Engine(":memory:") as engine:
        rows = codec_rows() | engine_rows(engine)
        for _ in range(ROUNDS):
            found = {name: timed(*row) for name, row in rows.items()} | asyncio.run(queue_rows())
            best = {name: min(best.get(name, taken), taken) for name, taken in found.items()}
    print(orjson.dumps(best).decode())


if __name__ == "__main__":
    main()
