"""Pages of jobs. Jobs of all states together are read from each state's index and merged, newest first."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING

import orjson

from gateleg.jobs import JobStatus
from gateleg.store import CursorRejected, Page

if TYPE_CHECKING:
    from gateleg.jobs import AsyncQueue, Job
    from gateleg.web.console.jobs.filters import Filters

#: How many jobs a page of the list has.
LENGTH = 50
#: In a merged cursor: nothing of the state is left.
_OVER = ""


async def jobs_page(queue: AsyncQueue, filters: Filters, limit: int = LENGTH) -> Page[Job]:
    """The page of a list that its filters say."""
    if filters.status or filters.type or filters.subject or filters.worker:
        return await queue.jobs_page(**filters.arguments(), limit=limit, cursor=filters.cursor)
    return await _merged(queue, filters, limit)


async def _merged(queue: AsyncQueue, filters: Filters, limit: int) -> Page[Job]:
    """The newest jobs of all states. The cursor has a place for each state: a state goes on after the last job that was shown of it."""
    places = opened(filters.cursor)
    pages: dict[JobStatus, Page[Job]] = {}
    for status in JobStatus:
        if places.get(status) != _OVER:
            pages[status] = await _part(queue, filters, status, limit, places.get(status))
    ranked = sorted(((job.created_at, str(job.job_id), status) for status, page in pages.items() for job in page), reverse=True)[:limit]
    taken = {status: sum(1 for *_, other in ranked if other == status) for status in pages}
    following: dict[JobStatus, str | None] = {}
    shown: list[Job] = []
    for status in JobStatus:
        page = pages.get(status)
        if page is None:
            following[status] = _OVER
            continue
        count = taken[status]
        shown += page.items[:count]
        if count == len(page.items):
            following[status] = page.next or _OVER
        elif count == 0:
            following[status] = places.get(status)
        else:
            # A cursor is only made at the end of a page, so the part that is shown is asked for once more as a page of its own.
            following[status] = (await _part(queue, filters, status, count, places.get(status))).next or _OVER
    shown.sort(key=lambda job: (job.created_at, str(job.job_id)), reverse=True)
    more = any(place != _OVER for place in following.values())
    return Page(shown, sealed(following) if more else None)


async def _part(queue: AsyncQueue, filters: Filters, status: JobStatus, limit: int, cursor: str | None) -> Page[Job]:
    return await queue.jobs_page(status=status, queue=filters.queue, tag=filters.tag, limit=limit, cursor=cursor)


def sealed(places: dict[JobStatus, str | None]) -> str:
    """The places of all states as one text. Each is signed by the store, so the whole needs no signature."""
    return urlsafe_b64encode(orjson.dumps([places.get(status) for status in JobStatus])).decode().rstrip("=")


def opened(cursor: str | None) -> dict[JobStatus, str | None]:
    """The places of a merged cursor; none is the beginning of all."""
    if cursor is None:
        return {}
    try:
        places = orjson.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except ValueError:
        raise CursorRejected("The cursor is not one of ours.") from None
    if not isinstance(places, list) or len(places) != len(JobStatus) or not all(one is None or isinstance(one, str) for one in places):
        raise CursorRejected("The cursor is not one of ours.")
    return dict(zip(JobStatus, places, strict=True))
