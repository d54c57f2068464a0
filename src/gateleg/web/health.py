"""`/health`, `/ready` and `/metrics`, for monitoring."""

import asyncio

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, Field

import gateleg
from gateleg.host.errors import Refusal
from gateleg.host.metrics import exposed, host_families
from gateleg.web.api.calls import Viewing, host_of

router = APIRouter(tags=["Health"])
#: Seconds for which a successful check is reused.
_CACHE_SECONDS = 5.0


class Alive(BaseModel):
    """The host is running."""

    status: str = "ok"
    version: str = gateleg.__version__


class Ready(Alive):
    """The host is running and can work."""

    unreadable_jobs: list[str] = Field(
        default=[], description="Items of the job table that are not valid jobs, each with what is wrong; only for callers with a key."
    )


class NotReady(Refusal):
    """The host is running, but cannot work: its store does not respond, or a table or an index is missing."""

    status = 503
    fix = "Check the store, and run `gateleg tables drift`; the host becomes ready when the store works again."


# Simple liveness checks use HEAD.
@router.head("/health", include_in_schema=False)
@router.get("/health")
async def health() -> Alive:
    """Whether the host is running. Nothing else is checked."""
    return Alive()


@router.head("/ready", include_in_schema=False)
@router.get("/ready")
async def ready(request: Request) -> Ready:
    """Whether the host can work: the store responds, and every table and index exists as declared.

    Items of the job table that are not valid jobs are named, but do not make the host unready: all other jobs go on.
    """
    host, now = host_of(request), host_of(request).store.setup.ticks()
    looked = getattr(request.app.state, "health", None)
    if looked is None or not looked[1].ok or now - looked[0] >= _CACHE_SECONDS:
        # One billed request per table, so frequent callers get the result of a moment ago.
        looked = request.app.state.health = (now, await host.store.within(5.0).health(*host.tables))
    found = looked[1]
    # Anonymous callers learn that something is wrong, but not what.
    known = getattr(request.state, "principal", None) is not None
    if not found.ok:
        details = {"problems": list(found.problems)} if known else None
        raise NotReady("The store does not respond, or lacks a declared table or index.", details=details)
    if not known:
        return Ready()
    return Ready(unreadable_jobs=[f"{bad.job_id}: {bad.reason}" for bad in await host.queue_stats.set_aside()])


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(call: Viewing, request: Request) -> PlainTextResponse:
    """Requests, the store, the jobs and what applications count, in the text format of Prometheus, or as OpenMetrics if accepted."""
    host = call.host
    stats, workers = await host.queue_stats.read(5.0), await host.queue.workers()
    unreadable = len(await host.queue_stats.set_aside())
    families = host_families(host.measured, request.app.state.traffic, stats, workers, unreadable=unreadable)
    # In a thread: an application may have many series, and its gauges may be functions that take their time.
    text, content_type = await asyncio.to_thread(exposed, request.headers.get("accept"), lambda: host.measured.bounded(families))
    return PlainTextResponse(text, headers={"content-type": content_type, "vary": "accept"})
