"""The scene editor: text, length and lock, takes, trim, position, and upload of a clip."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gateleg.apps.mv import job_submission, rules, scenes
from gateleg.apps.mv.playing import playing_clip
from gateleg.apps.mv.settings import STUDIO
from gateleg.apps.mv.tables import Scene, Take, TrimPoints
from gateleg.apps.mv.web.project_actions import ProjectActions
from gateleg.apps.mv.web.statuses import scene_badge
from gateleg.apps.mv.web.urls import place_of
from gateleg.web.console.components import Field, FileForm, ago, button, card, confirm, section, tag

if TYPE_CHECKING:
    from gateleg.apps.mv.service import ProjectWithScenes
    from gateleg.apps.mv.settings import MVSettings
    from gateleg.apps.mv.web.views import Links
    from gateleg.host import Resources
    from gateleg.web.console.components import View

_TAKES = 12


async def editor_part(view: View, resources: Resources[MVSettings], loaded: ProjectWithScenes, scene: Scene, links: Links) -> None:
    """The scene, with its actions if the user may change it."""
    place = loaded.position(scene.sequence)
    question = Take.of_scene(project_id=scene.project_id, sequence=scene.sequence)
    takes = [take async for take in resources.store.query(question, limit=_TAKES)]
    editor = _Editor(ProjectActions(view, resources, loaded.project), loaded, scene)
    with section(f"Scene {place}", "mv-editor").props("id=scene"), tag("div", classes="mv-edit"):
        with card("stack gap-2", label="Clip"):
            await _clip(loaded, scene, links)
            await _takes(editor, scene, takes, links)
        with card("stack gap-2", label="Text"):
            if rules.may_change(view.principal, loaded.project.owner_id):
                editor.text_part()
                editor.place_part()
                editor.cut_part(takes)
                tag("h3", "Reference picture of this scene")
                pictures = f"/api/mv/projects/{scene.project_id}/scenes/{scene.sequence}/references"
                limit = resources.settings.picture_bytes
                FileForm(pictures, method="POST", accept="image/png,image/jpeg,image/webp", words="or drop it here", max_bytes=limit)
                tag("h3", "Upload a clip")
                address = f"/api/mv/projects/{scene.project_id}/scenes/{scene.sequence}/upload_video"
                most = resources.settings.clip_bytes
                FileForm(address, method="POST", accept="video/*", words="or drop it here: MP4, MOV, WebM or MKV", max_bytes=most)
            else:
                tag("p", scene.prompt, dir="auto")


async def _clip(loaded: ProjectWithScenes, scene: Scene, links: Links) -> None:
    with tag("div", classes="line gap-1"):
        scene_badge(scene.status)
        for name in ("part", "shot", "move"):
            if scene.plan.get(name):
                tag("span", str(scene.plan[name]), "plain-chip")
    if scene.error_message:
        tag("p", scene.error_message, "note failed")
    if scene.video_clip_s3_key is not None:
        playing, trim = playing_clip(loaded, scene)
        src = await links.maybe(playing or scene.video_clip_s3_key)
        # Browsers play only the part that a media fragment names.
        part = "" if src is None or trim is None else f"#t={trim.start:g},{trim.end:g}"
        tag("video", "", "mv-clip", controls=True, preload="metadata", loop=not part, src=f"{src}{part}" if src else None)
        working = await links.maybe(scene.working_video_clip_s3_key)
        if working is not None:
            tag("a", "Trimmed clip", "link meta", href=working)


async def _takes(editor: _Editor, scene: Scene, takes: list[Take], links: Links) -> None:
    if not takes:
        return
    tag("h3", "Takes")
    with tag("ul", classes="stack gap-1"):
        for take in takes:
            url = await links.maybe(take.clip_s3_key)
            with tag("li", classes="line gap-1 mv-take"):
                if url is not None:
                    tag("video", preload="metadata", muted=True, src=f"{url}#t=0.5", aria_hidden="true", tabindex=-1)
                tag("span", f"Take {take.take}", "strong num")
                tag("span", f"{take.duration:.1f} s, {take.provider}", "meta")
                ago(take.created_at)
                if take.take == scene.take:
                    tag("span", "current", "plain-chip")
                elif url is None:
                    tag("span", "no usable clip", "plain-chip")
                else:
                    button("Use", partial(editor.use, take.take), look="small")


class _Editor:
    """The actions on a scene."""

    def __init__(self, actions: ProjectActions, loaded: ProjectWithScenes, scene: Scene) -> None:
        self.actions, self.loaded, self.scene = actions, loaded, scene
        self.store, self.project_id, self.sequence = actions.resources.store, scene.project_id, scene.sequence
        self.here = place_of(scene.project_id, scene.sequence)

    async def use(self, take: int) -> None:
        """Make an earlier take the current one."""
        objects = self.actions.resources.objects
        await self.actions.do(lambda: scenes.use_take(self.store, objects, self.project_id, self.sequence, take), "Selected", self.here)

    def text_part(self) -> None:
        """The fields for text, length and lock."""
        scene = self.scene
        prompt = Field("What the scene shows", scene.prompt, kind="area", rows=5, required=True)
        without = Field("What to leave out", scene.negative_prompt or "", kind="text")
        length = Field("Seconds", f"{scene.duration:g}", kind="number", least=0.1, most=600)
        films = self.actions.resources.settings.film_models
        choices = [(name, name) for name in ("", STUDIO, *films)]
        maker = Field("Provider (empty: the project's)", scene.provider or "", kind="choice", choices=choices) if films else None
        lock = Field("Lock: keep this clip when the video is made again", scene.locked, kind="tick")

        async def save() -> None:
            actions = [Scene.locked.set(bool(lock.value))]
            actions += [Scene.prompt.set(prompt.text)] if prompt.text else []
            actions += [Scene.negative_prompt.set(without.text)] if without.text else [Scene.negative_prompt.remove()]
            actions += [Scene.duration.set(float(length.text))] if length.text else []
            if maker is not None:
                actions.append(Scene.provider.set(maker.text) if maker.text else Scene.provider.remove())
            await self.actions.do(lambda: scenes.edit_scene(self.store, self.project_id, self.sequence, actions), "Saved", self.here)

        async def render() -> None:
            principal = self.actions.view.principal
            work = job_submission.render
            await self.actions.do(lambda: work(self.actions.resources, principal, self.project_id, self.sequence), "Started", self.here)

        async def rewrite() -> None:
            work = job_submission.rewrite_prompt
            await self.actions.do(lambda: work(self.actions.resources, self.project_id, self.sequence), "Prompt rewritten", self.here)

        with tag("div", classes="line gap-1"):
            button("Save", save, icon="check", look="small first")
            button("Render again" if scene.take else "Render", render, icon="refresh", look="small")
            button("Rewrite", rewrite, icon="edit", look="small")

    def place_part(self) -> None:
        """The buttons to move and delete the scene."""
        order = list(self.loaded.project.scene_order)
        at = order.index(self.sequence)

        async def move(step: int) -> None:
            moved = [one for one in order if one != self.sequence]
            moved.insert(at + step, self.sequence)
            await self.actions.do(lambda: scenes.reorder(self.store, self.project_id, moved), "", self.here)

        async def delete() -> None:
            if await confirm("Delete this scene?", "Its takes are deleted with it.", verb="Delete"):
                objects = self.actions.resources.objects
                await self.actions.do(lambda: scenes.delete_scene(self.store, objects, self.project_id, self.sequence), "Deleted")

        with tag("div", classes="line gap-1"):
            if at > 0:
                button("Move earlier", lambda: move(-1), icon="arrow_back", look="small")
            if at < len(order) - 1:
                button("Move later", lambda: move(1), icon="arrow_forward", look="small")
            button("Delete", delete, icon="delete", look="small danger")

    def cut_part(self, takes: list[Take]) -> None:
        """The fields to trim and split the scene."""
        scene, trim = self.scene, self.scene.trim_points
        take = next((one for one in takes if one.take == scene.take), None)
        tag("h3", "Trim and split")
        with tag("div", classes="mv-cut"):
            at = Field("Split at second", f"{scene.duration / 2:.2f}", kind="number", least=0.01)

            async def split() -> None:
                async def work() -> None:
                    rules.check_room(await self.actions.changeable(), 1, self.actions.resources.settings.most_scenes)
                    await scenes.split_scene(self.store, self.project_id, self.sequence, float(at.text))

                await self.actions.do(work, "Split", self.here)

            button("Split", split, icon="content_cut", look="small")
        if take is None:
            return
        with tag("div", classes="mv-cut"):
            start = Field("Play from second", f"{trim.start if trim else 0:g}", kind="number", least=0)
            end = Field("to second", f"{trim.end if trim else take.duration:g}", kind="number", least=0.1)

            async def apply(points: TrimPoints | None) -> None:
                await self.actions.do(lambda: scenes.trim_scene(self.store, self.project_id, self.sequence, points), "Trimmed", self.here)

            button("Trim", lambda: apply(TrimPoints(start=float(start.text), end=float(end.text))), icon="straighten", look="small")
            if trim is not None:
                button("Play the whole clip", lambda: apply(None), look="small")
