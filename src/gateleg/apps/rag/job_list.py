"""List the jobs of a repository and of its collections, newest first, for its administrators."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from gateleg.apps.rag.keyset import KeysetPage, Pager, merge_streams, order_ties
from gateleg.apps.rag.subjects import Subject
from gateleg.apps.rag.tables import Collection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from gateleg.apps.rag.keyset import SortKey
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Repository
    from gateleg.host import Principal, Resources
    from gateleg.jobs import Job

_TIME_FORMAT = "%Y-%m-%dT%H:%M:%S.%f"


async def list_repository_jobs(
    resources: Resources[RagSettings],
    principal: Principal,
    repository: Repository,
    sees: Callable[[Job], Awaitable[bool]],
    *,
    since: datetime,
    size: int,
    token: str | None,
) -> KeysetPage[Job]:
    """A page of the jobs since `since` for which `sees` is true. Makes one index query for each collection."""
    identity = ["jobs", repository.repository_id, principal.owner]
    pager: Pager[Job] = Pager.of(resources.store, identity, _sort_key, descending=True, size=size, token=token)
    own = repository.repository_id
    collections = [row.collection_id async for row in resources.store.query(Collection.in_repository, repository_id=own)]
    subjects = [Subject(own), *(Subject(own, one) for one in (repository.config.embedding_model_id, *collections))]
    kinds = [member.tables.job for member in resources.queue.members]
    streams = [
        order_ties(_of_subject(resources, kind, subject, sees, since, pager.last), _sort_key)
        for subject in dict.fromkeys(subjects)
        for kind in kinds
    ]
    return await pager.take(merge_streams(streams, _sort_key, descending=True))


def _sort_key(job: Job) -> SortKey:
    return job.created_at.astimezone(UTC).strftime(_TIME_FORMAT), str(job.job_id)


async def _of_subject(
    resources: Resources[RagSettings],
    kind: type[Job],
    subject: Subject,
    sees: Callable[[Job], Awaitable[bool]],
    since: datetime,
    last: SortKey | None,
) -> AsyncIterator[Job]:
    query = kind.of_subject(subject=str(subject))
    if last is not None:
        # A second later, so that no job with the same time is missed; the pager skips those of earlier pages.
        query = query.where(kind.created_at <= datetime.strptime(str(last[0]), _TIME_FORMAT).replace(tzinfo=UTC) + timedelta(seconds=1))
    async for job in resources.store.query(query):
        if job.created_at < since:
            return
        if await sees(job):
            yield job
