"""The tabs of a job's page: timeline with log, config, result, artifacts, graph, raw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.objects import ObjectMissing
from gateleg.web.console.cells import Column, Row, link_cell, meta_cell, mono_cell
from gateleg.web.console.code import json_block
from gateleg.web.console.empty import empty
from gateleg.web.console.failures import ErrorText, trouble
from gateleg.web.console.grid import Grid
from gateleg.web.console.jobs.graphs import graph_svg
from gateleg.web.console.jobs.job_details import explaining_line, failure_text
from gateleg.web.console.jobs.timeline import Bar, bars
from gateleg.web.console.jobs.topics import graph_topic
from gateleg.web.console.jobs.traces import parts_of
from gateleg.web.console.live import follow
from gateleg.web.console.logs import LogView
from gateleg.web.console.markup import tag
from gateleg.web.console.objects.previews import kind_of_key
from gateleg.web.console.paging import address
from gateleg.web.console.sizes import size_text
from gateleg.web.console.times import since

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.jobs import Job
    from gateleg.web.console.frame import View
    from gateleg.web.console.jobs.job_details import JobDetails
    from gateleg.web.console.jobs.topics import JobWithLog

_NAMES = ("timeline", "config", "result", "artifacts", "graph", "raw")
#: The maximum number of artifacts shown as images.
_PICTURES = 8
#: The tabs by key and title.
TABS = tuple((name, name.capitalize()) for name in _NAMES)


def timeline_panel(view: View, story: JobWithLog, details: JobDetails) -> Callable[[JobWithLog, JobDetails], None]:
    """Attempts as bars, and the log beneath."""
    box = tag("section", classes="card", aria_label="Attempts")
    drawn: object = None

    def show_bars(details: JobDetails) -> None:
        nonlocal drawn
        key = (details.status, details.attempts, details.started_at)
        if key == drawn:
            return
        drawn = key
        box.clear()
        with box, tag("div", classes="life"):
            for bar in bars(details, view.host.store.setup.now()):
                _bar(bar)

    show_bars(details)
    with tag("section", classes="section", aria_label="Log"):
        tag("h3", "Log")
        log = LogView(story.lines, story.first, empty="The handler has logged nothing.")

    def show(story: JobWithLog, details: JobDetails) -> None:
        show_bars(details)
        log.show(story.lines, story.first)

    return show


def _bar(bar: Bar) -> None:
    with tag("div", classes="stage"):
        tag("span", bar.label, "label")
        with tag("span", classes="track", title=bar.worker or None, aria_hidden="true"):
            tag("span", classes=f"stretch k-{bar.kind}").style(f"left:{bar.left * 100:.2f}%;width:{bar.width * 100:.2f}%")
        with tag("span", classes=f"end k-{bar.kind}"):
            since(bar.since) if bar.since is not None else tag("span", bar.text, "num")
            if bar.word:
                tag("span", bar.word, "meta word")
        if bar.error:
            tag("span", bar.error, "error meta")


def config_panel(view: View, story: JobWithLog, details: JobDetails) -> None:
    """The config of the job."""
    if details.config:
        json_block(details.config, "Config")
    else:
        empty("box", "No config", "This job was submitted without a config.")


def result_panel(view: View, story: JobWithLog, details: JobDetails) -> None:
    """The result of the job."""
    results = details.results
    if results is None or results.result_type != "SUCCESS":
        sentence = "It is shown here when the job is completed." if not details.finished else "The job did not complete."
        empty("clock", "No result", sentence)
        return
    if results.summary_metrics:
        with tag("dl", classes="facts card"):
            for name, value in results.summary_metrics.items():
                tag("dt", name.replace("_", " "))
                tag("dd", str(value), "num")
    json_block(results.value, "Result")


async def artifacts_panel(view: View, story: JobWithLog, details: JobDetails) -> None:
    """Its artifacts: objects with their size, and other outputs by name."""
    places = details.results.output_location if details.results is not None else {}
    if not places:
        empty("folder", "No artifacts", "Files and tables that a handler reports with job.output() are listed here.")
        return
    columns = (Column("name", "Name", wraps=True), Column("kind", "Kind"), Column("about", "About"))
    rows = []
    for kind, locations in places.items():
        for location in locations:
            about = await _object_facts(view, location) if kind == "objects" else None
            href = address("/objects", {"key": location}) if about is not None else None
            name = mono_cell(location) if href is None else link_cell(location, href)
            rows.append(Row(f"{kind} {location}", {"name": name, "kind": kind, "about": None if about is None else meta_cell(about)}))
    await _pictures(view, places.get("objects", []))
    with tag("section", classes="card tight", aria_label="Artifacts"):
        Grid("Artifacts", columns, rows, complete=True)


async def _pictures(view: View, keys: list[str]) -> None:
    """The first artifacts that are images, as images."""
    details = [key for key in keys if kind_of_key(key) == "image" and await view.host.objects.exists(key)][:_PICTURES]
    if not details:
        return
    with tag("div", classes="tiles"):
        for key in details:
            with tag("a", classes="card thing", href=address("/objects", {"key": key})):
                with tag("div", classes="thing-picture whole-picture"):
                    tag("img", src=await view.host.objects.presign(key), alt="", loading="lazy")
                tag("span", key.rsplit("/", 1)[-1], "clip meta")


async def _object_facts(view: View, key: str) -> str | None:
    try:
        info = await view.host.objects.head(key)
    except (ObjectMissing, ValueError):
        return None
    return f"{size_text(info.size)}, {info.content_type}"


async def graph_panel(view: View, story: JobWithLog, details: JobDetails) -> Callable[[], None]:
    """The dependencies and dependents of a job, or those among its children. Returns a function that stops the updates."""
    topic = graph_topic(view.host.queue, details.job_id)
    first = await view.live.now(topic)
    if not first:
        empty("box", "No dependencies", "This job does not depend on another job, and no job depends on it.")
        return lambda: None
    with tag("div", classes="card graph-box"):
        drawing = ui.html(graph_svg(first, details.job_id), sanitize=False)

    def show(jobs: tuple[Job, ...]) -> None:
        if jobs and not drawing.is_deleted:
            drawing.set_content(graph_svg(jobs, details.job_id))

    return follow(view.live, topic, show, known=first)


def raw_panel(view: View, story: JobWithLog, details: JobDetails) -> None:
    """The stored item."""
    json_block(story.job.model_dump(mode="json", exclude_none=True), "The job as it is stored")


def failure_note(story: JobWithLog, details: JobDetails) -> None:
    """Why it failed: the error, the attempt, the most relevant line of the log, and the traceback."""
    failure = details.failure
    if failure is None:
        return
    line = explaining_line(story.lines, details.attempts[-1].started_at if details.attempts else None)
    where = f"In attempt {details.attempt}" + (f" on {details.worker_id}" if details.worker_id else "")
    error = failure_text(failure)
    with trouble(ErrorText(error, where)):
        if line is not None and line.message not in failure.message:
            with tag("div", classes="meta"):
                tag("span", "Last line of the log: ")
                tag("span", line.message, "mono")
        if failure.trace:
            _trace(failure.trace, error)


def _trace(trace: str, error: str) -> None:
    with tag("div", classes="trace", role="group", aria_label="Traceback"):
        for part in parts_of(trace, error=error):
            if not part.folded:
                tag("pre", part.text)
                continue
            with tag("details"):
                tag("summary", f"{part.frames} frame{'' if part.frames == 1 else 's'} of Gateleg and libraries")
                tag("pre", part.text)
    with tag("div"):
        tag("button", "Copy the traceback", "deed small", type="button", data_copy=trace)
