"""The page of a repository: its collections, and a form for a new collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui
from pydantic import BaseModel, Field

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.collection_list import CollectionFilter, list_collections
from gateleg.apps.rag.collections import create_collection
from gateleg.apps.rag.drafts import NewCollection
from gateleg.apps.rag.host_checks import check_model
from gateleg.apps.rag.repositories import get_repository
from gateleg.apps.rag.tables import CollectionStatus
from gateleg.apps.rag.web.page_paths import HOME, collection_path, repository_path
from gateleg.apps.rag.web.statuses import collection_cell, repository_badge
from gateleg.apps.rag.web.visit import NOT_FOUND_ERRORS, caller_of, show_not_found
from gateleg.web.console.components import Column, Crumb, Grid, ModelForm, Row, ago_cell, empty, frame, pager, section, tag

if TYPE_CHECKING:
    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.collections import OpenedCollection
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Repository
    from gateleg.host import Resources

_COLUMNS = (
    Column("name", "Collection"),
    Column("status", "Status"),
    Column("readers", "Readers"),
    Column("creator", "Created by", desk=True),
    Column("updated", "Changed", desk=True),
)
_SIZE = 50


class CollectionForm(BaseModel):
    """The form for a new collection."""

    name: str = Field(title="Name", min_length=1, max_length=100)
    description: str = Field(default="", title="Description", max_length=2_000)
    private: bool = Field(default=False, title="Private: visible only to you and administrators")
    groups: list[str] = Field(default_factory=list, title="Groups", description="groups of the repository, one per line; all when empty")

    def draft(self) -> NewCollection:
        """The collection as a request."""
        return NewCollection(name=self.name, description=self.description or None, private=self.private, allowed_groups=self.groups or None)


async def repository_page(resources: Resources[RagSettings], repository_id: str, cursor: str = "", deleted: str = "") -> None:
    """Show a repository, if the viewer can read it."""
    with frame(title="Repository", section="rag", crumbs=[Crumb("Documents", HOME)], titled=False) as view:
        caller = caller_of(view, resources)
        try:
            repository = await get_repository(resources.store, caller, repository_id)
        except NOT_FOUND_ERRORS:
            show_not_found("repository")
            return
        _head(repository)
        await _collections(resources, caller, repository, cursor, bool(deleted))
        if caller.may(Action.CREATE_COLLECTION, repository) and not deleted:

            async def make(form: CollectionForm) -> None:
                check_model(resources, form.draft().embedding_model)
                made = await create_collection(resources.store, caller, repository_id, form.draft())
                ui.navigate.to(collection_path(repository_id, made.collection.collection_id))

            with section("New collection"):
                ModelForm(CollectionForm, make, submit="Create")


def _head(repository: Repository) -> None:
    config = repository.config
    with tag("div", classes="head"), tag("div", classes="titles"):
        tag("h1", config.repository_name or repository.repository_id, dir="auto")
        if config.description:
            tag("p", config.description, "muted", dir="auto")
        with tag("p", classes="line gap-1 meta"):
            repository_badge(repository)
            tag("span", f"Embedding model {config.embedding_model_id}")
            tag("span", f"read by {', '.join(config.allowed_groups)}" if config.allowed_groups else "read by every member")


async def _collections(resources: Resources[RagSettings], caller: Caller, repository: Repository, cursor: str, deleted: bool) -> None:
    wanted = CollectionFilter(status=CollectionStatus.DELETED if deleted else None)
    page = await list_collections(resources.store, caller, repository, wanted, size=_SIZE, token=cursor or None)
    here = repository_path(repository.repository_id)
    with section("Deleted collections" if deleted else "Collections"):
        if page.rows:
            Grid("Collections", _COLUMNS, [_row(one) for one in page.rows])
        else:
            empty(
                "folder",
                "No collections",
                "Deleted collections are listed here until they are purged." if deleted else "Create the first one below.",
            )
        state = {"deleted": "1"} if deleted else {}
        pager(here, state, cursor=cursor or None, following=page.next, shown=len(page.rows))
        tag(
            "a", "Back to the collections" if deleted else "Deleted collections", "link meta", href=here if deleted else f"{here}?deleted=1"
        )


def _row(opened: OpenedCollection) -> Row:
    found = opened.collection
    readers = "private" if found.private else ", ".join(found.allowed_groups) if found.allowed_groups else "same as the repository"
    cells = {
        "name": found.name or ("Default collection" if opened.is_default else found.collection_id),
        "status": collection_cell(found.status),
        "readers": readers,
        "creator": found.created_by,
        "updated": ago_cell(found.updated_at),
    }
    return Row(found.collection_id, cells, href=collection_path(found.repository_id, found.collection_id))
