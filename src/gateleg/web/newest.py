"""Jobs of every state in one list, newest first, page by page.

No index holds all jobs by their time, so the states are read side by side and merged. The cursor says where each of them goes on.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.jobs import Job, JobStatus
from gateleg.jobs.monitor.listing import each_once, shown_by_default
from gateleg.net import BadToken
from gateleg.store import CursorRejected, Page
from gateleg.store.operations.cursors import Position, question_of
from gateleg.store.operations.queries import Reading

if TYPE_CHECKING:
    from gateleg.jobs import Jobs
    from gateleg.model import Item, Query
    from gateleg.web.host import Host

_PURPOSE = "newest"
_EXAMINED = 2000


async def jobs_page(host: Host, *, limit: int, cursor: str | None = None, **filters: Any) -> Page[Job]:
    """Jobs that fit all filters, newest first. See `AsyncQueue.jobs_page` for the filters."""
    narrow = any(filters.get(name) is not None for name in ("status", "subject", "worker"))
    if narrow:
        return await host.queue.jobs_page(limit=limit, cursor=cursor, **filters)
    return await _merged(host, _Wanted(**{name: filters.get(name) for name in ("queue", "tag", "job_type", "internal")}), limit, cursor)


@dataclass(frozen=True)
class _Wanted:
    """What a list of the newest jobs is narrowed to."""

    queue: str | None = None
    tag: str | None = None
    job_type: str | None = None
    internal: bool | None = None


async def _merged(host: Host, wanted: _Wanted, limit: int, cursor: str | None) -> Page[Job]:
    question = orjson.dumps(["newest", wanted])
    places = _opened(host, cursor, question) if cursor else {str(status): None for status in JobStatus}
    found: dict[str, tuple[Query[Job], Page[Job]]] = {}
    for status, place in places.items():
        asked = _asked(host.queue.tables.job, JobStatus(status), wanted, host.queue.context.jobs)
        found[status] = (asked, await host.store.page(asked, limit=limit, cursor=_resumed(host, asked, place), examine=_EXAMINED))
    lists = [[(job, status) for job in page] for status, (_, page) in found.items()]
    merged = list(heapq.merge(*lists, key=lambda pair: pair[0].created_at, reverse=True))
    # Where a state was not searched to its end, what it may still hold could come before what others have further on.
    taken = _certain(merged, found, limit)
    return Page(each_once(job for job, _ in taken), _sealed(host, _left(places, found, taken), question))


def _asked(kind: type[Job], status: JobStatus, wanted: _Wanted, jobs: Jobs) -> Query[Job]:
    asked = kind.in_status(status=status).reversed()
    if wanted.queue is not None:
        asked = asked.filter(Job.queue == wanted.queue)
    if wanted.job_type is not None:
        asked = asked.filter(Job.job_type == wanted.job_type)
    elif not wanted.internal:
        asked = asked.filter(shown_by_default(jobs, status))
    return asked if wanted.tag is None else asked.filter(Job.tags.contains(wanted.tag))


def _certain(merged: list[tuple[Job, str]], found: dict[str, tuple[Query[Job], Page[Job]]], limit: int) -> list[tuple[Job, str]]:
    """The jobs that surely come first: up to the end of a state's page that has more behind it."""
    unfinished = {status: page for status, (_, page) in found.items() if page.next is not None}
    if not all(page.items for page in unfinished.values()):
        # A search that has found nothing so far may yet find what is newer than all of these.
        return []
    last = {status: page.items[-1].job_id for status, page in unfinished.items()}
    taken = []
    for job, status in merged[:limit]:
        taken.append((job, status))
        if last.get(status) == job.job_id:
            break
    return taken


def _left(places: dict[str, Any], found: dict[str, tuple[Query[Job], Page[Job]]], taken: list[tuple[Job, str]]) -> dict[str, Any]:
    """Where each state goes on: behind the last job that was taken of it; left out when there is nothing more."""
    left: dict[str, Any] = {}
    for status, (asked, page) in found.items():
        own = [job for job, owner in taken if owner == status]
        if len(own) < len(page.items):
            left[status] = {"after": _key(asked, own[-1])} if own else places[status]
        elif page.next is not None:
            left[status] = {"cursor": page.next}
    return left


def _key(asked: Query[Job], job: Job) -> Item:
    from gateleg.model import spec_of

    return dict(asked.resume_key(spec_of(type(job)).encode(job)))


def _resumed(host: Host, asked: Query[Job], place: Any) -> str | None:
    """The store's cursor for a place in one state's list."""
    if place is None or "cursor" in place:
        return None if place is None else str(place["cursor"])
    question = question_of([asked.pattern, Reading(asked).question(host.store.setup)])
    return host.store.setup.cursors.seal(Position((place["after"],)), question)


def _sealed(host: Host, places: dict[str, Any], question: bytes) -> str | None:
    if not places:
        return None
    return host.secret.seal(_PURPOSE, orjson.dumps(places), question)


def _opened(host: Host, cursor: str, question: bytes) -> dict[str, Any]:
    try:
        places: dict[str, Any] = orjson.loads(host.secret.open(_PURPOSE, cursor, question))
    except BadToken:
        raise CursorRejected("The cursor was not made here for this question.") from None
    return places
