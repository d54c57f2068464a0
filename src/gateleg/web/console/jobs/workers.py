"""The page about workers: which are alive, what they run, and when they last reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.web.console.badges import Badge
from gateleg.web.console.cells import Column, Row, ago_cell, chip_cell, mono_cell, since_cell
from gateleg.web.console.empty import empty
from gateleg.web.console.frame import View, frame
from gateleg.web.console.grid import Grid
from gateleg.web.console.jobs.filters import Filters
from gateleg.web.console.jobs.section import CRUMBS, section_head
from gateleg.web.console.live import LiveIndicator, Topic, follow
from gateleg.web.console.loading import PAGE_TIMEOUT_SECONDS, show_when_loaded
from gateleg.web.console.markup import tag
from gateleg.web.console.sizes import size_text

if TYPE_CHECKING:
    from gateleg.jobs import AsyncQueue
    from gateleg.jobs.tables import WorkerRecord

STATES = {
    "running": Badge("done", "Running", "play_circle"),
    "draining": Badge("warning", "Draining", "downloading"),
    "stopped": Badge("neutral", "Stopped", "stop_circle"),
}
COLUMNS = (
    Column("name", "Worker"),
    Column("state", "State"),
    Column("busy", "Busy", right=True),
    Column("queues", "Queues", wraps=True),
    Column("memory", "Memory", right=True),
    Column("version", "Version", desk=True),
    Column("host", "Host", desk=True),
    Column("up", "Up for", right=True),
    Column("seen", "Last seen", right=True),
    Column("clock", "Clock", right=True, desk=True),
)


def workers_topic(queue: AsyncQueue) -> Topic[list[WorkerRecord]]:
    """The workers that are alive."""
    return Topic("workers", queue.workers, every=3.0)


def worker_row(worker: WorkerRecord) -> Row:
    """A worker in the list; it opens the jobs that it runs or ran last."""
    return Row(
        worker.worker_id,
        {
            "name": worker.worker_id,
            "state": chip_cell(STATES[worker.state]),
            "busy": f"{len(worker.running)} of {worker.concurrency}",
            "queues": queues_text(worker),
            "memory": size_text(worker.memory_bytes) if worker.memory_bytes else None,
            "version": worker.app_version or None,
            "host": mono_cell(f"{worker.host}, {worker.pid}"),
            "up": since_cell(worker.started_at),
            "seen": ago_cell(worker.seen_at),
            "clock": clock_text(worker),
        },
        href=Filters(worker=worker.worker_id).address(),
    )


def clock_text(worker: WorkerRecord) -> str | None:
    """The clock skew of a worker; empty if there is none, as far as is known."""
    ahead = round(worker.clock_ahead)
    return None if ahead == 0 else f"{abs(ahead):,} s {'ahead' if ahead > 0 else 'behind'}"


def queues_text(worker: WorkerRecord) -> str:
    """The queues of a worker, most frequently polled first, with weights and limits where they differ from the default."""
    weights = {name: worker.weights.get(name, 1) for name in worker.queues}
    ordered = sorted(weights, key=lambda name: -weights[name])
    alike = len(set(weights.values())) < 2
    shown = {name: name if alike else f"{name} ×{weights[name]}" for name in ordered}
    return ", ".join(text + (f" (at most {worker.limits[name]})" if name in worker.limits else "") for name, text in shown.items())


def register() -> None:
    """Serve the workers at `/jobs/workers`."""

    @ui.page("/jobs/workers", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def workers() -> None:
        with frame(title="Workers", section="jobs", crumbs=CRUMBS, wide=True, titled=False) as view:
            pulse = section_head(view, "/jobs/workers")
            topic = workers_topic(view.host.queue)
            await show_when_loaded(view.live.now(topic), lambda first: _list(view, topic, first, pulse), pulse=pulse)


def _list(view: View, topic: Topic[list[WorkerRecord]], first: list[WorkerRecord], pulse: LiveIndicator) -> None:
    with tag("section", classes="card tight", aria_label="Workers"):
        grid = Grid("Workers", COLUMNS, complete=True)
        with tag("div") as nothing:
            sentence = "Jobs wait until a worker is started. Start one on any machine that can reach the store: gateleg worker"
            empty("people", "No workers", sentence)

    def show(found: list[WorkerRecord]) -> None:
        grid.show([worker_row(worker) for worker in found])
        grid.set_visibility(bool(found))
        nothing.set_visibility(not found)

    show(first)
    follow(view.live, topic, show, pulse, known=first)
