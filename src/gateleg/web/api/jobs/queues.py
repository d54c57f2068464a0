"""`/api/jobs/queues` and `/api/jobs/stats`: the state of queues and their statistics."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from gateleg.host.queues import WINDOW_MINUTES
from gateleg.jobs.monitor import Count, moments, series
from gateleg.jobs.tables import QueueState
from gateleg.web.api.calls import Operating, Viewing
from gateleg.web.api.pages import Cursor, Limit, Listing, page_by_key

router = APIRouter(prefix="/api/jobs", tags=["Jobs"])
Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.:/-]{1,100}$")]


class QueueView(BaseModel):
    """The state of a queue."""

    name: str
    mode: Literal["running", "paused", "draining"]
    rate: int = Field(description="Maximum number of starts in `rate_seconds`; 0 for no limit.")
    rate_seconds: int
    changed_at: datetime | None = None
    changed_by: str | None = None

    @classmethod
    def of(cls, state: QueueState) -> "QueueView":
        """A queue's state."""
        return cls(**{name: getattr(state, name) for name in cls.model_fields})


class WorkView(BaseModel):
    """The work done in a period."""

    claimed: int
    lost_claims: int
    completed: int
    failed: int
    retried: int
    cancelled: int
    throughput: float = Field(description="Completed jobs per minute.")
    run_p50: float | None = Field(description="Median run time in seconds.")
    run_p95: float | None = Field(description="95th percentile of the run time in seconds.")
    wait_p50: float | None = Field(description="Median wait in seconds, from when a job became claimable to its start.")
    wait_p95: float | None = Field(description="95th percentile of the wait in seconds.")


class QueueStatsView(BaseModel):
    """The statistics of a queue."""

    queue: str
    mode: str
    waiting: int
    delayed: int
    running: int
    oldest_waiting: float | None = Field(description="Seconds that the oldest claimable job has waited.")
    minutes: int
    work: WorkView
    by_type: dict[str, WorkView]
    waiting_by_type: dict[str, int] = Field(description="Among the first 2,000 waiting jobs.")
    running_by_type: dict[str, int]

    @classmethod
    def of(cls, found: Any) -> "QueueStatsView":
        """A queue's statistics."""
        plain = {name: getattr(found, name) for name in cls.model_fields if name not in ("work", "by_type")}
        return cls(**plain, work=_work(found.work), by_type={name: _work(work) for name, work in found.by_type.items()})


def _work(found: Any) -> WorkView:
    return WorkView(**{name: getattr(found, name) for name in WorkView.model_fields})


@router.get("/stats")
async def get_stats(
    call: Viewing,
    queue: Annotated[str | None, Query(pattern=r"^[A-Za-z0-9_.:/-]{1,100}$")] = None,
    minutes: Annotated[int, Query(ge=1, le=1440)] = WINDOW_MINUTES,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[QueueStatsView]:
    """The statistics of one queue, or of every known queue by name."""
    cached = {stats.queue: stats for stats in await call.host.queue_stats.read()} if queue is None and minutes == WINDOW_MINUTES else {}
    names = [queue] if queue is not None else list(cached) or await call.host.queue_stats.queue_names()
    query = f"/api/jobs/stats?queue={queue or ''}"
    page = page_by_key(names, str, secret=call.host.secret, query=query, limit=limit, cursor=cursor)
    found = [cached.get(name) or await call.host.queue.stats(name, minutes=minutes) for name in page]
    return Listing(items=[QueueStatsView.of(stats) for stats in found], next=page.next)


class HistoryView(BaseModel):
    """Throughput and queue lengths over time."""

    moments: list[datetime] = Field(description="The start times of the points, oldest first.")
    series: dict[str, list[int | None]] = Field(description="One number for each point; null if nothing was recorded.")


_SERIES: tuple[Count, ...] = ("claimed", "completed", "failed", "retried", "cancelled", "lost_claims", "waiting", "running")


@router.get("/history")
async def get_history(
    call: Viewing,
    queue: Annotated[str | None, Query(pattern=r"^[A-Za-z0-9_.:/-]{1,100}$")] = None,
    step: Annotated[int, Query(ge=1, le=1440, description="Minutes from one point to the next.")] = 60,
    points: Annotated[int, Query(ge=1, le=1440)] = 24,
) -> HistoryView:
    """The last day of one queue, or of all, as points of charts. Nothing is kept for longer than two days."""
    hours = await call.host.queue.history(hours=min(48, 1 + -(-step * points // 60)))
    now = call.host.store.setup.now()
    found: dict[str, list[int | None]] = {name: series(hours, name, now, queue=queue, step=step, points=points) for name in _SERIES}
    return HistoryView(moments=moments(now, step=step, points=points), series=found)


@router.get("/queues")
async def list_queues(call: Viewing, limit: Limit = 50, cursor: Cursor = None) -> Listing[QueueView]:
    """The known queues by name, with their mode and rate limit."""
    states = await call.host.queue.states()
    names = await call.host.queue_stats.queue_names()
    page = page_by_key(names, str, secret=call.host.secret, query="/api/jobs/queues", limit=limit, cursor=cursor)
    return Listing(items=[QueueView.of(states.get(name) or QueueState(name=name)) for name in page], next=page.next)


@router.post("/queues/{name:path}/pause")
async def pause(call: Operating, name: Name) -> QueueView:
    """Pause a queue: no more jobs are started; running ones continue."""
    state = await call.host.queue.pause(name, by=call.principal.name)
    await call.note("queue.pause", name)
    return QueueView.of(state)


@router.post("/queues/{name:path}/resume")
async def resume(call: Operating, name: Name) -> QueueView:
    """Resume a queue."""
    state = await call.host.queue.resume(name, by=call.principal.name)
    await call.note("queue.resume", name)
    return QueueView.of(state)


@router.post("/queues/{name:path}/drain")
async def drain(call: Operating, name: Name) -> QueueView:
    """Drain a queue: no new jobs are accepted; waiting ones are still run."""
    state = await call.host.queue.drain(name, by=call.principal.name)
    await call.note("queue.drain", name)
    return QueueView.of(state)


class RateLimit(BaseModel):
    """The rate limit of a queue."""

    model_config = ConfigDict(extra="forbid")

    starts: int = Field(ge=0, le=1_000_000, description="0 removes the limit.")
    seconds: int = Field(default=60, ge=1, le=86_400)


@router.put("/queues/{name:path}/rate")
async def set_rate(call: Operating, name: Name, rate: RateLimit) -> QueueView:
    """Limit the starts of a queue to a number of jobs in each time window. Windows are aligned to the clock."""
    state = await call.host.queue.set_rate(name, rate.starts, seconds=rate.seconds, by=call.principal.name)
    await call.note("queue.rate", name, starts=rate.starts, seconds=rate.seconds)
    return QueueView.of(state)
