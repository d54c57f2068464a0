"""The dependencies of a job, drawn as a graph from left to right. Pure: jobs in, SVG out."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from gateleg.jobs.monitor.stats import labels
from gateleg.web.console.badges import Badge, badge_of
from gateleg.web.console.texts import truncate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from gateleg.jobs import Job

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
