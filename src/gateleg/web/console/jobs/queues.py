"""The page about queues: statistics, and pausing, draining and rate limits.

The page about workers: which are alive, what they run, and when they last reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.durations import duration
from gateleg.host.actions.queues import QueueRate, QueueTarget, drain_queue, limit_queue, pause_queue, resume_queue
from gateleg.host.live import Topic
from gateleg.host.principal import Role
from gateleg.web.console.actions import act
from gateleg.web.console.cells import Badge, Column, Row, ago_cell, button_cell, chip_cell, meta_cell, mono_cell, since_cell
from gateleg.web.console.dialogs import button, sheet
from gateleg.web.console.failures import empty
from gateleg.web.console.forms import Field
from gateleg.web.console.frame import View, frame
from gateleg.web.console.jobs.list_page import Filters
from gateleg.web.console.jobs.topics import CRUMBS, section_head
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS, show_when_loaded
from gateleg.web.console.live import LiveIndicator, follow
from gateleg.web.console.markup import size_text, tag
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.host.host import Host
    from gateleg.jobs import AsyncQueue
    from gateleg.jobs.monitor import QueueStats
    from gateleg.jobs.tables import QueueState, WorkerRecord
    from gateleg.web.console.cells import Cell


MODES = {
    "running": Badge("done", "Running", "play_circle"),
    "paused": Badge("warning", "Paused", "pause_circle"),
    "draining": Badge("warning", "Draining", "downloading"),
}
COLUMNS = (
    Column("name", "Queue"),
    Column("mode", "State"),
    Column("waiting", "Waiting", right=True),
    Column("delayed", "Delayed", right=True),
    Column("running", "Running", right=True),
    Column("oldest", "Oldest waiting", right=True),
    Column("rate", "Done per minute", right=True),
    Column("p95", "p95 run time", right=True, desk=True),
    Column("limit", "Rate limit", right=True),
    Column("workers", "Workers", right=True),
    Column("deeds", "", right=True),
)


@dataclass(frozen=True)
class QueueOverview:
    """A queue: its statistics, its state, and its workers."""

    stats: QueueStats
    state: QueueState | None
    workers: int


async def read_queues(queue: AsyncQueue, figures: Callable[[], Awaitable[tuple[QueueStats, ...]]]) -> tuple[QueueOverview, ...]:
    """The current state of all queues."""
    states, workers = await queue.states(), await queue.workers()
    return tuple(
        QueueOverview(stats, states.get(stats.queue), sum(stats.queue in worker.queues for worker in workers)) for stats in await figures()
    )


def queues_topic(host: Host) -> Topic[tuple[QueueOverview, ...]]:
    """All queues. Changes must be visible at once, so the statistics are read each time; they are those of the last minutes."""
    return Topic("queues", lambda: read_queues(host.queue, lambda: host.queue_stats.read(max_age=0.0)), every=3.0, expires=10.0)


def queue_row(one: QueueOverview, *, deeds: bool) -> Row:
    """A queue in the list."""
    stats, state = one.stats, one.state
    limited = state is not None and state.rate > 0
    return Row(
        stats.queue,
        {
            "name": stats.queue,
            "mode": chip_cell(MODES[stats.mode]),
            "waiting": str(stats.waiting),
            "delayed": str(stats.delayed),
            "running": str(stats.running),
            "oldest": None if stats.oldest_waiting is None else duration(stats.oldest_waiting),
            "rate": f"{stats.work.throughput:.1f}",
            "p95": None if stats.work.run_p95 is None else duration(stats.work.run_p95),
            "limit": f"{state.rate} in {duration(state.rate_seconds)}" if limited and state is not None else meta_cell("none"),
            "workers": str(one.workers),
            "deeds": _actions(stats.mode) if deeds else None,
        },
        href=Filters(queue=stats.queue).address(),
    )


def _actions(mode: str) -> Cell:
    change = button_cell("rate", "Rate")
    if mode == "running":
        return [button_cell("pause", "Pause"), button_cell("drain", "Drain"), change]
    return [button_cell("resume", "Resume"), change]


def register() -> None:
    """Serve the queues at `/jobs/queues`."""

    @ui.page("/jobs/queues", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def queues() -> None:
        with frame(title="Queues", section="jobs", crumbs=CRUMBS, wide=True, titled=False) as view:
            pulse = section_head(view, "/jobs/queues")
            topic = queues_topic(view.host)
            await show_when_loaded(view.live.now(topic), lambda first: _list(view, topic, first, pulse), pulse=pulse)
            with tag("p", classes="meta"):
                tag(
                    "span",
                    "A paused queue starts no jobs; running ones continue. A draining queue accepts no new jobs, and runs those that wait.",
                )


def _list(view: View, topic: Topic[tuple[QueueOverview, ...]], first: tuple[QueueOverview, ...], pulse: LiveIndicator) -> None:
    operator = view.may(Role.OPERATOR)
    with tag("section", classes="card tight", aria_label="Queues"):
        grid = Grid("Queues", COLUMNS if operator else COLUMNS[:-1], complete=True, on_action=lambda name, verb: _act(view, name, verb))

    def show(found: tuple[QueueOverview, ...]) -> None:
        grid.show([queue_row(one, deeds=operator) for one in found])

    show(first)
    follow(view.live, topic, show, pulse, known=first)


_MODES = {"pause": pause_queue, "resume": resume_queue, "drain": drain_queue}


async def _act(view: View, name: str, verb: str) -> None:
    if verb == "rate":
        await _ask_rate(view, name)
    else:
        await act(view, _MODES[verb], QueueTarget(name=name))


async def _ask_rate(view: View, name: str) -> None:
    state = (await view.host.queue.states([name])).get(name)
    with sheet(f"Rate of {name}") as dialog:
        tag("p", "The maximum number of starts in a time window. 0 removes the limit.", "meta")
        with tag("div", classes="fields"):
            starts = Field("Starts", str(state.rate if state else 0), kind="number", least=0)
            seconds = Field("Seconds", str(state.rate_seconds if state else 60), kind="number", least=1)
        with tag("div", classes="deeds"):
            button("Cancel", lambda: dialog.submit(False))
            button("Set", lambda: dialog.submit(True), look="first")
    answer = await dialog
    dialog.delete()
    if answer is True:
        await act(view, limit_queue, QueueRate(name=name, starts=int(starts.text or 0), seconds=int(seconds.text or 60)))


STATES = {
    "running": Badge("done", "Running", "play_circle"),
    "draining": Badge("warning", "Draining", "downloading"),
    "stopped": Badge("neutral", "Stopped", "stop_circle"),
}
WORKER_COLUMNS = (
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
    """The workers that are alive. One that dies says nothing."""
    return Topic("workers", queue.workers, every=3.0, expires=10.0)


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


def register_workers() -> None:
    """Serve the workers at `/jobs/workers`."""

    @ui.page("/jobs/workers", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def workers() -> None:
        with frame(title="Workers", section="jobs", crumbs=CRUMBS, wide=True, titled=False) as view:
            pulse = section_head(view, "/jobs/workers")
            topic = workers_topic(view.host.queue)
            await show_when_loaded(view.live.now(topic), lambda first: _worker_list(view, topic, first, pulse), pulse=pulse)


def _worker_list(view: View, topic: Topic[list[WorkerRecord]], first: list[WorkerRecord], pulse: LiveIndicator) -> None:
    with tag("section", classes="card tight", aria_label="Workers"):
        grid = Grid("Workers", WORKER_COLUMNS, complete=True)
        with tag("div") as nothing:
            sentence = "Jobs wait until a worker is started. Start one on any machine that can reach the store: gateleg worker"
            empty("people", "No workers", sentence)

    def show(found: list[WorkerRecord]) -> None:
        grid.show([worker_row(worker) for worker in found])
        grid.set_visibility(bool(found))
        nothing.set_visibility(not found)

    show(first)
    follow(view.live, topic, show, pulse, known=first)
