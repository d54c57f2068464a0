"""Claiming and completing jobs as a worker does, in processor time and in Python functions entered, for `bench/ablation.py`.

    python -m queues.claims [--rounds 40]        in the folder bench

A worker's loop shares commits among the jobs of one turn; both figures are for one job of turns with ten.
"""

import argparse
import asyncio
import gc
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from gateleg.engine import Engine
from gateleg.jobs import AsyncQueue, Job, Submission
from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.rules import Completed
from gateleg.jobs.tables import Results
from gateleg.jobs.worker.polling import with_group_commit
from gateleg.store import AsyncStore
from gateleg.store.transports.embedded import AsyncEmbeddedTransport
from queues.table import jobs

DONE = Completed(Results(result_type="SUCCESS"))
#: Jobs of a round, and of one turn of the worker's loop.
ROUND, TURN = 200, 10


class Bench:
    """A queue in memory, as a worker has it."""

    def __init__(self, queue: AsyncQueue) -> None:
        self.queue = queue
        self.selector = CandidateSelector(time.monotonic)
        self.claimed: list[Job] = []

    async def claim(self) -> None:
        """Claim all jobs."""
        while len(self.claimed) < ROUND:
            self.claimed += await self.queue.claim_several(self.selector, "default", "bench", TURN)

    async def finish(self) -> None:
        """Complete all of them, those of one turn together."""
        while self.claimed:
            turn = [self.claimed.pop() for _ in range(TURN)]
            await asyncio.gather(*(self.queue.finish(job, DONE, unchanged=True) for job in turn))


async def _timed(act: Callable[[], Awaitable[None]]) -> float:
    gc.collect()
    gc.disable()
    start = time.process_time()
    await act()
    taken = time.process_time() - start
    gc.enable()
    return taken / ROUND * 1e6


async def _counted(act: Callable[[], Awaitable[None]]) -> int:
    entered = 0

    def note_call(frame: Any, event: str, argument: Any) -> None:
        nonlocal entered
        entered += event == "call"

    sys.setprofile(note_call)
    try:
        await act()
    finally:
        sys.setprofile(None)
    return round(entered / ROUND)


async def measure(rounds: int) -> dict[str, tuple[float, int]]:
    """For both steps the best microseconds of a job, and the functions that it enters."""
    store = AsyncStore(AsyncEmbeddedTransport(Engine(":memory:"), owned=True))
    bench = Bench(with_group_commit(AsyncQueue(store, jobs)))
    await bench.queue.ensure_tables()
    best: dict[str, tuple[float, int]] = {}
    for turn in range(rounds + 1):
        await bench.queue.submit_many([Submission("noop") for _ in range(ROUND)])
        for name, act in (("claim", bench.claim), ("complete", bench.finish)):
            if turn < rounds:
                best[name] = (min(best.get(name, (float("inf"), 0))[0], await _timed(act)), 0)
            else:
                best[name] = (best[name][0], await _counted(act))
    await store.close()
    return best


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    print(orjson.dumps(asyncio.run(measure(parser.parse_args().rounds))).decode())
