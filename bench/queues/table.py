"""What the queue costs on its table: requests and request units of a job, and what finished jobs cost those that are not."""

import os
import tempfile
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from gateleg.engine import Engine
from gateleg.jobs import Job, JobContext, Jobs, JobStatus, Queue, Submission
from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.rules import Completed
from gateleg.jobs.tables import Attempt, Results
from gateleg.model import spec_of
from gateleg.store import Store
from gateleg.store.transports.embedded import EmbeddedTransport

if TYPE_CHECKING:
    from collections.abc import Callable

DONE = Completed(Results(result_type="SUCCESS"))
jobs = Jobs()


@jobs.handler("noop")
async def noop(job: JobContext, config: dict[str, Any]) -> None:
    """Does nothing: attempts are ended by hand."""


class Metered(EmbeddedTransport):
    """A transport that adds up what DynamoDB would count."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.requests: Counter[str] = Counter()
        self.units: Counter[str] = Counter()

    def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        if operation.endswith(("Table", "TimeToLive", "Tables")):
            return super().call(operation, request)
        reply = super().call(operation, request | {"ReturnConsumedCapacity": "TOTAL"})
        used = reply.get("ConsumedCapacity", [])
        kind = "read" if operation in ("GetItem", "Query", "BatchGetItem") else "write"
        self.requests[kind] += 1
        self.units[kind] += sum(one["CapacityUnits"] for one in (used if isinstance(used, list) else [used]))
        return reply


def units(console: Console, count: int = 200) -> None:
    """Requests and units of each step in the life of a job."""
    with Engine(":memory:") as engine:
        transport = Metered(engine)
        queue = Queue(Store(transport), jobs)
        queue.ensure_tables()
        selector = CandidateSelector(time.monotonic, fresh_for=60)
        running: list[Job] = []

        def submit() -> None:
            for _ in range(count):
                queue.submit(Submission("noop"))

        def claim() -> None:
            while len(running) < count:
                running.extend(queue.claim_several(selector, "default", "bench", 10))

        def renew() -> None:
            for job in running:
                queue.renew(job)

        def finish() -> None:
            for job in running:
                queue.finish(job, DONE)

        steps: dict[str, Callable[[], None]] = {"submit": submit, "claim": claim, "heartbeat": renew, "finish": finish}
        table = Table("of one job", "reads", "read units", "writes", "write units", title="What DynamoDB would count", title_justify="left")
        sums: Counter[str] = Counter()
        for name, step in steps.items():
            transport.requests.clear()
            transport.units.clear()
            step()
            row = {f"{kind} requests": transport.requests[kind] / count for kind in ("read", "write")}
            row |= {f"{kind} units": transport.units[kind] / count for kind in ("read", "write")}
            if name != "heartbeat":
                sums.update(row)
            table.add_row(name, *_cells(row))
        table.add_row("in all, without heartbeats", *_cells(sums), style="bold")
        console.print(table)


def _cells(row: dict[str, Any]) -> list[str]:
    return [f"{row[name]:.2f}" for name in ("read requests", "read units", "write requests", "write units")]


def finished(console: Console, count: int) -> None:
    """Claiming and completing in two tables, in turn: one is empty, one holds many finished jobs."""
    with tempfile.TemporaryDirectory() as place:
        empty, full = _opened(f"{place}/empty.db"), _opened(f"{place}/full.db")
        began = time.perf_counter()
        load(full, count)
        console.print(f"{count:,} finished jobs written in {time.perf_counter() - began:.0f} s", style="dim")
        pairs = [(_round(empty), _round(full)) for _ in range(15)]
        mine, theirs = min(one for one, _ in pairs), min(other for _, other in pairs)
        ratio = theirs / mine
        told = f"A claim and a completion: {mine:,.0f} µs in an empty table, {theirs:,.0f} µs with {count:,} finished jobs, {ratio:.2f}x"
        console.print(f"{told} (goal: at most 1.2x, {'met' if ratio <= 1.2 else '[bold]missed[/bold]'})\n")
        for queue in (empty, full):
            queue.store.close()


def _opened(path: str) -> Queue:
    queue = Queue(Store(EmbeddedTransport(Engine(path, durability="relaxed"), owned=True)), jobs)
    queue.ensure_tables()
    return queue


def _round(queue: Queue, count: int = 100) -> float:
    """Microseconds for one job, of processor time: other programs matter less for it."""
    queue.submit_many([Submission("noop") for _ in range(count)])
    selector = CandidateSelector(time.monotonic)
    began = time.process_time()
    done = 0
    while done < count:
        for job in queue.claim_several(selector, "default", "bench", 10):
            queue.finish(job, DONE)
            done += 1
    return (time.process_time() - began) / count * 1e6


def load(queue: Queue, count: int) -> None:
    """Write finished jobs as they would be in the table, past the queue."""
    (done,) = queue.submit_many([Submission("noop")])
    (job,) = queue.claim_several(CandidateSelector(time.monotonic), "default", "bench", 1)
    queue.finish(job, DONE)
    final = queue.get(done.job.job_id)
    assert final.status == JobStatus.COMPLETED
    assert isinstance(final.attempts[0], Attempt)
    transport = queue.store.transport
    assert isinstance(transport, EmbeddedTransport)
    item = spec_of(Job).encode(final)
    for first in range(0, count, 500):
        group = transport.engine.begin_group()
        for start in range(first, min(count, first + 500), 25):
            batch = [{"PutRequest": {"Item": item | {"job_id": {"S": _uuid()}}}} for _ in range(min(25, count - start))]
            transport.call("BatchWriteItem", {"RequestItems": {queue.tables.all[0].name: batch}})
        group.commit()


def _uuid() -> str:
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
