"""The job types of deletions, with their configs and their result."""

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
    """The collection that a job removes."""

    repository_id: str
    collection_id: str


class DocumentsDeletion(BaseModel):
    """The documents that a job removes."""

    repository_id: str
    document_ids: list[str]


class RepositoryDeletion(BaseModel):
    """The repository that a job removes."""

    repository_id: str


class Removal(BaseModel):
    """What a job has removed since it was last interrupted."""

    documents: int = 0
    chunks: int = 0
    vectors: int = 0
    objects: int = 0
    collections: int = 0

    @classmethod
    def of(cls, counts: Counts, collections: int = 0) -> Removal:
        """The result of a job."""
        return cls(
            documents=counts.documents,
            chunks=counts.chunks,
            vectors=counts.vectors,
            objects=counts.objects,
            collections=collections,
        )


class NoConfig(BaseModel):
    """The config of a job that needs none."""


class PurgeResult(BaseModel):
    """How many collections are being removed because their time to be restored is over."""

    collections: int = 0
