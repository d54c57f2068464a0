"""The page of a project: its film, timeline, progress, actions, and the editor of one scene."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from nicegui import ui

from gateleg.apps.mv import rules, service
from gateleg.apps.mv.progress import progress_of
from gateleg.apps.mv.reconciliation import reconcile
from gateleg.apps.mv.tables import FinalVersion, Take
from gateleg.apps.mv.web.films import films_part, player_part
from gateleg.apps.mv.web.project_actions import actions_part, repair_part
from gateleg.apps.mv.web.scene_editor import editor_part
from gateleg.apps.mv.web.statuses import project_badge, scene_badge
from gateleg.apps.mv.web.timeline import draw_song, place_scenes, section_labels
from gateleg.apps.mv.web.urls import HOME, place_of
from gateleg.apps.mv.web.views import Links
from gateleg.host import Role
from gateleg.host.errors import Unknown
from gateleg.model.inspection import refused_object_keys
from gateleg.objects import ObjectMissing
from gateleg.web.console.components import Crumb, Topic, ago, card, empty, follow, frame, section, show_not_found, tag
from gateleg.web.console.member_jobs import jobs_address

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.apps.mv.service import ProjectWithScenes
    from gateleg.apps.mv.settings import MVSettings
    from gateleg.apps.mv.tables import Project, Scene
    from gateleg.host import Principal, Resources
    from gateleg.model import Entity
    from gateleg.web.console.components import View

#: Seconds between two refreshes.
_POLL_SECONDS = 1.0


@dataclass(frozen=True)
class Progress:
    """The live part of the page: the progress of the work, and the state that was drawn."""

    #: whether a job of the whole project works on it
    busy: bool
    fraction: float
    message: str
    #: the state that was drawn; when it changes, the page is reloaded
    drawn: tuple[object, ...]


async def project_page(resources: Resources[MVSettings], project: str, scene: str = "") -> None:
    """The page of a project, if the user may see it."""
    with frame(title="Video", section="mv", crumbs=[Crumb("Music videos", HOME)], wide=True, titled=False) as view:
        try:
            loaded = await visible_project(resources, view.principal, project)
        except Unknown:
            show_not_found("video", button="All videos", href=HOME)
            return
        links = Links(resources.objects, resources.settings.link_seconds)
        films = [one async for one in resources.store.query(FinalVersion.of_project, project_id=loaded.project.project_id, limit=20)]
        takes = [one async for one in resources.store.query(Take.in_project, project_id=loaded.project.project_id, limit=200)]
        _head(view, resources, loaded, (loaded.project, *loaded.scenes, *takes, *films))
        _progress(view, resources, loaded)
        if loaded.project.final_version:
            with tag("div", classes="mv-watch"):
                await player_part(loaded.project, films, links)
                with tag("div", classes="stack gap-2"):
                    await films_part(view, resources, loaded.project, films, links)
        await _timeline(resources, loaded, _number(scene), links)
        chosen = next((one for one in loaded.scenes if one.sequence == _number(scene)), None)
        if chosen is not None:
            await editor_part(view, resources, loaded, chosen, links)
        _about(loaded)


async def visible_project(resources: Resources[MVSettings], principal: Principal, project: str) -> ProjectWithScenes:
    """A project by its id in the URL. Raises `Unknown` if it does not exist or the user may not see it."""
    try:
        project_id = UUID(project)
    except ValueError:
        raise Unknown("There is no such project.") from None
    rules.check_visible(principal, await service.find_project(resources.store, project_id), "such project")
    return await reconcile(resources.store, resources.queue, project_id)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() else None


def _head(view: View, resources: Resources[MVSettings], loaded: ProjectWithScenes, items: Sequence[Entity]) -> None:
    """The title, state and actions of a project, and what is wrong with any of its items."""
    project = loaded.project
    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("h1", project.title or "Untitled", dir="auto")
            tag("p", project.concept_prompt, "muted mv-concept", dir="auto")
            with tag("p", classes="line gap-1 meta"):
                project_badge(project.status, busy=rules.is_busy(project))
                if project.audio_duration:
                    tag("span", f"{project.audio_duration:.0f} s", "num")
                if project.tempo:
                    tag("span", f"{project.tempo:.0f} BPM", "num")
                words = (project.director_config, f"{project.resolution}p", project.aspect_ratio)
                tag("span", ", ".join(word for word in words if word))
                ago(project.updated_at)
        if rules.may_change(view.principal, project.owner_id):
            actions_part(view, resources, loaded)
    if project.error_message:
        with tag("div", classes="note failed", role="status"):
            tag("span", project.error_message)
    for warning in project.warnings:
        with tag("div", classes="note warning", role="status"):
            tag("span", warning)
    invalid = [name for item in items for name in refused_object_keys(item)]
    if invalid:
        with tag("div", classes="note failed", role="status"):
            tag("span", f"Another program has stored something else than an object key in {', '.join(dict.fromkeys(invalid))}.")
            if rules.may_change(view.principal, project.owner_id):
                repair_part(view, resources, project)


async def load_progress(resources: Resources[MVSettings], project_id: UUID) -> Progress:
    """The progress of the work on a project."""
    loaded = await reconcile(resources.store, resources.queue, project_id)
    project = loaded.project
    fraction, message = 0.0, ""
    if rules.is_busy(project):
        fraction, message = await progress_of(resources, project)
    rendered = [scene for scene in loaded.scenes if scene.status.value == "processing"]
    words = message or (f"rendering {len(rendered)} {'scene' if len(rendered) == 1 else 'scenes'}" if rendered else "")
    return Progress(rules.is_busy(project), fraction, words, _drawn(loaded))


def _drawn(loaded: ProjectWithScenes) -> tuple[object, ...]:
    """The values on the page that jobs may change."""
    project = loaded.project
    status = "busy" if rules.is_busy(project) else project.status.value
    scenes = tuple((scene.sequence, scene.take, scene.status.value) for scene in loaded.scenes)
    return (status, tuple(project.scene_order), project.final_version, scenes)


def _progress(view: View, resources: Resources[MVSettings], loaded: ProjectWithScenes) -> None:
    """The progress of active jobs. The page is reloaded when its contents change."""
    project, shown = loaded.project, _Shown(_drawn(loaded))
    box = tag("div", classes="card mv-progress", role="status")
    with box:
        bar = tag("progress", max=1, aria_label="Progress")
        words = tag("span", "", "meta num")
        if project.root_job_id is not None:
            jobs = "/jobs" if view.may(Role.VIEWER) else jobs_address("mv")
            tag("a", "Job", "link meta", href=f"{jobs}/{project.root_job_id}")
    box.set_visibility(rules.is_busy(project))

    def show(now: Progress) -> None:
        box.set_visibility(now.busy)
        bar.props["value"] = round(now.fraction, 3)
        bar.update()
        words.set_text(f"{now.fraction:.0%} {now.message}".strip() if now.message else "Waiting for a worker")
        if now.drawn != shown.drawn:
            ui.run_javascript("if (!document.querySelector('.mv-editor')?.contains(document.activeElement)) location.reload()")
        shown.drawn = now.drawn

    follow(view.live, Topic(("mv", project.project_id), lambda: load_progress(resources, project.project_id), _POLL_SECONDS), show)


@dataclass
class _Shown:
    drawn: tuple[object, ...]


async def _timeline(resources: Resources[MVSettings], loaded: ProjectWithScenes, chosen: int | None, links: Links) -> None:
    if not loaded.scenes:
        if not rules.is_busy(loaded.project):
            empty("clock", "No scenes yet", "Scenes are planned from the sections and bars of the song when the video is made.")
        return
    song = await read_song(resources, loaded.project)
    with section("Timeline"), card("tight mv-timeline", label="Timeline"), tag("div", classes="mv-scroll", tabindex=0):
        inner = tag("div", classes="mv-inner")
        with inner:
            if song is not None:
                with tag("div", classes="mv-parts", aria_hidden="true"):
                    for part, left, width in section_labels(song):
                        tag("span", part, f"part-{part}").style(f"left:{left:.3f}%;width:{width:.3f}%")
                ui.html(draw_song(song), sanitize=False)
            with tag("ol", classes="mv-blocks"):
                for block in place_scenes(loaded.scenes):
                    with tag("li").style(f"left:{block.left:.3f}%;width:{block.width:.3f}%"):
                        title = f"Scene {block.place}, {block.start:.1f} s, {block.scene.duration:.1f} s: {block.scene.prompt}"
                        tag(
                            "a",
                            str(block.place),
                            f"mv-block s-{block.scene.status.value}",
                            href=f"{place_of(loaded.project.project_id, block.sequence)}#scene",
                            title=title,
                            aria_label=title,
                            aria_current="true" if block.sequence == chosen else None,
                        )
    with section("Scenes"), tag("div", classes="mv-scenes"):
        for block in place_scenes(loaded.scenes):
            here = f"{place_of(loaded.project.project_id, block.sequence)}#scene"
            with tag("a", classes="card mv-scene", href=here, aria_current="true" if block.sequence == chosen else None):
                await _picture(block.scene, links)
                with tag("span", classes="line gap-1 meta"):
                    tag("span", f"{block.place}", "strong num")
                    tag("span", f"{block.start:.1f} s, {block.scene.duration:.1f} s long", "num")
                    if block.scene.locked:
                        ui.icon("lock").props('aria-label="Locked"')
                    if block.scene.status.value != "completed":
                        scene_badge(block.scene.status)
                tag("span", block.scene.prompt, "mv-prompt", dir="auto")


async def _picture(scene: Scene, links: Links) -> None:
    """The still image of a scene, or else its clip, which plays while the pointer is over it."""
    with tag("span", classes="mv-picture"):
        if scene.still_s3_key is not None:
            tag("img", src=await links.maybe(scene.still_s3_key), alt="", loading="lazy")
        elif scene.video_clip_s3_key is None:
            ui.icon("image")
        else:
            url = await links.maybe(scene.video_clip_s3_key)
            clip = tag("video", preload="metadata", muted=True, playsinline=True, src=f"{url}#t=1", tabindex=-1, aria_hidden="true")
            clip.on("mouseenter", js_handler="(event) => event.target.play()").on(
                "mouseleave", js_handler="(event) => event.target.pause()"
            )


async def read_song(resources: Resources[MVSettings], project: Project) -> Mapping[str, Any] | None:
    """The analysis of a project's track; None if it does not exist or cannot be read."""
    if project.analysis_s3_key is None:
        return None
    try:
        found: Mapping[str, Any] = json.loads(await resources.objects.get(project.analysis_s3_key))
    except (ObjectMissing, ValueError):
        return None
    return found


def _about(loaded: ProjectWithScenes) -> None:
    project = loaded.project
    facts: list[tuple[str, str | None]] = [
        ("Character", project.character_description),
        ("Product", project.product_description),
        ("Made by", "the studio, which draws on this machine" if project.provider == "studio" else project.provider),
        ("Seed", str(project.seed)),
        ("Frames per second", str(project.fps)),
    ]
    with section("About"), card(label="About"), tag("dl", classes="facts"):
        for name, value in facts:
            if value:
                tag("dt", name)
                tag("dd", value, dir="auto")
