"""A job tree drawn as nested lists with lines. Pure: a branch in, HTML out."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

from gateleg.jobs import JobStatus
from gateleg.web.console.badges import BY_STATUS
from gateleg.web.console.jobs.stages import telling_stage
from gateleg.web.console.times import duration

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from gateleg.jobs import Branch

#: How many children of one job are drawn at most; what is left out is counted.
SHOWN = 12
#: Who is drawn first when there are too many: what needs eyes, then what moves, then the rest.
_RANK = {JobStatus.FAILED: 0, JobStatus.PROCESSING: 1, JobStatus.PENDING: 2, JobStatus.CANCELLED: 3, JobStatus.COMPLETED: 4}
_LATER = datetime.max.replace(tzinfo=UTC)


def chosen(children: Sequence[Branch], current: UUID, most: int = SHOWN) -> list[Branch]:
    """The children to draw, in their order: all, or those that matter most and the one that leads to the current job."""
    if len(children) <= most:
        return list(children)
    ranked = sorted(range(len(children)), key=lambda at: (not _leads(children[at], current), _RANK[children[at].status], at))
    return [children[at] for at in sorted(ranked[:most])]


def _leads(branch: Branch, current: UUID) -> bool:
    return any(one.job_id == current for one in branch)


def summary(branch: Branch) -> str:
    """How far a tree is, in words: `7 of 12 done, 1 failed`."""
    counts = branch.counts
    total, done = sum(counts.values()), counts.get(JobStatus.COMPLETED, 0)
    rest = [
        f"{counts[status]} {BY_STATUS[status].word.lower()}" for status in (JobStatus.FAILED, JobStatus.PROCESSING) if counts.get(status)
    ]
    return ", ".join([f"{done} of {total} done", *rest])


def tree_html(branch: Branch, current: UUID) -> str:
    """The tree as HTML: each job is a link with its state, its name and its time; the current one is marked."""
    return f'<ul class="tree">{_item(branch, current)}</ul>'


def _item(branch: Branch, current: UUID) -> str:
    look = BY_STATUS[branch.status]
    here = ' aria-current="true"' if branch.job_id == current else ""
    stage = telling_stage(branch.job_type, branch.stage)
    name = escape(stage or branch.job_type)
    kind = f'<span class="meta">{escape(branch.job_type)}</span>' if stage else ""
    below = ""
    if branch.children:
        drawn = chosen(sorted(branch.children, key=_turn), current)
        left = len(branch.children) - len(drawn)
        more = f'<li class="more meta">and {left} more</li>' if left else ""
        below = f"<ul>{''.join(_item(child, current) for child in drawn)}{more}</ul>"
    return (
        f'<li><a href="/jobs/{branch.job_id}" class="k-{look.kind}"{here}>'
        f'<i class="q-icon material-icons" aria-hidden="true">{look.icon}</i>'
        f'<span class="name">{name}</span>{kind}<span class="sr">{look.word}</span>{_time(branch)}</a>{below}</li>'
    )


def _turn(branch: Branch) -> tuple[datetime, datetime]:
    """When a child had its turn: those that were submitted together, which takes a moment, stand in the order of their start."""
    return branch.created_at.replace(microsecond=0), branch.started_at or _LATER


def _time(branch: Branch) -> str:
    if branch.started_at is not None and branch.completed_at is not None:
        return f'<span class="meta num time">{duration((branch.completed_at - branch.started_at).total_seconds())}</span>'
    if branch.status == JobStatus.PROCESSING and branch.own is not None:
        return f'<span class="meta num time">{round(branch.own.fraction * 100)} %</span>'
    return ""
