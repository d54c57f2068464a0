"""How long an update, a claim and a completion hold the engine's write lock, for `bench/ablation.py`: what other writers wait for.

    python bench/write_lock.py [--rounds 5]

Microseconds of processor time between getting the lock and giving it back, the best of all rounds, on a file with relaxed durability. The
update has a condition, a counter and two index keys. Claims and completions are those of a worker, whose writes share commits: for one job
of turns with ten.
"""

import argparse
import asyncio
import gc
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import orjson

from gateleg.engine import Engine
from gateleg.engine.database import Database, WriteGroup, WriteTransaction
from gateleg.jobs import AsyncQueue, Submission
from gateleg.jobs.worker.polling import with_group_commit
from gateleg.store import AsyncStore
from gateleg.store.transports.embedded import AsyncEmbeddedTransport
from queues.claims import ROUND, Bench
from queues.table import jobs

#: Updates of one round, and the items that they take turns with.
UPDATES, ITEMS = 2_000, 20
TABLE: dict[str, Any] = {
    "TableName": "Work",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "state", "owner", "at")],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": f"by-{hash_key}",
            "KeySchema": [{"AttributeName": hash_key, "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
        for hash_key in ("state", "owner")
    ],
}


class LockTimer:
    """Adds up the processor time in which this thread holds the write lock."""

    def __init__(self) -> None:
        self.held = 0
        self._since = 0

    def install(self) -> None:
        """Replace the engine's transactions by timed ones."""
        timer = self

        class TimedWrite(WriteTransaction):
            def __enter__(self) -> Any:
                connection = super().__enter__()
                if not self._grouped:
                    timer._since = time.thread_time_ns()
                return connection

            def __exit__(self, *error: Any) -> None:
                super().__exit__(*error)
                if not self._grouped:
                    timer.held += time.thread_time_ns() - timer._since

        begin, commit = Database.begin_group, WriteGroup.commit

        def begin_group(database: Database) -> WriteGroup:
            group = begin(database)
            timer._since = time.thread_time_ns()
            return group

        def commit_group(group: WriteGroup) -> None:
            commit(group)
            timer.held += time.thread_time_ns() - timer._since

        def write_item(database: Database) -> AbstractContextManager[Any]:
            return TimedWrite(database, savepoint=False)

        Database.begin_group, Database.write_item, WriteGroup.commit = begin_group, write_item, commit_group  # type: ignore[method-assign, assignment]

    def measure(self, act: Callable[[], object], times: int) -> float:
        """Microseconds in the lock for each of some calls."""
        gc.collect()
        gc.disable()
        self.held = 0
        act()
        gc.enable()
        return self.held / times / 1000


def request(number: int) -> dict[str, Any]:
    """One update of an item that changes both its index entries."""
    return {
        "TableName": "Work",
        "Key": {"id": {"S": f"{number % ITEMS}"}},
        "UpdateExpression": "SET #state = :state, #owner = :owner, #at = :at ADD tries :one",
        "ConditionExpression": "attribute_not_exists(tries) OR tries < :most",
        "ExpressionAttributeNames": {"#state": "state", "#owner": "owner", "#at": "at"},
        "ExpressionAttributeValues": {
            ":state": {"S": "RUNNING" if number // ITEMS % 2 else "READY"},
            ":owner": {"S": "worker"},
            ":at": {"S": f"{number:012d}"},
            ":one": {"N": "1"},
            ":most": {"N": "1000000000"},
        },
    }


def update(engine: Engine, requests: list[dict[str, Any]]) -> None:
    """Carry them out one after another."""
    for one in requests:
        engine.call("UpdateItem", one)


def measure(folder: Path, rounds: int) -> dict[str, float]:
    """The best figure of each row."""
    timer = LockTimer()
    timer.install()
    best: dict[str, float] = {}

    def enter(row: str, figure: float) -> None:
        best[row] = min(best.get(row, figure), figure)

    with Engine(folder / "items.db", durability="relaxed") as engine:
        engine.call("CreateTable", TABLE)
        for turn in range(rounds):
            requests = [request(turn * UPDATES + number) for number in range(UPDATES)]
            enter("lock: update", timer.measure(lambda given=requests: update(engine, given), UPDATES))  # type: ignore[misc]
    loop = asyncio.new_event_loop()
    engine = Engine(folder / "jobs.db", durability="relaxed")
    store = AsyncStore(AsyncEmbeddedTransport(engine, owned=True))
    bench = Bench(with_group_commit(AsyncQueue(store, jobs)))
    loop.run_until_complete(bench.queue.ensure_tables())
    for _ in range(rounds):
        loop.run_until_complete(bench.queue.submit_many([Submission("noop") for _ in range(ROUND)]))
        enter("lock: claim", timer.measure(lambda: loop.run_until_complete(bench.claim()), ROUND))
        enter("lock: complete", timer.measure(lambda: loop.run_until_complete(bench.finish()), ROUND))
    loop.run_until_complete(store.close())
    loop.close()
    return best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        print(orjson.dumps(measure(Path(folder), rounds)).decode())


if __name__ == "__main__":
    main()
