"""The jobs of a repository for those who administer it: about the repository itself and about each of its collections, newest first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from gateleg.apps.rag.keyset import KeysetPage, Pager, in_order, merged
from gateleg.apps.rag.subjects import Subject
from gateleg.apps.rag.tables import Collection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from gateleg.apps.rag.keyset import SortKey
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Repository
    from gateleg.jobs import Job
    from gateleg.web import Principal, Resources

_FORM = "%Y-%m-%dT%H:%M:%S.%f"


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
    """A page of the jobs since a moment that `sees` lets the caller see. One index is asked once for each collection."""
    question = ["jobs", repository.repository_id, principal.owner]
    pager: Pager[Job] = Pager.of(resources.store, question, _place, descending=True, size=size, token=token)
    own = repository.repository_id
    collections = [row.collection_id async for row in resources.store.query(Collection.in_repository, repository_id=own)]
    subjects = [Subject(own), *(Subject(own, one) for one in (repository.config.embedding_model_id, *collections))]
    streams = [in_order(_of_subject(resources, subject, sees, since, pager.last), _place) for subject in dict.fromkeys(subjects)]
    return await pager.take(merged(streams, _place, descending=True))


def _place(job: Job) -> SortKey:
    return job.created_at.astimezone(UTC).strftime(_FORM), str(job.job_id)


async def _of_subject(
    resources: Resources[RagSettings], subject: Subject, sees: Callable[[Job], Awaitable[bool]], since: datetime, last: SortKey | None
) -> AsyncIterator[Job]:
    kind = resources.queue.context.tables.job
    query = kind.of_subject(subject=str(subject))
    if last is not None:
        # A little later: which of the jobs of one moment are due is for the pager to say.
        query = query.where(kind.created_at <= datetime.strptime(str(last[0]), _FORM).replace(tzinfo=UTC) + timedelta(seconds=1))
    async for job in resources.store.query(query):
        if job.created_at < since:
            return
        if await sees(job):
            yield job
