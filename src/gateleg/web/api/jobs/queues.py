"""`/api/jobs/queues` and `/api/jobs/stats`: the state of queues and their statistics."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from gateleg.host.job_views import QueueView
from gateleg.host.queues import WINDOW_MINUTES
from gateleg.jobs.monitor import Count, moments, series
from gateleg.jobs.tables import QueueState
from gateleg.web.api.calls import Viewing
from gateleg.web.api.pages import Cursor, Limit, Listing, page_by_key

router = APIRouter(prefix="/api/jobs", tags=["Jobs"])
Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.:/-]{1,100}$")]


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
    names = [queue] if queue is not None else list(cached) or await call.host.queue.queue_names()
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
    names = await call.host.queue.queue_names()
    page = page_by_key(names, str, secret=call.host.secret, query="/api/jobs/queues", limit=limit, cursor=cursor)
    return Listing(items=[QueueView.of(states.get(name) or QueueState(name=name)) for name in page], next=page.next)
