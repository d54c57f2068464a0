"""The actions on a collection's page. Each checks access again, because the page may be out of date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui
from pydantic import BaseModel, Field

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.collections import soft_delete_collection, update_collection
from gateleg.apps.rag.deleting.submission import start_collection_deletion
from gateleg.apps.rag.drafts import CollectionChanges
from gateleg.apps.rag.ingesting.reembedding import start_reembedding
from gateleg.apps.rag.tables import CollectionStatus
from gateleg.apps.rag.web.page_paths import repository_path
from gateleg.apps.rag.web.visit import do
from gateleg.web.console.components import ModelForm, button, confirm, section, tag

if TYPE_CHECKING:
    from gateleg.apps.rag.web.visit import Visit


class ChangesForm(BaseModel):
    """The form for changes to a collection."""

    name: str = Field(default="", title="Name", max_length=100)
    description: str = Field(default="", title="Description", max_length=2_000)
    private: bool = Field(default=False, title="Private: visible only to its creator and administrators")
    groups: list[str] = Field(default_factory=list, title="Groups", description="groups of the repository, one per line; all when empty")

    def changes(self) -> CollectionChanges:
        """The changes as a request."""
        found = CollectionChanges(description=self.description or None, private=self.private, allowed_groups=self.groups or None)
        return found.model_copy(update={"name": self.name}) if self.name else found


def actions_part(visit: Visit) -> None:
    """Show the action buttons of a collection."""
    found, store = visit.opened.collection, visit.resources.store
    if not visit.caller.may(Action.CHANGE_COLLECTION, visit.opened.repository, found):
        return
    where = (found.repository_id, found.collection_id)

    async def change_status(status: CollectionStatus, done: str) -> None:
        changes = CollectionChanges(status=status)
        await do(visit.view, lambda: update_collection(store, visit.caller, *where, changes), done, visit.here)

    async def delete() -> None:
        days = visit.resources.settings.restore_days
        if await confirm("Delete this collection?", f"It can no longer be searched. It can be restored for {days} days.", verb="Delete"):
            await do(visit.view, lambda: soft_delete_collection(store, visit.caller, *where, days=days), "Deleted", visit.here)

    async def remove() -> None:
        loss = "A job removes its documents, passages, vectors and files for good, and verifies that nothing is left."
        if await confirm("Remove it for good?", loss, verb="Remove"):
            queue = visit.resources.queue
            there = repository_path(found.repository_id)
            await do(visit.view, lambda: start_collection_deletion(queue, visit.caller, *where), "Removal started", there)

    with tag("div", classes="deeds"):
        match found.status:
            case CollectionStatus.ACTIVE:
                button("Archive", lambda: change_status(CollectionStatus.ARCHIVED, "Archived"), icon="archive", look="small")
                button("Delete", delete, icon="delete", look="small danger")
            case CollectionStatus.ARCHIVED:
                button("Unarchive", lambda: change_status(CollectionStatus.ACTIVE, "Active again"), icon="unarchive", look="small")
                button("Delete", delete, icon="delete", look="small danger")
            case CollectionStatus.DELETED:
                button("Restore", lambda: change_status(CollectionStatus.ACTIVE, "Restored"), icon="restore", look="small first")
                button("Remove for good", remove, icon="delete_forever", look="small danger")
            case CollectionStatus.DELETE_FAILED:
                button("Remove for good", remove, icon="delete_forever", look="small danger")


class ModelChange(BaseModel):
    """The form for another embedding model."""

    embedding_model: str = Field(
        default="",
        title="Embedding model",
        min_length=1,
        max_length=200,
        description="such as local:minilm. All passages are embedded again; searches use the old vectors until that is complete.",
    )


def model_part(visit: Visit) -> None:
    """Show a form for another embedding model, or a link to the job that is embedding the collection."""
    found = visit.opened.collection
    if found.shadow_job_id is not None:
        with section("Embedding model"), tag("p"):
            tag(
                "span",
                f"The collection is being embedded with {found.shadow_model}. Searches use {found.embedding_model} until then. ",
            )
            tag("a", "Follow or cancel the job", "link", href=f"/jobs/{found.shadow_job_id}")
        return

    async def change(form: ModelChange) -> None:
        job = await start_reembedding(visit.resources, visit.caller, found.repository_id, found.collection_id, form.embedding_model)
        ui.navigate.to(f"/jobs/{job.job_id}")

    ModelForm(ModelChange, change, title="Change the embedding model", values={"embedding_model": found.embedding_model})


def settings_part(visit: Visit) -> None:
    """Show a form for changes, and the fields that never change."""
    found = visit.opened.collection
    if visit.caller.may(Action.CHANGE_COLLECTION, visit.opened.repository, found):

        async def save(form: ChangesForm) -> None:
            changed = await update_collection(
                visit.resources.store, visit.caller, found.repository_id, found.collection_id, form.changes(), expected=found.version
            )
            for warning in changed.warnings:
                ui.notify(warning, type="warning")
            ui.navigate.to(f"{visit.here}?tab=settings")

        values = {
            "name": found.name or "",
            "description": found.description or "",
            "private": found.private,
            "groups": found.allowed_groups or [],
        }
        ModelForm(ChangesForm, save, title="Change the collection", values=values)
        if found.status is CollectionStatus.ACTIVE:
            model_part(visit)
    with section("Fixed"), tag("dl", classes="facts"):
        strategy = found.chunking_strategy or {}
        facts = {
            "Id": found.collection_id,
            "Created by": found.created_by,
            "Chunking": str(strategy.get("type", "default")),
        }
        for name, value in facts.items():
            tag("dt", name)
            tag("dd", value)
