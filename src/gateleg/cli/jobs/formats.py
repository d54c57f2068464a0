"""Formats jobs: rows for people, plain values for programs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gateleg.durations import duration
from gateleg.jobs import JobStatus

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from pydantic import BaseModel

    from gateleg.jobs import Job
    from gateleg.jobs.monitor import Branch
    from gateleg.jobs.tables import ArchivedJob

_COLOURS = {
    JobStatus.PENDING: "yellow",
    JobStatus.PROCESSING: "cyan",
    JobStatus.COMPLETED: "green",
    JobStatus.FAILED: "red",
    JobStatus.CANCELLED: "dim",
}


def plain(model: BaseModel) -> dict[str, Any]:
    """An entity as JSON, without empty values."""
    values: dict[str, Any] = model.model_dump(mode="json")
    return {name: value for name, value in values.items() if value not in (None, [], {})}


def age(moment: datetime | None) -> str:
    """The time since a moment."""
    return "" if moment is None else duration((datetime.now(UTC) - moment).total_seconds())


def optional_duration(seconds: float | None) -> str:
    """A duration in words; empty if it is not known."""
    return "" if seconds is None else duration(seconds)


def row(job: Job) -> dict[str, str]:
    """A job as one line."""
    percent = "" if job.progress is None or job.finished else f"{job.progress.fraction:.0%} {job.progress.message}"
    return {
        "job": str(job.job_id),
        "type": job.job_type,
        "status": str(job.status) if job.readiness == "ready" or job.status != JobStatus.PENDING else f"{job.status} ({job.readiness})",
        "priority": str(job.priority),
        "age": age(job.created_at),
        "progress": percent.strip(),
        "subject": job.subject or "",
        "queue": job.queue,
        "retries": str(job.retry_count) if job.retry_count else "",
        "worker": job.worker_id or "",
    }


def archived_row(job: ArchivedJob) -> dict[str, str]:
    """An archived job as one line."""
    return {
        "job": str(job.job_id),
        "type": job.job_type,
        "status": str(job.status),
        "completed": job.completed_at.strftime("%Y-%m-%d %H:%M"),
        "ran": optional_duration(job.run_seconds),
        "subject": job.subject or "",
        "retries": str(job.retry_count) if job.retry_count else "",
    }


def coloured(status: JobStatus) -> Any:
    """A state in its colour."""
    from rich.text import Text

    return Text(str(status), style=_COLOURS[status])


def tree_view(branch: Branch, labels: Mapping[UUID, str]) -> Any:
    """A tree of jobs. Each has a progress bar, unless it failed or was cancelled and nothing below it is running."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text
    from rich.tree import Tree

    def label(one: Branch) -> Any:
        line = Table.grid(padding=(0, 2))
        name = one.job_type if one.stage is None else f"{one.job_type} / {one.stage}"
        name = f"{name}  {labels[one.job_id]}" if one.job_id in labels else name
        has_bar = one.unfinished or one.status == JobStatus.COMPLETED
        bar, percent = (ProgressBar(1.0, one.fraction, width=20), f"{one.fraction:.0%}") if has_bar else ("", "")
        line.add_row(Text(name), coloured(one.status), bar, percent, str(one.job_id)[:8], one.summary if one.children else "")
        return line

    def grow(one: Branch, view: Tree) -> Tree:
        for child in one.children:
            grow(child, view.add(label(child)))
        return view

    return grow(branch, Tree(label(branch)))


def plain_tree(branch: Branch) -> dict[str, Any]:
    """A tree of jobs as JSON."""
    return {
        "job_id": str(branch.job_id),
        "job_type": branch.job_type,
        "stage": branch.stage,
        "status": str(branch.status),
        "fraction": round(branch.fraction, 4),
        "children": [plain_tree(child) for child in branch.children],
    }
