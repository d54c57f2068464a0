"""The overview: four figures, throughput and latency, the oldest waiting job, alarms, the deployment, and the latest results.

The latest results of the applications, as tiles.

The deployment in a few lines. Pure.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from nicegui import ui

import gateleg
from gateleg.host.principal import Role
from gateleg.host.settings import format_setting
from gateleg.web.console.failures import empty
from gateleg.web.console.frame import View, frame
from gateleg.web.console.jobs.list_page import COLUMNS
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS, show_when_loaded
from gateleg.web.console.live import LiveIndicator, follow
from gateleg.web.console.markup import Tag, ago, card, count_text, section, since, tag
from gateleg.web.console.overview.figures import Alarm, Figure, alarms, four_figures
from gateleg.web.console.overview.topics import CurrentState, History, current_state_topic, history_topic
from gateleg.web.console.widgets import Chart, Grid, spark_svg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.host.application import Application, Tile
    from gateleg.host.host import Host
    from gateleg.jobs.monitor import QueueStats
    from gateleg.jobs.tables import Schedule, WorkerRecord
    from gateleg.web.console.cells import Row

T = TypeVar("T")

_LATEST_COLUMNS = ("type", "state", "about", "created", "time")


def register() -> None:
    """Serve the overview at `/`."""

    @ui.page("/", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def overview(span: str = "hour") -> None:
        with frame(title="Overview", section="overview", titled=False) as view:
            await _Page(view, "day" if span == "day" else "hour").build()


class _Page:
    """One open overview."""

    def __init__(self, view: View, span: str) -> None:
        self.view, self.span = view, span
        self._latest: Grid | None = None
        self._rows: tuple[Row, ...] = ()

    async def build(self) -> None:
        with tag("header", classes="head"):
            with tag("div", classes="titles"):
                tag("h1", "Overview")
            with tag("div", classes="deeds"):
                self.pulse = LiveIndicator()
        await show_when_loaded(self._look(), self._build, rows=10, pulse=self.pulse)
        await tiles_section(self.view)
        with section("Latest jobs"), tag("div", classes="card tight"):
            self._latest = Grid("Latest jobs", [column for column in COLUMNS if column.key in _LATEST_COLUMNS])
            with tag("div") as self._no_jobs:
                sentence = "A job is work that runs in the background: submit one, watch it run, and find its result here."
                operator = self.view.may(Role.OPERATOR)
                empty("tray", "No jobs yet", sentence, button="Submit a job" if operator else None, href="/jobs/submit")
        self._show_latest()

    async def _look(self) -> tuple[CurrentState, History]:
        live, host = self.view.live, self.view.host
        return await live.now(current_state_topic(host)), await live.now(history_topic(host))

    def _build(self, known: tuple[CurrentState, History]) -> None:
        self.current, self.history = known
        self._alarms = tag("div", classes="stack gap-1", role="status")
        with tag("div", classes="quarters"):
            self._tiles = [_Tile(figure) for figure in self._row()]
        with tag("div", classes="halves"):
            self._charts()
        with tag("div", classes="halves"):
            self._health = card(label="Health")
            self._deployed = card(label="Deployment")
        self._charts_by_span: dict[str, object] = {}
        self._show()
        follow(self.view.live, current_state_topic(self.view.host), self._set_current, self.pulse, known=self.current)
        follow(self.view.live, history_topic(self.view.host), self._set_history, known=self.history)

    def _row(self) -> list[Figure]:
        return four_figures(self.current.queues, self.history.hours, self.view.host.store.setup.now())

    def _charts(self) -> None:
        with card(label="Throughput"):
            with tag("div", classes="card-head"):
                tag("h3", "Throughput")
                with tag("nav", classes="choices small", aria_label="Span"):
                    for key, words in (("hour", "1 hour"), ("day", "24 hours")):
                        tag("a", words, href=f"/?span={key}", aria_current="true" if key == self.span else None)
            self._throughput = Chart("Finished jobs")
        with card(label="Latency"):
            with tag("div", classes="card-head"):
                tag("h3", "Latency")
                tag("span", "last hour", "meta")
            self._latency = Chart("Run and wait times", unit="seconds")

    def _set_current(self, current: CurrentState) -> None:
        self.current = current
        self._show()

    def _set_history(self, history: History) -> None:
        self.history = history
        self._show()

    def _show(self) -> None:
        now = self.view.host.store.setup.now()
        for tile, figure in zip(self._tiles, self._row(), strict=True):
            tile.show(figure)
        charts = self.history.charts(now, self.span)
        self._throughput.show(*charts.throughput)
        self._latency.show(*charts.latency)
        self._rows = self.current.rows
        self._show_latest()
        self._found = alarms(self.current.queues, self.current.workers, self.current.unreadable, self.current.stranger)
        self._redraw("alarms", self._found, self._alarms, _draw_alarms)
        oldest = self.current.oldest
        modes = [(one.queue, one.mode) for one in self.current.queues]
        key = (None if oldest is None else oldest.job_id, len(self._found), modes, self.current.schedules)
        self._redraw("health", key, self._health, lambda _: self._draw_health())
        self._redraw("deployed", deployed(self.view.host, self.current.workers), self._deployed, _draw_deployed)

    def _show_latest(self) -> None:
        if self._latest is not None:
            self._latest.show(self._rows)
            self._latest.set_visibility(bool(self._rows))
            self._no_jobs.set_visibility(not self._rows)

    def _redraw(self, name: str, value: T, box: Tag, draw: Callable[[T], None]) -> None:
        if name in self._charts_by_span and self._charts_by_span[name] == value:
            return
        self._charts_by_span[name] = value
        box.clear()
        with box:
            draw(value)

    def _draw_health(self) -> None:
        job = self.current.oldest
        tag("h3", "Health")
        with tag("dl", classes="facts"):
            tag("dt", "Oldest waiting job")
            with tag("dd"):
                if job is None:
                    tag("span", "none: no job is ready to start")
                else:
                    tag("a", job.job_type, "link", href=f"/jobs/{job.job_id}")
                    tag("span", f" in {job.queue}{f', about {job.subject}' if job.subject else ''}, for ")
                    since(job.created_at, classes="strong")
            tag("dt", "Alarms")
            count = len(self._found)
            tag("dd", f"{count}, see above" if count else "none")
            tag("dt", "Queues")
            with tag("dd"):
                tag("a", queues_text(self.current.queues), "link", href="/jobs/queues")
            tag("dt", "Schedules")
            with tag("dd"):
                tag("a", schedules_text(self.current.schedules), "link", href="/jobs/schedules")


class _Tile:
    """One of the four figures on the page."""

    def __init__(self, figure: Figure) -> None:
        with tag("a", classes=f"card figure k-{figure.kind}", href=figure.href):
            with tag("span", classes="label"):
                ui.icon(figure.icon).style("color:var(--tone);font-size:16px")
                tag("span", figure.name)
            self._value = tag("span", "", "value")
            self._hint = tag("span", "", "hint")
            self._line = ui.html("", sanitize=False)
        self._before: int | None = None
        self.show(figure)

    def show(self, figure: Figure) -> None:
        """Show the current figure; a changed number is highlighted."""
        if self._before is not None and figure.value != self._before:
            ui.run_javascript(f"gateleg.flash('c{self._value.id}')")
        self._before = figure.value
        self._value.set_text(count_text(figure.value))
        self._hint.set_text(figure.hint)
        self._line.set_content(spark_svg(figure.line, figure.kind))


def _draw_alarms(found: list[Alarm]) -> None:
    for alarm in found:
        with tag("a", classes=f"note {alarm.kind} line gap-1", href=alarm.href):
            ui.icon("error" if alarm.kind == "failed" else "warning").style(f"color:var(--{alarm.kind})")
            tag("span", alarm.title, "strong")
            tag("span", alarm.sentence, "meta")


def _draw_deployed(facts: list[tuple[str, str]]) -> None:
    tag("h3", "Deployment")
    with tag("dl", classes="facts"):
        for name, value in facts:
            tag("dt", name)
            tag("dd", value)


#: The maximum number of tiles of an application.
_MAX_TILES = 4


async def tiles_section(view: View) -> None:
    """A row for each application: its latest results, or its description while there are none."""
    for application in view.host.applications:
        if application.pages is None and application.tiles is None:
            continue
        with section(application.title):
            await show_when_loaded(_tiles(view, application), partial(_row, application), rows=3)


async def _tiles(view: View, application: Application) -> Sequence[Tile]:
    if application.tiles is None:
        return ()
    return await application.tiles(view.host.resources[application.name], view.principal)


def _row(application: Application, things: Sequence[Tile]) -> None:
    with tag("div", classes="tiles"):
        for thing in things[:_MAX_TILES]:
            _tile(thing, application.icon)
        if not things:
            with tag("a", classes="card thing", href=f"/{application.name}"):
                with tag("div", classes="thing-picture"):
                    ui.icon(application.icon)
                tag("span", f"Open {application.title}", "strong")
                tag("span", application.about, "meta")


def _tile(thing: Tile, icon: str) -> None:
    with tag("a", classes="card thing", href=thing.href):
        with tag("div", classes="thing-picture"):
            if thing.picture is not None:
                tag("img", src=thing.picture, alt="", loading="lazy")
            else:
                ui.icon(icon)
        tag("span", thing.title, "strong clip")
        with tag("span", classes="line gap-1 meta"):
            tag("span", thing.about, "clip")
            if thing.at is not None:
                ago(thing.at)


def deployed(host: Host, workers: Sequence[WorkerRecord]) -> list[tuple[str, str]]:
    """Names and values: the host, the stores, the workers, and what is installed."""
    installed = ", ".join(application.title for application in host.applications) or "none"
    return [
        ("Host", f"Gateleg {gateleg.__version__}"),
        ("Tables", f"{len(host.tables)} in {host.environment}"),
        ("Objects", format_setting(host.settings.objects)),
        ("Workers", workers_text(workers)),
        ("Applications", installed),
    ]


def workers_text(workers: Sequence[WorkerRecord]) -> str:
    """The number of worker processes and machines, their load, and the versions of the application."""
    if not workers:
        return "none: jobs wait until a worker is started"
    hosts, processes = {worker.host for worker in workers}, {(worker.host, worker.pid) for worker in workers}
    where = next(iter(hosts)) if len(hosts) == 1 else f"{len(hosts)} machines"
    text = f"{len(processes)} process{'es' if len(processes) > 1 else ''} on {where}, running {_load_text(workers)}"
    versions = sorted({worker.app_version for worker in workers if worker.app_version})
    return f"{text}, version {' and '.join(versions)}" if versions else text


def _load_text(workers: Sequence[WorkerRecord]) -> str:
    """Running jobs and the maximum number of concurrent jobs. A queue with its own worker in the same process is counted separately."""
    shared: dict[tuple[str, int], WorkerRecord] = {}
    for worker in sorted(workers, key=lambda worker: len(worker.queues), reverse=True):
        shared.setdefault((worker.host, worker.pid), worker)
    counts: dict[str, list[int]] = {"jobs": [0, 0]}
    for worker in workers:
        kind = "jobs" if shared[worker.host, worker.pid] is worker else f"in {', '.join(worker.queues)}"
        count = counts.setdefault(kind, [0, 0])
        count[0] += len(worker.running)
        count[1] += worker.concurrency
    return ", ".join(f"{running} of up to {most} {kind}" for kind, (running, most) in counts.items())


def queues_text(queues: Sequence[QueueStats]) -> str:
    """The number of queues, and those that are paused or draining."""
    odd = [f"{one.queue} is {one.mode}" for one in queues if one.mode != "running"]
    return ", ".join([f"{len(queues)}", *odd]) if odd else f"{len(queues)}, all running"


def schedules_text(schedules: Sequence[Schedule]) -> str:
    """The number of schedules, and how many are disabled."""
    off = sum(not one.enabled for one in schedules)
    return f"{len(schedules)}, {off} disabled" if off else str(len(schedules)) if schedules else "none"
