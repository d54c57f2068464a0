"""The home page: all repositories that the viewer can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui
from pydantic import BaseModel, Field

from gateleg.apps.rag.drafts import NewRepository
from gateleg.apps.rag.host_checks import check_model
from gateleg.apps.rag.repositories import create_repository, list_repositories
from gateleg.apps.rag.web.page_paths import HOME, repository_path
from gateleg.apps.rag.web.statuses import repository_badge
from gateleg.apps.rag.web.visit import caller_of
from gateleg.host import Role
from gateleg.web.console.components import Crumb, ModelForm, empty, frame, section, show_when_loaded, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Repository
    from gateleg.host import Resources

NEW = f"{HOME}/new"


class RepositoryForm(BaseModel):
    """The form for a new repository."""

    repository_id: str = Field(title="Id", description="3 to 20 lower-case letters, digits and hyphens; it is part of addresses")
    name: str = Field(default="", title="Name", max_length=100)
    description: str = Field(default="", title="Description", max_length=2_000)
    groups: list[str] = Field(
        default_factory=list, title="Groups", description="groups that can read it, one per line; everybody when empty"
    )
    allow_user_collections: bool = Field(default=True, title="Readers may create collections")

    def draft(self) -> NewRepository:
        """The repository as a request."""
        return NewRepository(
            repository_id=self.repository_id,
            repository_name=self.name or None,
            description=self.description or None,
            allowed_groups=self.groups or None,
            allow_user_collections=self.allow_user_collections,
        )


async def home_page(resources: Resources[RagSettings]) -> None:
    """Show all repositories that the viewer can read."""
    with frame(title="Documents", section="rag", titled=False) as view:
        with tag("div", classes="head"):
            tag("h1", "Documents")
            if view.may(Role.ADMIN):
                with tag("div", classes="deeds"), tag("a", classes="deed first", href=NEW):
                    ui.icon("add")
                    tag("span", "New repository")

        def show(found: Sequence[Repository]) -> None:
            if not found:
                sentence = "A repository contains collections of documents to search and ask. Administrators create repositories."
                more = {"button": "New repository", "href": NEW} if view.may(Role.ADMIN) else {}
                empty("folder", "No repositories yet", sentence, **more)
            with tag("div", classes="tiles"):
                for one in found:
                    _tile(one)

        with section("Repositories"):
            await show_when_loaded(list_repositories(resources.store, caller_of(view, resources)), show)


def _tile(one: Repository) -> None:
    with tag("a", classes="card thing", href=repository_path(one.repository_id)):
        tag("span", one.config.repository_name or one.repository_id, "strong clip", dir="auto")
        if one.config.description:
            tag("span", one.config.description, "meta rag-clamp", dir="auto")
        with tag("span", classes="line gap-1 meta"):
            repository_badge(one)
            tag("span", ", ".join(one.config.allowed_groups) if one.config.allowed_groups else "every member")


def new_page(resources: Resources[RagSettings]) -> None:
    """Show a form for a new repository."""
    with frame(title="New repository", section="rag", crumbs=[Crumb("Documents", HOME)]) as view:

        async def make(form: RepositoryForm) -> None:
            usual = resources.settings.embedding_model or resources.models.embeddings().model
            check_model(resources, form.draft().embedding_model_id)
            made = await create_repository(resources.store, caller_of(view, resources), form.draft(), usual)
            ui.navigate.to(repository_path(made.repository_id))

        ModelForm(RepositoryForm, make, title="New repository", submit="Create")
