"""The job types of deletions, with their configs and results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel

if TYPE_CHECKING:
    from gateleg.apps.rag.purging import Counts

DELETE_COLLECTION = "rag.delete-collection"
DELETE_DOCUMENTS = "rag.delete-documents"
DELETE_REPOSITORY = "rag.delete-repository"
PURGE = "rag.purge"


class CollectionDeletion(BaseModel):
    """The config of a job that removes a collection."""

    repository_id: str
    collection_id: str
    #: the name to release, if the row that has reserved it is gone
    name: str | None = None


class DocumentsDeletion(BaseModel):
    """The config of a job that removes documents."""

    repository_id: str
    document_ids: list[str]


class RepositoryDeletion(BaseModel):
    """The config of a job that removes a repository."""

    repository_id: str


class Removal(BaseModel):
    """The result of a deletion: what the job has removed since its last interruption."""

    documents: int = 0
    chunks: int = 0
    vectors: int = 0
    objects: int = 0
    collections: int = 0

    @classmethod
    def of(cls, counts: Counts, collections: int = 0) -> Removal:
        """The result for the counts of a purge."""
        return cls(
            documents=counts.documents,
            chunks=counts.chunks,
            vectors=counts.vectors,
            objects=counts.objects,
            collections=collections,
        )


class NoConfig(BaseModel):
    """The config of a job without options."""


class PurgeResult(BaseModel):
    """The number of expired collections whose removal was started."""

    collections: int = 0
