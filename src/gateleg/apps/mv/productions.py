"""Convert a stored project into clips to render. Scenes that a person has edited keep the edits.

A scene's `plan` holds the planned shot, camera and transition, but no times: scenes play one after another in the order of the project, so
a longer scene moves all later ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from gateleg.apps.mv.composing.encoding import Canvas
from gateleg.apps.mv.planning.plan import Plan, Slot
from gateleg.apps.mv.planning.presets import find_preset
from gateleg.apps.mv.scenes import SceneDraft
from gateleg.apps.mv.studio import VideoOptions, choose_looks, order_clips
from gateleg.apps.mv.subjects import subjects_of
from gateleg.apps.mv.writing.scenes import SceneText

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gateleg.apps.mv.composing.clips import ClipOrder
    from gateleg.apps.mv.drawing.looks import Library
    from gateleg.apps.mv.tables import Project, Scene
    from gateleg.apps.mv.writing.lyrics import Line

#: The preset of projects without one.
DIRECTOR = "clean"
#: The fields of a plan's slot that are stored with its scene.
_KEPT = ("part", "letter", "repeat", "twin", "role", "energy", "motion", "brightness", "transition", "overlap")
#: The plan of a scene that a person added.
_ADDED: dict[str, Any] = {
    "part": "verse",
    "letter": "+",
    "repeat": 0,
    "role": "develop",
    "energy": 0.5,
    "motion": 0.6,
    "brightness": 0.0,
    "transition": "cut",
    "overlap": 0,
}


def canvas_of(project: Project) -> Canvas:
    """The size of a project's video."""
    return canvas_for(project.resolution, project.aspect_ratio, project.fps)


def canvas_for(resolution: int, aspect_ratio: str, fps: int = 24) -> Canvas:
    """The size of a video. The resolution is the number of pixels of its shorter side. Drafts are encoded faster."""
    short = resolution - resolution % 2
    long = round(short * 16 / 9 / 2) * 2
    width, height = {"16:9": (long, short), "9:16": (short, long), "1:1": (short, short)}[aspect_ratio]
    draft = short < 600
    return Canvas(width, height, fps, crf=23 if draft else 20, effort="superfast" if draft else "veryfast")


def drafts_of(plan: Plan, texts: Sequence[SceneText]) -> list[SceneDraft]:
    """The scenes of a plan, ready to be stored."""
    return [
        SceneDraft(
            prompt=text.prompt,
            duration=slot.frames / plan.fps,
            negative_prompt=text.negative or None,
            plan=(
                *((name, getattr(slot, name)) for name in _KEPT),
                ("shot", text.shot),
                ("move", text.move),
                ("namesSubject", text.names_subject),
            ),
        )
        for slot, text in zip(plan.slots, texts, strict=True)
    ]


def plan_of(scenes: Sequence[Scene], fps: int) -> Plan:
    """The plan of stored scenes in playing order."""
    slots: list[Slot] = []
    first = 0
    for index, scene in enumerate(scenes):
        kept: dict[str, Any] = {**_ADDED, "twin": scene.sequence, **{name: scene.plan[name] for name in _KEPT if name in scene.plan}}
        frames = max(round(scene.duration * fps), 1)
        before = slots[-1].frames if slots else 0
        kept["overlap"] = min(int(kept["overlap"]), frames // 2, before // 2)
        # The store returns numbers as floats.
        place: dict[str, Any] = {name: int(kept[name]) for name in ("repeat", "twin", "overlap")}
        place |= {"index": index, "first": first, "frames": frames}
        slots.append(Slot(**{**kept, **place}))
        first += frames
    return Plan(fps, first, tuple(slots))


def text_of(scene: Scene) -> SceneText:
    """The text of a stored scene. A scene with a reference picture of its own shows it, whatever its text names."""
    plan = cast("dict[str, Any]", scene.plan)
    named = bool(plan.get("namesSubject", True) or scene.reference_image_s3_keys)
    return SceneText(scene.prompt, scene.negative_prompt or "", plan.get("shot", "medium"), plan.get("move", "drift"), named)


@dataclass(frozen=True, slots=True)
class Production:
    """A project ready for rendering: its scenes in order, their plan, and its options."""

    project: Project
    scenes: tuple[Scene, ...]
    options: VideoOptions
    #: makes a local file of a picture, by object key
    fetch: Callable[[str], Path]
    lyrics: tuple[Line, ...] = ()

    @classmethod
    def of(
        cls,
        project: Project,
        scenes: Sequence[Scene],
        fetch: Callable[[str], Path],
        lyrics: tuple[Line, ...] = (),
        fonts: tuple[Path, ...] = (),
    ) -> Production:
        """Create the production of a project. Pictures are fetched when a scene shows them."""
        shown = subjects_of(project)
        options = VideoOptions(
            canvas=canvas_of(project),
            director=find_preset(project.director_config or DIRECTOR).name,
            seed=project.seed,
            subject=shown.character,
            product=shown.product,
            title=project.title,
            fonts=fonts,
        )
        return cls(project, tuple(scenes), options, fetch, lyrics)

    @property
    def plan(self) -> Plan:
        """The position of each scene in the video."""
        return plan_of(self.scenes, self.options.canvas.fps)

    def order(self, library: Library, at: int) -> ClipOrder:
        """The clip to render for the next take of the scene at an index. Equal projects give equal clips."""
        whole, places = self.plan, range(max(at - 1, 0), at + 1)
        seeds = [self.next_seed(place) if place == at else self._seed(self.scenes[place], self.scenes[place].take - 1) for place in places]
        slots = [replace(whole.slots[place], seed=seed) for place, seed in zip(places, seeds, strict=True)]
        plan = Plan(whole.fps, whole.frames, tuple(slots))
        texts = [text_of(self.scenes[place]) for place in places]
        options = self._pictured(self.scenes[at])
        looks = choose_looks(plan, texts, library, options)
        order = order_clips(plan, texts, looks, options, self.project.concept_prompt, self.lyrics)[-1]
        if order.before is None or order.before.picture is None:
            return order
        return replace(order, before=replace(order.before, picture=self._pictured(self.scenes[at - 1]).picture))

    def _pictured(self, scene: Scene) -> VideoOptions:
        """The options of a scene, with its pictures."""
        shown = subjects_of(self.project, scene)
        pictures = [None if key is None else self.fetch(key) for key in (shown.character_picture, shown.product_picture)]
        return replace(self.options, picture=pictures[0], product_picture=pictures[1])

    def next_seed(self, at: int) -> int:
        """The seed of the next take: the scene's own, or a seed derived from the project's seed and the number of takes."""
        return self._seed(self.scenes[at], self.scenes[at].last_take)

    def _seed(self, scene: Scene, earlier: int) -> int:
        return scene.seed if scene.seed is not None else self.project.seed + max(earlier, 0)
