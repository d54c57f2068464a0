"""What every flow of the queue needs: the store's setup, the handlers, and the settings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from gateleg.jobs.rules import RETENTION
from gateleg.jobs.tables.queue_tables import QueueTables
from gateleg.model import spec_of
from gateleg.store import count
from gateleg.store.flow import Found, Pause, Request, Together
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.jobs.handlers import Jobs
    from gateleg.jobs.tables.job import Job, JobStatus
    from gateleg.model import Query
    from gateleg.store import Stream
    from gateleg.store.flow import Flow, Step
    from gateleg.store.setup import Setup

R = TypeVar("R")
#: Of how many queues it is remembered that they were open.
_DOORS = 1000


@dataclass(frozen=True)
class QueueSettings:
    """How the queue works."""

    #: seconds that a worker may be silent before its job goes to another
    lease_seconds: float = 30.0
    #: how many claimable jobs are looked at for one claim
    window: int = 50
    #: how long an idempotency key is remembered
    remember: timedelta = timedelta(days=7)
    #: how long finished jobs stay in the queue
    retention: Mapping[JobStatus, timedelta] = field(default_factory=lambda: dict(RETENTION))
    #: how long tallies are kept
    tallies: timedelta = timedelta(days=7)
    #: the most bytes of a config, and of a result
    config_limit: int = 200_000
    result_limit: int = 100_000
    #: seconds for which a queue that took jobs in is taken to do so still, so that not every submission has to look
    open_for: float = 1.0
    #: how many dependents are released in the transaction that completes a job; more are released by a job of their own
    inline_dependents: int = 20


class DrainingCache:
    """Which queues took jobs in a moment ago."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def open(self, queue: str, now: float) -> bool:
        """Whether somebody has looked lately, and the queue was not draining."""
        return self._until.get(queue, now) > now

    def seen_open(self, queue: str, until: float) -> None:
        """The queue is not draining; that is taken for granted for a while."""
        if len(self._until) >= _DOORS:
            self._until.clear()
        self._until[queue] = until

    def forget(self, queue: str) -> None:
        """Look again the next time."""
        self._until.pop(queue, None)


@dataclass(frozen=True)
class QueueContext:
    """Where the flows of a queue work: what they are given, and what they need not look for again."""

    setup: Setup
    jobs: Jobs
    settings: QueueSettings = field(default_factory=QueueSettings)
    #: the entities of its items, in tables with the names that the queue was given
    tables: QueueTables = field(default_factory=QueueTables)
    doors: DrainingCache = field(default_factory=DrainingCache, compare=False)

    @property
    def queue_table_name(self) -> str:
        """The name of the table of jobs in the account."""
        return self.setup.name_of(spec_of(self.tables.job).table)

    def now(self) -> datetime:
        """The present time, by the store's clock."""
        return self.setup.now()


def collect_stream(stream: Stream[R], context: QueueContext, *, expired: bool = False) -> Flow[list[R]]:
    """All results of a stream, inside a flow. `expired` shows also what this clock says has expired: the writer's clock may be behind."""
    flow = stream.flow(replace(context.setup, expired=True) if expired else context.setup)
    found: list[R] = []
    try:
        step = next(flow)
        while True:
            if isinstance(step, Found):
                found += step.items
                step = flow.send(None)
                continue
            try:
                reply = yield step
            except (ServiceError, Unreachable) as error:
                step = flow.throw(error)
            else:
                step = flow.send(reply)
    except StopIteration:
        return found


def count_jobs(question: Query[Job], context: QueueContext, *, limit: int | None = None) -> Flow[int]:
    """How many jobs an index holds, inside a flow. Those that wait or run do not expire, so that none of them is read to look."""
    return (yield from count(question, limit=limit).flow(replace(context.setup, expired=True)))


def run_concurrently(flows: Sequence[Flow[R]]) -> Flow[list[R | Exception]]:
    """Several flows at once: what they ask next is asked together. Their results in the same order; what one raised is in its place."""
    results: dict[int, R | Exception] = {}
    steps: dict[int, Step] = {}

    def advance(number: int, reply: Any) -> None:
        steps.pop(number, None)
        try:
            steps[number] = flows[number].throw(reply) if isinstance(reply, Exception) else flows[number].send(reply)
        except StopIteration as end:
            results[number] = end.value
        except Exception as error:
            results[number] = error

    for number in range(len(flows)):
        advance(number, None)
    while steps:
        asking = {number: step for number, step in steps.items() if isinstance(step, Request)}
        if asking:
            replies = yield Together(list(asking.values()))
            for number, reply in zip(asking, replies, strict=True):
                advance(number, reply)
            continue
        # Nothing is left to be asked now. Whoever waits for less waits a little longer.
        yield Pause(max(step.seconds for step in steps.values() if isinstance(step, Pause)))
        for number in list(steps):
            advance(number, None)
    return [results[number] for number in range(len(flows))]
