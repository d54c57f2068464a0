"""Decide who may see a job: the person who submitted it, and everybody who may change its collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.rag.access import Action, Caller
from gateleg.apps.rag.collections import find_collection
from gateleg.apps.rag.subjects import parse_subject
from gateleg.apps.rag.tables import Repository

if TYPE_CHECKING:
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.host import Principal, Resources
    from gateleg.jobs import Job
    from gateleg.jobs.tables import ArchivedJob


async def may_see_job(resources: Resources[RagSettings], principal: Principal, job: Job | ArchivedJob) -> bool:
    """Whether the principal may see a job. Submitters lose access to a job when they can no longer read its subject."""
    own = (job.created_by, job.tenant) == (principal.name, principal.tenant)
    subject = parse_subject(job.subject)
    if subject is None:
        return own
    caller = Caller(principal, resources.settings.admin_group)
    repository = await resources.store.find(Repository, repository_id=subject.repository_id, consistent=True)
    if repository is None:
        return own
    if subject.collection_id is None:
        return caller.may(Action.CHANGE_PIPELINES, repository) or (own and caller.may(Action.READ, repository))
    collection = await find_collection(resources.store, repository, subject.collection_id)
    if collection is None:
        return own and caller.may(Action.READ, repository)
    if caller.may(Action.CHANGE_COLLECTION, repository, collection):
        return True
    return own and caller.may(Action.READ, repository, collection)
