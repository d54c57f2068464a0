"""What can be done with a project from its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.mv import rules, scenes, service, submitting
from gateleg.apps.mv.tables import SceneStatus
from gateleg.apps.mv.web.places import HOME, place_of
from gateleg.apps.mv.web.template_pages import keep_as_template
from gateleg.web import Role
from gateleg.web.console.components import Field, FileForm, button, carry_out, confirm, sheet, tag

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.apps.mv.job_types import Shape
    from gateleg.apps.mv.service import ProjectWithScenes
    from gateleg.apps.mv.settings import MVSettings
    from gateleg.apps.mv.tables import Project
    from gateleg.web import Resources
    from gateleg.web.console.components import View

_SHAPES: tuple[tuple[Shape, str], ...] = (("16:9", "Wide, 16:9"), ("9:16", "Tall, 9:16"), ("1:1", "Square, 1:1"))


class ProjectActions:
    """The deeds of who looks at a project. Each looks at the rules again: a page may be old."""

    def __init__(self, view: View, resources: Resources[MVSettings], project: Project) -> None:
        self.view, self.resources, self.project = view, resources, project

    async def changeable(self) -> Project:
        """The project as it is now, if who looks may change it."""
        project = await service.find_project(self.resources.store, self.project.project_id)
        rules.check_visible(self.view.principal, project, "such project")
        assert project is not None
        rules.check_changeable(self.view.principal, project)
        return project

    async def do(self, work: Callable[[], Awaitable[object]], done: str = "", go: str | None = None) -> None:
        """Do something, and show the page anew."""

        async def checked() -> None:
            await self.changeable()
            await work()

        if await carry_out(self.view, Role.MEMBER, checked, done):
            self.view.live.hurry(("mv", self.project.project_id))
            ui.navigate.to(go or place_of(self.project.project_id))


def actions_part(view: View, resources: Resources[MVSettings], loaded: ProjectWithScenes) -> None:
    """The buttons of a project: the next sensible one first."""
    project, deeds = loaded.project, ProjectActions(view, resources, loaded.project)
    busy = project.status in rules.BUSY
    missing = [scene for scene in loaded.scenes if scene.status is not SceneStatus.COMPLETED]

    async def generate() -> None:
        await deeds.do(lambda: submitting.generate(resources, view.principal, project.project_id), "Begun")

    async def stop() -> None:
        await deeds.do(lambda: submitting.cancel(resources, project.project_id), "Cancelled")

    with tag("div", classes="deeds"):
        if busy:
            button("Cancel", stop, icon="stop", look="small")
        elif missing or not loaded.scenes:
            button(
                "Make the video" if not project.final_version else "Render what is missing", generate, icon="play_arrow", look="small first"
            )
        else:
            button("Compose", lambda: _compose(deeds), icon="movie", look="small first")
            button("Again", lambda: _make_again(deeds, loaded), icon="refresh", look="small")
        if not busy:
            button("Settings", lambda: _settings(deeds), icon="tune", look="small")
            button("Scene", lambda: _add(deeds), icon="add", look="small")
        _more(deeds, busy)


def _more(deeds: ProjectActions, busy: bool) -> None:
    project, resources, view = deeds.project, deeds.resources, deeds.view

    async def duplicate() -> None:
        made = []

        async def work() -> None:
            owner = view.principal.owner
            made.append(await service.duplicate_project(resources.store, resources.objects, project.project_id, owner))

        if await carry_out(view, Role.MEMBER, work, "Copied"):
            ui.navigate.to(place_of(made[0].project_id))

    async def delete() -> None:
        loss = "Its scenes, takes, films and files are deleted. They cannot be brought back."
        if not await confirm("Delete this video?", loss, verb="Delete"):
            return

        async def work() -> None:
            rules.check_startable(await deeds.changeable())
            await service.delete_project(resources.store, resources.objects, project.project_id)

        await deeds.do(work, "Deleted", HOME)

    button("Duplicate", duplicate, icon="content_copy", look="small")
    button("Template", lambda: keep_as_template(view, resources, project), icon="bookmark_add", look="small")
    if not busy:
        button("Delete", delete, icon="delete", look="small danger")


async def _make_again(deeds: ProjectActions, loaded: ProjectWithScenes) -> None:
    """Ask which scenes to render again, and begin: all that are not locked, unless some are left out."""
    free = [(place, scene) for place, scene in enumerate(loaded.scenes, 1) if not scene.locked]
    kept = len(loaded.scenes) - len(free)
    with sheet("Make it again?") as dialog:
        words = f"{kept} locked {'scene keeps its clip' if kept == 1 else 'scenes keep their clips'}. " if kept else ""
        tag("p", f"The scenes that are ticked get new clips. {words}Earlier takes and films stay.", "meta")
        everything = [str(scene.sequence) for _, scene in free]
        choices = [(str(scene.sequence), f"{place}. {scene.prompt[:60]}") for place, scene in free]
        chosen = Field("Scenes", everything, kind="ticks", choices=choices, whole=True)
        with tag("div", classes="line gap-1"):
            button("All", lambda: chosen.set(everything), look="small")
            button("None", lambda: chosen.set([]), look="small")
        with tag("div", classes="deeds"):
            tag("button", "Cancel", "deed", type="button").on("click", lambda: dialog.submit(False))
            tag("button", "Make it again", "deed first", type="button").on("click", lambda: dialog.submit(True))
    answer = await dialog
    wanted = [int(sequence) for sequence in chosen.value] if isinstance(chosen.value, list) else []
    dialog.delete()

    async def work() -> None:
        if not wanted:
            raise rules.BadProject("No scene is ticked, so nothing was begun.", fix="Tick the scenes that are to get new clips.")
        only = wanted if len(wanted) < len(free) else ()
        await submitting.generate(deeds.resources, deeds.view.principal, deeds.project.project_id, again=True, only=only)

    if answer:
        await deeds.do(work, "Begun")


async def _compose(deeds: ProjectActions) -> None:
    """Ask for the shapes, and compose."""
    with sheet("Compose the film") as dialog:
        tag("p", "The clips that play are joined with the song. Other shapes show the middle of the pictures.", "meta")
        own = deeds.project.aspect_ratio
        ticks = [(shape, Field(words, False, kind="tick")) for shape, words in _SHAPES if shape != own]
        with tag("div", classes="deeds"):
            tag("button", "Cancel", "deed", type="button").on("click", lambda: dialog.submit(False))
            tag("button", "Compose", "deed first", type="button").on("click", lambda: dialog.submit(True))
    answer = await dialog
    wanted = [shape for shape, field in ticks if field.value]
    dialog.delete()
    if answer:
        project_id = deeds.project.project_id
        await deeds.do(lambda: submitting.compose(deeds.resources, deeds.view.principal, project_id, wanted), "Begun")


async def _add(deeds: ProjectActions) -> None:
    """Ask for a scene, and add it behind all."""
    with sheet("New scene") as dialog:
        prompt = Field("What is seen", kind="area", rows=4, required=True)
        length = Field("Seconds", "4", kind="number", least=0.1, most=600)
        with tag("div", classes="deeds"):
            tag("button", "Cancel", "deed", type="button").on("click", lambda: dialog.submit(False))
            tag("button", "Add", "deed first", type="button").on("click", lambda: dialog.submit(True))
    answer = await dialog
    text, seconds = prompt.text, length.text
    dialog.delete()
    if answer and text:
        project_id, most = deeds.project.project_id, deeds.resources.settings.most_scenes

        async def work() -> None:
            rules.check_room(await deeds.changeable(), 1, most)
            await scenes.add_scenes(deeds.resources.store, project_id, [scenes.SceneDraft(text, float(seconds))])

        await deeds.do(work, "Added")


async def _settings(deeds: ProjectActions) -> None:
    """Change the texts, the director and the files of a project."""
    from gateleg.apps.mv.planning.presets import PRESETS
    from gateleg.apps.mv.tables import Project as Item

    project, own = deeds.project, deeds.resources.settings
    below = f"/api/mv/projects/{project.project_id}"
    with sheet("Settings of the video", broad=True) as dialog:
        with tag("div", classes="fields"):
            title = Field("Title", project.title)
            choices = [(one.name, one.title) for one in PRESETS.values()]
            director = Field("Director", project.director_config or own.director, kind="choice", choices=choices)
            concept = Field("What it is about", project.concept_prompt, kind="area", rows=3, whole=True, required=True)
            who = Field("Who or what is seen", project.character_description or "", whole=True)
        tag("p", "What has a clip already changes when it is rendered again.", "meta")
        tag("h3", "Song")
        FileForm(f"{below}/audio", accept="audio/*,video/*", words="or drop it here", most=own.song_bytes)
        tag("h3", "Picture of who is seen")
        FileForm(f"{below}/character", accept="image/png,image/jpeg,image/webp", words="or drop it here", most=own.picture_bytes)
        tag("h3", "Lyrics")
        FileForm(f"{below}/lyrics", accept=".lrc,.srt,.txt,text/plain", words="or drop them here: LRC, SRT or lines of text", most=200_000)
        with tag("div", classes="deeds"):
            tag("button", "Cancel", "deed", type="button").on("click", lambda: dialog.submit(False))
            tag("button", "Save", "deed first", type="button").on("click", lambda: dialog.submit(True))
    answer = await dialog
    actions = [Item.title.set(title.text), Item.director_config.set(director.text)]
    actions += [Item.concept_prompt.set(concept.text)] if concept.text else []
    actions += [Item.character_description.set(who.text)] if who.text else []
    dialog.delete()
    if answer:
        await deeds.do(lambda: service.edit_project(deeds.resources.store, project.project_id, actions), "Saved")
