"""A job tree drawn as nested lists with lines. Pure: a branch in, HTML out.

The dependencies of a job, drawn as a graph from left to right. Pure: jobs in, SVG out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

from gateleg.durations import duration
from gateleg.jobs import JobStatus
from gateleg.jobs.monitor.stats import distinct_stage, labels
from gateleg.web.console.cells import BY_STATUS, RUNNING, Badge, badge_of
from gateleg.web.console.markup import truncate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from uuid import UUID

    from gateleg.jobs import Job
    from gateleg.jobs.monitor import Branch


#: Children of a job that are drawn at first, and the maximum when all are requested.
SHOWN_CHILDREN, MAX_CHILDREN = 12, 1000
#: Priority when there are too many: what needs attention, then what runs, then what is done, then the rest.
_RANK = {JobStatus.FAILED: 0, JobStatus.PROCESSING: 1, JobStatus.PENDING: 2, JobStatus.COMPLETED: 3, JobStatus.CANCELLED: 4}
_LATER = datetime.max.replace(tzinfo=UTC)
PARTLY_FAILED = Badge("failed", "Partly failed", "error")
PARTLY_CANCELLED = Badge("cancelled", "Partly cancelled", "cancel")


def by_urgency(children: Sequence[Branch]) -> list[Branch]:
    """Children in the order in which they are drawn if there is no room for all."""
    return sorted(children, key=lambda child: _RANK[child.status])


def chosen(children: Sequence[Branch], current: UUID, most: int = SHOWN_CHILDREN) -> list[Branch]:
    """The children to draw, in order: all, or the most urgent ones and the one that leads to the current job."""
    if len(children) <= most:
        return list(children)
    kept = {child.job_id for child in sorted(by_urgency(children), key=lambda child: not _contains(child, current))[:most]}
    return [child for child in children if child.job_id in kept]


def _contains(branch: Branch, current: UUID) -> bool:
    return any(one.job_id == current for one in branch)


def found_in(branch: Branch, job_id: UUID) -> Branch | None:
    """A job with all jobs below it, in a larger tree."""
    return next((one for one in branch if one.job_id == job_id), None)


def tree_badge(branch: Branch, own: Badge) -> Badge:
    """The state of a job including everything that it started: it runs until the last of them has finished."""
    if branch.status in (JobStatus.PENDING, JobStatus.PROCESSING):
        return own
    if branch.unfinished:
        return RUNNING
    counts = branch.counts
    if branch.status != JobStatus.COMPLETED or counts[JobStatus.COMPLETED] == sum(counts.values()):
        return own
    return PARTLY_FAILED if JobStatus.FAILED in counts else PARTLY_CANCELLED


@dataclass(frozen=True)
class TreeDrawing:
    """Options of a tree drawing."""

    #: the job of the page
    current: UUID
    labels: Mapping[UUID, str] = field(default_factory=dict)
    #: draw all children, not only the most urgent
    whole: bool = False
    #: the address below which each job has its page
    base: str = "/jobs"


def tree_html(branch: Branch, drawing: TreeDrawing) -> str:
    """The tree as HTML: each job is a link with its state, name, label and time; the current one is marked."""
    return f'<ul class="tree">{_item(branch, drawing)}</ul>'


def _item(branch: Branch, drawing: TreeDrawing) -> str:
    badge = BY_STATUS[branch.status]
    here = ' aria-current="true"' if branch.job_id == drawing.current else ""
    stage = distinct_stage(branch.job_type, branch.stage)
    name = escape(stage or branch.job_type)
    meta = " · ".join(escape(part) for part in (drawing.labels.get(branch.job_id), branch.job_type if stage else None) if part)
    about = f'<span class="meta label" title="{meta}">{meta}</span>' if meta else ""
    below = f"<ul>{_children(branch, drawing)}</ul>" if branch.children else ""
    return (
        f'<li><a href="{drawing.base}/{branch.job_id}" class="k-{badge.kind}"{here}>'
        f'<i class="q-icon material-icons" aria-hidden="true">{badge.icon}</i>'
        f'<span class="name">{name}</span>{about}<span class="sr">{badge.word}</span>{_time(branch)}</a>{below}</li>'
    )


def _children(branch: Branch, drawing: TreeDrawing) -> str:
    drawn = chosen(sorted(branch.children, key=_sort_position), drawing.current, MAX_CHILDREN if drawing.whole else SHOWN_CHILDREN)
    left = len(branch.children) - len(drawn)
    more = ""
    if left:
        words = f"and {left:,} more"
        link = f'<a class="link" href="{drawing.base}/{drawing.current}?tree=whole">{words}</a>'
        more = f'<li class="more meta">{words if drawing.whole else link}</li>'
    return "".join(_item(child, drawing) for child in drawn) + more


def _sort_position(branch: Branch) -> tuple[datetime, datetime]:
    """The position of a child: jobs that were submitted together are ordered by their start."""
    return branch.created_at.replace(microsecond=0), branch.started_at or _LATER


def _time(branch: Branch) -> str:
    if branch.started_at is not None and branch.completed_at is not None:
        return f'<span class="meta num time">{duration((branch.completed_at - branch.started_at).total_seconds())}</span>'
    if branch.status == JobStatus.PROCESSING and branch.own is not None:
        return f'<span class="meta num time">{round(branch.own.fraction * 100)}%</span>'
    return ""


_WIDTH, _HEIGHT, _ACROSS, _DOWN, _MARGIN = 208, 44, 64, 14, 8


@dataclass(frozen=True)
class Node:
    """A job in the graph and its position: columns count from jobs without dependencies."""

    job_id: UUID
    title: str
    about: str
    badge: Badge
    column: int
    row: int

    @property
    def x(self) -> int:
        """Its left edge."""
        return _MARGIN + self.column * (_WIDTH + _ACROSS)

    @property
    def y(self) -> int:
        """Its upper edge."""
        return _MARGIN + self.row * (_HEIGHT + _DOWN)


def columns_of(jobs: Mapping[UUID, Job]) -> dict[UUID, int]:
    """The column of each job: one more than that of its furthest dependency."""
    columns: dict[UUID, int] = {}

    def column(job_id: UUID, above: frozenset[UUID]) -> int:
        if job_id not in columns:
            known = [other for other in jobs[job_id].dependencies if other in jobs and other not in above]
            columns[job_id] = 1 + max((column(other, above | {job_id}) for other in known), default=-1)
        return columns[job_id]

    for job_id in jobs:
        column(job_id, frozenset({job_id}))
    return columns


def placed(jobs: Mapping[UUID, Job]) -> list[Node]:
    """The jobs in their columns, at the height of their dependencies so that few arrows cross, and then by time."""
    columns = columns_of(jobs)
    nodes: dict[UUID, Node] = {}

    def height(job: Job) -> float:
        rows = [nodes[other].row for other in job.dependencies if other in nodes]
        return sum(rows) / len(rows) if rows else 0.0

    told_apart = labels(jobs.values())
    for column in sorted(set(columns.values())):
        inside = [job for job in jobs.values() if columns[job.job_id] == column]
        for row, job in enumerate(sorted(inside, key=lambda one: (height(one), one.created_at, str(one.job_id)))):
            about = told_apart.get(job.job_id) or (job.job_type if job.job_stage else (job.subject or str(job.job_id)[:8]))
            nodes[job.job_id] = Node(job.job_id, job.job_stage or job.job_type, about, badge_of(job), column, row)
    return list(nodes.values())


def graph_svg(jobs: Iterable[Job], current: UUID) -> str:
    """The graph as SVG; each job is a link, and the current one is marked."""
    known = {job.job_id: job for job in jobs}
    nodes = {node.job_id: node for node in placed(known)}
    width = max(node.x for node in nodes.values()) + _WIDTH + _MARGIN
    height = max(node.y for node in nodes.values()) + _HEIGHT + _MARGIN
    edges = "".join(
        _edge(nodes[other], nodes[job.job_id], done=not (job.waiting_for and str(other) in job.waiting_for))
        for job in known.values()
        for other in job.dependencies
        if other in nodes
    )
    boxes = "".join(_box(node, current) for node in nodes.values())
    return (
        f'<svg class="graph" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="group" '
        f'aria-label="Dependencies of the job">{edges}{boxes}</svg>'
    )


def _edge(start: Node, stop: Node, *, done: bool) -> str:
    x1, y1, x2, y2 = start.x + _WIDTH, start.y + _HEIGHT // 2, stop.x, stop.y + _HEIGHT // 2
    middle = (x1 + x2) // 2
    curve = f"M{x1} {y1}C{middle} {y1} {middle} {y2} {x2 - 6} {y2}"
    return f'<path class="edge{"" if done else " open"}" d="{curve}"/><path class="tip" d="M{x2 - 7} {y2 - 4}l7 4-7 4z"/>'


def _box(node: Node, current: UUID) -> str:
    here = " here" if node.job_id == current else ""
    return (
        f'<a href="/jobs/{node.job_id}"><title>{escape(node.title)}, {escape(node.about)}: {node.badge.word}</title>'
        f'<g class="k-{node.badge.kind}{here}" transform="translate({node.x} {node.y})"><rect width="{_WIDTH}" height="{_HEIGHT}" rx="8"/>'
        f'<circle cx="16" cy="{_HEIGHT // 2}" r="5"/><text x="30" y="19">{escape(truncate(node.title, 22))}</text>'
        f'<text class="about" x="30" y="34">{node.badge.word} · {escape(truncate(node.about, 18))}</text></g></a>'
    )
