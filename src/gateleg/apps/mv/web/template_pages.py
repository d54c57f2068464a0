"""Templates in the console: list them, create a project from a template, save a project as a template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.mv import rules, service, templates
from gateleg.apps.mv.tables import Template
from gateleg.apps.mv.web.urls import HOME, TEMPLATES, place_of
from gateleg.host import Role
from gateleg.store import delete
from gateleg.web.console.components import (
    Crumb,
    Field,
    ago,
    button,
    card,
    carry_out,
    confirm,
    empty,
    frame,
    pager,
    section,
    sheet,
    show_when_loaded,
    tag,
)

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.apps.mv.settings import MVSettings
    from gateleg.apps.mv.tables import Project
    from gateleg.host import Resources
    from gateleg.store import AsyncStore, Page
    from gateleg.web.console.components import View

_LIMIT = 24


async def templates_page(resources: Resources[MVSettings], cursor: str = "") -> None:
    """The user's templates, newest first."""
    with frame(title="Templates", section="mv", crumbs=[Crumb("Music videos", HOME)]) as view:
        owner = view.principal.owner
        page = resources.store.page(Template.of_owner, owner_id=owner, limit=_LIMIT, cursor=cursor or None)

        def show(found: Page[Template]) -> None:
            if not found.items and not cursor:
                words = "To reuse the settings and scene texts of a video, open it and choose Save as template."
                empty("box", "No templates yet", words, button="All videos", href=HOME)
                return
            for one in found:
                _card(view, resources, one)
            pager(TEMPLATES, {}, cursor=cursor or None, following=found.next, shown=len(found.items))

        with section("Newest"):
            await show_when_loaded(page, show)


def _card(view: View, resources: Resources[MVSettings], template: Template) -> None:
    wanted = templates.placeholders(template)
    with card(label=template.name), tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("h3", template.name, dir="auto")
            tag("p", str(template.project.get("concept_prompt") or ""), "muted mv-concept", dir="auto")
            with tag("p", classes="line gap-1 meta"):
                tag("span", f"{len(template.scenes)} scenes", "num")
                tag("span", f"placeholders: {', '.join(wanted)}" if wanted else "no placeholders")
                ago(template.created_at)
        with tag("div", classes="deeds"):
            button("Use", lambda: _use(view, resources, template.template_id), icon="add", look="small first")
            button("Delete", lambda: _delete(view, resources, template.template_id), icon="delete", look="small danger")


async def _owned(store: AsyncStore, view: View, template_id: UUID) -> Template:
    """Read the template again, because the page may be outdated. Raises `Unknown` if the user may not see it."""
    found = await store.find(Template, template_id=template_id, consistent=True)
    rules.check_visible(view.principal, found, "such template")
    assert found is not None
    return found


async def _use(view: View, resources: Resources[MVSettings], template_id: UUID) -> None:
    """Ask for a value for each placeholder, and create a project."""
    made: list[Project] = []
    template = await _owned(resources.store, view, template_id)
    with sheet(f"New video from {template.name}") as dialog:
        fields = {name: Field(name, required=True) for name in templates.placeholders(template)}
        if not fields:
            tag("p", "This template has no placeholders, so the new video has the same texts.", "meta")
        with tag("div", classes="deeds"):
            tag("button", "Cancel", "deed", type="button").on("click", lambda: dialog.submit(False))
            tag("button", "Create video", "deed first", type="button").on("click", lambda: dialog.submit(True))
    answer = await dialog
    values = {name: field.text for name, field in fields.items()}
    dialog.delete()

    async def work() -> None:
        now = await _owned(resources.store, view, template_id)
        made.append(await templates.use_template(resources.store, now, view.principal.owner, values))

    if answer and await carry_out(view, Role.MEMBER, work, "Made"):
        ui.navigate.to(place_of(made[0].project_id))


async def _delete(view: View, resources: Resources[MVSettings], template_id: UUID) -> None:
    if not await confirm("Delete this template?", "Videos made from it are kept.", verb="Delete"):
        return

    async def work() -> None:
        template = await _owned(resources.store, view, template_id)
        rules.check_changeable(view.principal, template)
        await resources.store.run(delete(template))

    if await carry_out(view, Role.MEMBER, work, "Deleted"):
        ui.navigate.to(TEMPLATES)


async def keep_as_template(view: View, resources: Resources[MVSettings], project: Project) -> None:
    """Ask for a name and for placeholders, and save the project as a template."""
    with sheet("Save as template") as dialog:
        name = Field("Name", project.title or project.concept_prompt[:60], required=True)
        words = Field("Placeholders, one per line: name = words in the texts", kind="area", rows=3, placeholder="city = Austin")
        tag("p", "The template asks for a value for each name.", "meta")
        with tag("div", classes="deeds"):
            tag("button", "Cancel", "deed", type="button").on("click", lambda: dialog.submit(False))
            tag("button", "Save", "deed first", type="button").on("click", lambda: dialog.submit(True))
    answer = await dialog
    title, lines = name.text, words.text
    dialog.delete()

    async def work() -> None:
        found = await service.find_project(resources.store, project.project_id)
        rules.check_visible(view.principal, found, "such project")
        texts = templates.read_placeholders(lines)
        await templates.save_template(resources.store, project.project_id, view.principal.owner, title, texts)

    if answer and await carry_out(view, Role.MEMBER, work, "Saved"):
        ui.navigate.to(TEMPLATES)
