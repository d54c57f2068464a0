"""Labels and badges for the statuses of repositories, collections and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gateleg.apps.rag.tables import READY, CollectionStatus, DocumentStatus
from gateleg.web.console.components import Statuses, badge

if TYPE_CHECKING:
    from nicegui.element import Element

    from gateleg.apps.rag.tables import Document, Repository
    from gateleg.web.console.components import Part


COLLECTION = Statuses[CollectionStatus](
    {
        CollectionStatus.ACTIVE: ("Active", "done"),
        CollectionStatus.ARCHIVED: ("Archived", "neutral"),
        CollectionStatus.DELETED: ("Deleted", "warning"),
        CollectionStatus.DELETE_IN_PROGRESS: ("Being removed", "running"),
        CollectionStatus.DELETE_FAILED: ("Removal failed", "failed"),
    }
)
DOCUMENT = Statuses[DocumentStatus | Literal["keywords"]](
    {
        "keywords": ("Keywords only", "warning"),
        DocumentStatus.PENDING: ("Waiting", "waiting"),
        DocumentStatus.IN_PROGRESS: ("Being ingested", "running"),
        DocumentStatus.COMPLETED: ("Searchable", "done"),
        DocumentStatus.FAILED: ("Failed", "failed"),
        DocumentStatus.DELETE_IN_PROGRESS: ("Being removed", "running"),
        DocumentStatus.DELETE_FAILED: ("Removal failed", "failed"),
    }
)


def collection_badge(status: CollectionStatus) -> Element:
    """The badge of a collection's status."""
    return COLLECTION.badge(status)


def collection_cell(status: CollectionStatus) -> Part:
    """The table cell of a collection's status."""
    return COLLECTION.cell(status)


def document_badge(document: Document) -> Element:
    """The badge of a document's status."""
    return DOCUMENT.badge(_shown_status(document))


def document_cell(document: Document) -> Part:
    """The table cell of a document's status."""
    return DOCUMENT.cell(_shown_status(document))


def _shown_status(document: Document) -> DocumentStatus | Literal["keywords"]:
    by_keywords = document.status is DocumentStatus.COMPLETED and document.keywords_only is not None
    return "keywords" if by_keywords else document.status


def repository_badge(repository: Repository) -> Element:
    """The badge of a repository's status."""
    return (
        badge("Ready", "done") if repository.status in READY else badge(repository.status.value.replace("_", " ").capitalize(), "warning")
    )
