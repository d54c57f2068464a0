"""The actions on the page of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.mv import job_submission, rules, scenes, service
from gateleg.apps.mv.tables import SceneStatus
from gateleg.apps.mv.web.template_pages import keep_as_template
from gateleg.apps.mv.web.urls import HOME, place_of
from gateleg.host import Role
from gateleg.web.console.components import Field, FileForm, button, carry_out, confirm, sheet, tag

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.apps.mv.job_types import Shape
    from gateleg.apps.mv.service import ProjectWithScenes
    from gateleg.apps.mv.settings import MVSettings
    from gateleg.apps.mv.tables import Project
    from gateleg.host import Resources
    from gateleg.web.console.components import View

_SHAPES: tuple[tuple[Shape, str], ...] = (("16:9", "Wide, 16:9"), ("9:16", "Tall, 9:16"), ("1:1", "Square, 1:1"))


class ProjectActions:
    """The actions of the user on a project. Each checks the rules again, because the page may be outdated."""

    def __init__(self, view: View, resources: Resources[MVSettings], project: Project) -> None:
        self.view, self.resources, self.project = view, resources, project

    async def changeable(self) -> Project:
        """Read the project again. Raises an error if the user may not change it."""
        project = await service.find_project(self.resources.store, self.project.project_id)
        rules.check_visible(self.view.principal, project, "such project")
        assert project is not None
        rules.check_changeable(self.view.principal, project)
        return project

    async def do(self, work: Callable[[], Awaitable[object]], done: str = "", go: str | None = None) -> None:
        """Run an action, then reload the page or go to another one."""

        async def checked() -> None:
            await self.changeable()
            await work()

        if await carry_out(self.view, Role.MEMBER, checked, done):
            self.view.live.refresh(("mv", self.project.project_id))
            ui.navigate.to(go or place_of(self.project.project_id))


def actions_part(view: View, resources: Resources[MVSettings], loaded: ProjectWithScenes) -> None:
    """The buttons of a project, with the most likely next step first."""
    project, actions = loaded.project, ProjectActions(view, resources, loaded.project)
    busy = rules.is_busy(project)
    missing = [scene for scene in loaded.scenes if scene.status is not SceneStatus.COMPLETED]

    async def generate() -> None:
        demo = False
        if project.audio_backing_track_s3_key is None:
            words = "Upload one in the settings, or use a synthesised one."
            demo = await confirm("This video has no song", words, verb="Use a synthesised song")
            if not demo:
                return
        await actions.do(lambda: job_submission.generate(resources, view.principal, project.project_id, demo_song=demo), "Started")

    async def stop() -> None:
        await actions.do(lambda: job_submission.cancel(resources, project.project_id), "Cancelled")

    with tag("div", classes="deeds"):
        if busy:
            button("Cancel", stop, icon="stop", look="small")
        elif missing or not loaded.scenes:
            button(
                "Make the video" if not project.final_version else "Render missing scenes", generate, icon="play_arrow", look="small first"
            )
        else:
            button("Compose", lambda: _compose(actions), icon="movie", look="small first")
            button("Make again", lambda: _make_again(actions, loaded), icon="refresh", look="small")
        if not busy:
            button("Settings", lambda: _settings(actions), icon="tune", look="small")
            button("Add scene", lambda: _add(actions), icon="add", look="small")
        _more(actions, busy)


def _more(actions: ProjectActions, busy: bool) -> None:
    project, resources, view = actions.project, actions.resources, actions.view

    async def duplicate() -> None:
        made = []

        async def work() -> None:
            owner = view.principal.owner
            made.append(await service.duplicate_project(resources.store, resources.objects, project.project_id, owner))

        if await carry_out(view, Role.MEMBER, work, "Copied"):
            ui.navigate.to(place_of(made[0].project_id))

    async def delete() -> None:
        loss = "Its scenes, takes, films and files are deleted. This cannot be undone."
        if not await confirm("Delete this video?", loss, verb="Delete"):
            return

        async def work() -> None:
            rules.check_startable(await actions.changeable())
            await service.delete_project(resources.store, resources.objects, project.project_id)

        await actions.do(work, "Deleted", HOME)

    button("Duplicate", duplicate, icon="content_copy", look="small")
    button("Save as template", lambda: keep_as_template(view, resources, project), icon="bookmark_add", look="small")
    if not busy:
        button("Delete", delete, icon="delete", look="small danger")


def repair_part(view: View, resources: Resources[MVSettings], project: Project) -> None:
    """The button that clears what other programs have stored in place of object keys."""
    actions = ProjectActions(view, resources, project)

    async def repair() -> None:
        await actions.do(lambda: service.repair_project(resources.store, resources.objects, project.project_id), "Cleared")

    button("Clear these fields", repair, icon="healing", look="small")


async def _make_again(actions: ProjectActions, loaded: ProjectWithScenes) -> None:
    """Ask which unlocked scenes to render again, and start."""
    free = [(place, scene) for place, scene in enumerate(loaded.scenes, 1) if not scene.locked]
    kept = len(loaded.scenes) - len(free)
    with sheet("Make the video again?") as dialog:
        words = f"{kept} locked {'scene keeps its clip' if kept == 1 else 'scenes keep their clips'}. " if kept else ""
        tag("p", f"The selected scenes get new clips. {words}Earlier takes and films are kept.", "meta")
        everything = [str(scene.sequence) for _, scene in free]
        choices = [(str(scene.sequence), f"{place}. {scene.prompt[:60]}") for place, scene in free]
        chosen = Field("Scenes", everything, kind="ticks", choices=choices, whole=True)
        with tag("div", classes="line gap-1"):
            button("All", lambda: chosen.set(everything), look="small")
            button("None", lambda: chosen.set([]), look="small")
        with tag("div", classes="deeds"):
            tag("button", "Cancel", "deed", type="button").on("click", lambda: dialog.submit(False))
            tag("button", "Make again", "deed first", type="button").on("click", lambda: dialog.submit(True))
    answer = await dialog
    wanted = [int(sequence) for sequence in chosen.value] if isinstance(chosen.value, list) else []
    dialog.delete()

    async def work() -> None:
        if not wanted:
            raise rules.BadProject("No scene is selected, so nothing was started.", fix="Select the scenes that should get new clips.")
        only = wanted if len(wanted) < len(free) else ()
        await job_submission.generate(actions.resources, actions.view.principal, actions.project.project_id, again=True, only=only)

    if answer:
        await actions.do(work, "Started")


async def _compose(actions: ProjectActions) -> None:
    """Ask for the aspect ratios, and compose the film."""
    with sheet("Compose the film") as dialog:
        tag("p", "The current clips are joined with the song. Other aspect ratios are cropped to the middle.", "meta")
        own = actions.project.aspect_ratio
        ticks = [(shape, Field(words, False, kind="tick")) for shape, words in _SHAPES if shape != own]
        with tag("div", classes="deeds"):
            tag("button", "Cancel", "deed", type="button").on("click", lambda: dialog.submit(False))
            tag("button", "Compose", "deed first", type="button").on("click", lambda: dialog.submit(True))
    answer = await dialog
    wanted = [shape for shape, field in ticks if field.value]
    dialog.delete()
    if answer:
        project_id = actions.project.project_id
        await actions.do(lambda: job_submission.compose(actions.resources, actions.view.principal, project_id, wanted), "Started")


async def _add(actions: ProjectActions) -> None:
    """Ask for a scene, and add it at the end."""
    with sheet("New scene") as dialog:
        prompt = Field("What the scene shows", kind="area", rows=4, required=True)
        length = Field("Seconds", "4", kind="number", least=0.1, most=600)
        with tag("div", classes="deeds"):
            tag("button", "Cancel", "deed", type="button").on("click", lambda: dialog.submit(False))
            tag("button", "Add", "deed first", type="button").on("click", lambda: dialog.submit(True))
    answer = await dialog
    text, seconds = prompt.text, length.text
    dialog.delete()
    if answer and text:
        project_id, most = actions.project.project_id, actions.resources.settings.most_scenes

        async def work() -> None:
            rules.check_room(await actions.changeable(), 1, most)
            await scenes.add_scenes(actions.resources.store, project_id, [scenes.SceneDraft(text, float(seconds))])

        await actions.do(work, "Added")


async def _settings(actions: ProjectActions) -> None:
    """Change the texts, the director and the files of a project."""
    from gateleg.apps.mv.planning.presets import PRESETS
    from gateleg.apps.mv.tables import Project as Item

    project, own = actions.project, actions.resources.settings
    below = f"/api/mv/projects/{project.project_id}"
    with sheet("Video settings", broad=True) as dialog:
        with tag("div", classes="fields"):
            title = Field("Title", project.title)
            choices = [(one.name, one.title) for one in PRESETS.values()]
            director = Field("Director", project.director_config or own.director, kind="choice", choices=choices)
            concept = Field("What it is about", project.concept_prompt, kind="area", rows=3, whole=True, required=True)
            who = Field("Main character or object", project.character_description or "", whole=True)
            product = Field("Product, shown in every scene", project.product_description or "", whole=True)
        tag("p", "Scenes that have a clip change only when they are rendered again.", "meta")
        tag("h3", "Song")
        FileForm(f"{below}/audio", accept="audio/*,video/*", words="or drop it here", max_bytes=own.song_bytes)
        for asset in ("character", "product"):
            tag("h3", f"Picture of the {asset}")
            FileForm(f"{below}/{asset}", accept="image/png,image/jpeg,image/webp", words="or drop it here", max_bytes=own.picture_bytes)
        tag("h3", "Lyrics")
        FileForm(
            f"{below}/lyrics", accept=".lrc,.srt,.txt,text/plain", words="or drop them here: LRC, SRT or plain text", max_bytes=200_000
        )
        with tag("div", classes="deeds"):
            tag("button", "Cancel", "deed", type="button").on("click", lambda: dialog.submit(False))
            tag("button", "Save", "deed first", type="button").on("click", lambda: dialog.submit(True))
    answer = await dialog
    changes = [Item.title.set(title.text), Item.director_config.set(director.text)]
    changes += [Item.concept_prompt.set(concept.text)] if concept.text else []
    changes += [Item.character_description.set(who.text)] if who.text else []
    changes += [Item.product_description.set(product.text)] if product.text else []
    dialog.delete()
    if answer:
        await actions.do(lambda: service.edit_project(actions.resources.store, project.project_id, changes), "Saved")
