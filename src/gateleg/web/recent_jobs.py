"""Jobs of every state in one list, newest first, page by page.

No index orders all jobs by time, so the lists of all states are read and merged. The cursor holds the position in each list.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.jobs import Job, JobStatus
from gateleg.jobs.monitor import latest_versions, shown_by_default
from gateleg.net import BadToken
from gateleg.store import CursorRejected, Page
from gateleg.store.cursors import Position, request_digest
from gateleg.store.operations.queries import Reading

if TYPE_CHECKING:
    from gateleg.jobs import Jobs
    from gateleg.model import Item, Query
    from gateleg.web.host import Host

_PURPOSE = "newest"
_MAX_EXAMINED = 2000


async def jobs_page(host: Host, *, limit: int, cursor: str | None = None, **filters: Any) -> Page[Job]:
    """Jobs that match all filters, newest first. See `AsyncQueue.jobs_page` for the filters."""
    narrow = any(filters.get(name) is not None for name in ("status", "subject", "worker"))
    if narrow:
        return await host.queue.jobs_page(limit=limit, cursor=cursor, **filters)
    return await _merged_page(
        host, _JobFilters(**{name: filters.get(name) for name in ("queue", "tag", "job_type", "internal")}), limit, cursor
    )


@dataclass(frozen=True)
class _JobFilters:
    """Filters of a list of jobs in all states."""

    queue: str | None = None
    tag: str | None = None
    job_type: str | None = None
    internal: bool | None = None


async def _merged_page(host: Host, filters: _JobFilters, limit: int, cursor: str | None) -> Page[Job]:
    question = orjson.dumps(["newest", filters])
    positions = _decode_cursor(host, cursor, question) if cursor else {str(status): None for status in JobStatus}
    found: dict[str, tuple[Query[Job], Page[Job]]] = {}
    for status, position in positions.items():
        query = _query_for(host.queue.tables.job, JobStatus(status), filters, host.queue.context.jobs)
        found[status] = (query, await host.store.page(query, limit=limit, cursor=_cursor_at(host, query, position), examine=_MAX_EXAMINED))
    lists = [[(job, status) for job in page] for status, (_, page) in found.items()]
    merged = list(heapq.merge(*lists, key=lambda pair: pair[0].created_at, reverse=True))
    # A state with further pages may hold jobs that are newer than the next ones of other states.
    taken = _take_ordered(merged, found, limit)
    return Page(latest_versions(job for job, _ in taken), _encode_cursor(host, _next_positions(positions, found, taken), question))


def _query_for(kind: type[Job], status: JobStatus, filters: _JobFilters, jobs: Jobs) -> Query[Job]:
    query = kind.in_status(status=status).reversed()
    if filters.queue is not None:
        query = query.filter(Job.queue == filters.queue)
    if filters.job_type is not None:
        query = query.filter(Job.job_type == filters.job_type)
    elif not filters.internal:
        query = query.filter(shown_by_default(jobs, status))
    return query if filters.tag is None else query.filter(Job.tags.contains(filters.tag))


def _take_ordered(merged: list[tuple[Job, str]], found: dict[str, tuple[Query[Job], Page[Job]]], limit: int) -> list[tuple[Job, str]]:
    """The first jobs of the merged list, up to the last one of a page that has a next page."""
    unfinished = {status: page for status, (_, page) in found.items() if page.next is not None}
    if not all(page.items for page in unfinished.values()):
        # A filtered page without matches may be followed by jobs that are newer than all of these.
        return []
    last = {status: page.items[-1].job_id for status, page in unfinished.items()}
    taken = []
    for job, status in merged[:limit]:
        taken.append((job, status))
        if last.get(status) == job.job_id:
            break
    return taken


def _next_positions(
    positions: dict[str, Any], found: dict[str, tuple[Query[Job], Page[Job]]], taken: list[tuple[Job, str]]
) -> dict[str, Any]:
    """The position of each state after the jobs that were taken from it; states without further jobs are omitted."""
    positions_left: dict[str, Any] = {}
    for status, (query, page) in found.items():
        own = [job for job, owner in taken if owner == status]
        if len(own) < len(page.items):
            positions_left[status] = {"after": _key(query, own[-1])} if own else positions[status]
        elif page.next is not None:
            positions_left[status] = {"cursor": page.next}
    return positions_left


def _key(query: Query[Job], job: Job) -> Item:
    from gateleg.model import spec_of

    return dict(query.resume_key(spec_of(type(job)).encode(job)))


def _cursor_at(host: Host, query: Query[Job], position: Any) -> str | None:
    """The store's cursor for a position in the list of one state."""
    if position is None or "cursor" in position:
        return None if position is None else str(position["cursor"])
    question = request_digest([query.pattern, Reading(query).cursor_requests(host.store.setup)])
    return host.store.setup.cursors.seal(Position((position["after"],)), question)


def _encode_cursor(host: Host, positions: dict[str, Any], question: bytes) -> str | None:
    if not positions:
        return None
    return host.secret.seal(_PURPOSE, orjson.dumps(positions), question)


def _decode_cursor(host: Host, cursor: str, question: bytes) -> dict[str, Any]:
    try:
        positions: dict[str, Any] = orjson.loads(host.secret.open(_PURPOSE, cursor, question))
    except BadToken:
        raise CursorRejected("The cursor does not belong to this list.") from None
    return positions
