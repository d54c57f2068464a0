"""The tabs of a job's page: timeline with log, config, result, artifacts, graph, raw.

A job's history as bars: the wait, and every attempt. Pure.

Tracebacks, with frames of the application expanded, and those of Gateleg and libraries collapsed. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.durations import duration
from gateleg.jobs import JobStatus
from gateleg.objects import ObjectMissing
from gateleg.web.console.cells import Column, Row, link_cell, meta_cell, mono_cell
from gateleg.web.console.failures import ErrorText, empty, trouble
from gateleg.web.console.jobs.job_details import explaining_line, failure_text
from gateleg.web.console.jobs.topics import graph_topic
from gateleg.web.console.jobs.trees import graph_svg
from gateleg.web.console.lists import address
from gateleg.web.console.live import follow
from gateleg.web.console.markup import since, size_text, tag
from gateleg.web.console.objects.contents import kind_of_key
from gateleg.web.console.widgets import Grid, LogView, json_block

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from gateleg.jobs import Job
    from gateleg.jobs.tables import Attempt
    from gateleg.web.console.frame import View
    from gateleg.web.console.jobs.job_details import JobDetails
    from gateleg.web.console.jobs.topics import JobWithLog
    from gateleg.web.console.theme import Kind


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


#: Labels and colours of outcomes.
OUTCOMES: dict[str, tuple[str, Kind]] = {
    "completed": ("Done", "done"),
    "failed": ("Failed", "failed"),
    "retried": ("Failed, retried", "failed"),
    "snoozed": ("Snoozed", "waiting"),
    "released": ("Released by its worker", "waiting"),
    "cancelled": ("Cancelled", "cancelled"),
    "lost": ("Worker lost", "warning"),
}
#: The minimum width of a bar, as a fraction of the whole.
_NARROWEST = 0.004


@dataclass(frozen=True)
class Bar:
    """A period of a job's history: `left` and `width` are fractions of the whole, from 0 to 1."""

    label: str
    kind: Kind
    #: the outcome of an attempt; empty for a wait
    word: str
    left: float
    width: float
    text: str
    worker: str | None = None
    error: str | None = None
    #: its start, while it continues
    since: datetime | None = None


def bars(details: JobDetails, now: datetime) -> list[Bar]:
    """The wait before the first attempt, the finished attempts, and the current one."""
    begin, end = details.created_at, details.completed_at if details.finished and details.completed_at else now
    whole = max((end - begin).total_seconds(), 0.001)

    def place(start: datetime, stop: datetime) -> tuple[float, float]:
        left = min(max((start - begin).total_seconds() / whole, 0.0), 1.0 - _NARROWEST)
        width = max((stop - start).total_seconds() / whole, _NARROWEST)
        return left, min(width, 1.0 - left)

    first = details.attempts[0].started_at if details.attempts else details.started_at
    made = [_waiting(*place(begin, first or end), begin, first or end, going_on=first is None and not details.finished)]
    headline = None if details.failure is None else failure_text(details.failure)
    for at, attempt in enumerate(details.attempts):
        bar = _ended(attempt, *place(attempt.started_at, attempt.ended_at))
        # An error that several attempts repeat is shown at the last of them; one in the header is not shown again.
        repeated = bar.error == headline or (at + 1 < len(details.attempts) and error_text(details.attempts[at + 1]) == bar.error)
        made.append(replace(bar, error=None) if repeated else bar)
    if details.status == JobStatus.PROCESSING and details.started_at is not None:
        left, width = place(details.started_at, now)
        made.append(Bar(f"Attempt {details.attempt}", "running", "Running", left, width, "", details.worker_id, since=details.started_at))
    elif details.status == JobStatus.PENDING and details.attempts:
        last = details.attempts[-1].ended_at
        made.append(_waiting(*place(last, now), last, now, going_on=True))
    return made


def error_text(attempt: Attempt) -> str | None:
    """The error of an attempt."""
    return None if attempt.error is None else failure_text(attempt.error)


def _waiting(left: float, width: float, start: datetime, stop: datetime, *, going_on: bool) -> Bar:
    seconds = (stop - start).total_seconds()
    return Bar("Waiting", "waiting", "", left, width, "" if going_on else duration(seconds), since=start if going_on else None)


def _ended(attempt: Attempt, left: float, width: float) -> Bar:
    word, kind = OUTCOMES[attempt.outcome]
    if attempt.times is not None:
        word = f"{word} {attempt.times} times"
    return Bar(
        f"Attempt {attempt.number}",
        kind,
        word,
        left,
        width,
        duration((attempt.ended_at - attempt.started_at).total_seconds()),
        attempt.worker_id,
        error_text(attempt),
    )


_FRAME = re.compile(r'^\s*(?:[+|]\s+)?File "(?P<path>[^"]+)", line \d+')
#: Gateleg itself. Its applications and its demo count as application code.
_OWN = re.compile(r"(?:site-packages|dist-packages|src)[/\\]gateleg[/\\](?!apps[/\\]|cli[/\\]demo[/\\])")
_APPLICATION = re.compile(r"[/\\]gateleg[/\\](?:apps|cli[/\\]demo)[/\\]")
_LIBRARY = re.compile(r"[/\\](?:site-packages|dist-packages)[/\\]|[/\\]lib[/\\]python3[^/\\]*[/\\]|^<")


@dataclass(frozen=True)
class TracePart:
    """Some lines of a traceback. `frames` counts the frames of a collapsed part; an expanded part has 0."""

    text: str
    frames: int = 0

    @property
    def folded(self) -> bool:
        """Whether the part is collapsed."""
        return self.frames > 0


def is_foreign(path: str) -> bool:
    """Whether a file belongs to Gateleg, to a library or to Python, and not to the application."""
    if _APPLICATION.search(path):
        return False
    return bool(_OWN.search(path) or _LIBRARY.search(path))


def parts_of(trace: str, *, error: str = "") -> list[TracePart]:
    """A traceback in parts. The exception itself, `error`, is removed from the end, because it is shown already."""
    frames: list[tuple[bool, list[str]]] = []
    for text in _without(trace.rstrip(), error).splitlines():
        found = _FRAME.match(text)
        if found:
            frames.append((is_foreign(found["path"]), [text]))
        elif frames and frames[-1][1] and _FRAME.match(frames[-1][1][0]) and text.startswith("    "):
            # The source line of the frame, and the markers below it.
            frames[-1][1].append(text)
        else:
            frames.append((False, [text]))
    parts = []
    for foreign, group in groupby(frames, key=lambda frame: frame[0]):
        lines = [lines for _, lines in group]
        parts.append(TracePart("\n".join(text for one in lines for text in one), len(lines) if foreign else 0))
    return parts


def _without(trace: str, error: str) -> str:
    """A traceback without the exception at its end, which may be qualified with its module."""
    head, found, tail = trace.rpartition(error) if error else (trace, "", "")
    return head.rpartition("\n")[0] if found and not tail.strip() else trace
