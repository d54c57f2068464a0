"""The job types of deletions with their handlers, and the daily purge of expired collections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.rag.deleting.handlers import delete_collection, delete_documents, delete_repository
from gateleg.apps.rag.deleting.job_types import (
    DELETE_COLLECTION,
    DELETE_DOCUMENTS,
    DELETE_REPOSITORY,
    PURGE,
    CollectionDeletion,
    DocumentsDeletion,
    NoConfig,
    PurgeResult,
    Removal,
    RepositoryDeletion,
)
from gateleg.apps.rag.deleting.purge_sweep import purge_deleted
from gateleg.apps.rag.index.registry import indexes_of
from gateleg.apps.rag.purging import PurgeResources
from gateleg.jobs import Jobs

if TYPE_CHECKING:
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.host import Resources
    from gateleg.jobs import JobContext


def purge_resources(resources: Resources[RagSettings]) -> PurgeResources:
    """The resources of this host that a purge removes from."""
    return PurgeResources(resources.store, resources.objects, indexes_of(resources))


def deletion_jobs(resources: Resources[RagSettings]) -> Jobs:
    """The job types of deletions, with their handlers."""
    jobs = Jobs()

    @jobs.handler(DELETE_COLLECTION, config=CollectionDeletion, result=Removal, priority=40, timeout=3600)
    async def collection(job: JobContext, config: CollectionDeletion) -> Removal:
        return await delete_collection(job, purge_resources(resources), resources.queue, config)

    @jobs.handler(DELETE_DOCUMENTS, config=DocumentsDeletion, result=Removal, priority=40, timeout=3600)
    async def documents(job: JobContext, config: DocumentsDeletion) -> Removal:
        return await delete_documents(job, purge_resources(resources), resources.queue, config)

    @jobs.handler(DELETE_REPOSITORY, config=RepositoryDeletion, result=Removal, priority=40, timeout=4 * 3600)
    async def repository(job: JobContext, config: RepositoryDeletion) -> Removal:
        return await delete_repository(job, purge_resources(resources), resources.queue, config)

    @jobs.every("0 3 * * *")
    @jobs.handler(PURGE, config=NoConfig, result=PurgeResult, priority=30, timeout=3600)
    async def purge(job: JobContext, config: NoConfig) -> PurgeResult:
        return PurgeResult(collections=await purge_deleted(resources.queue))

    return jobs
