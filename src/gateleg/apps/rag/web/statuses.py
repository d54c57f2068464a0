"""How the states of repositories, collections and documents look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.rag.tables import READY, CollectionStatus, DocumentStatus
from gateleg.web.console.components import Statuses, badge

if TYPE_CHECKING:
    from nicegui.element import Element

    from gateleg.apps.rag.tables import Repository
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
DOCUMENT = Statuses[DocumentStatus](
    {
        DocumentStatus.PENDING: ("Waiting", "waiting"),
        DocumentStatus.IN_PROGRESS: ("Being read", "running"),
        DocumentStatus.COMPLETED: ("Searchable", "done"),
        DocumentStatus.FAILED: ("Failed", "failed"),
        DocumentStatus.DELETE_IN_PROGRESS: ("Being removed", "running"),
        DocumentStatus.DELETE_FAILED: ("Removal failed", "failed"),
    }
)


def collection_badge(status: CollectionStatus) -> Element:
    """The state of a collection."""
    return COLLECTION.badge(status)


def collection_cell(status: CollectionStatus) -> Part:
    """The state of a collection in a table."""
    return COLLECTION.cell(status)


def document_badge(status: DocumentStatus) -> Element:
    """The state of a document."""
    return DOCUMENT.badge(status)


def document_cell(status: DocumentStatus) -> Part:
    """The state of a document in a table."""
    return DOCUMENT.cell(status)


def repository_badge(repository: Repository) -> Element:
    """The state of a repository."""
    return (
        badge("Ready", "done") if repository.status in READY else badge(repository.status.value.replace("_", " ").capitalize(), "warning")
    )
