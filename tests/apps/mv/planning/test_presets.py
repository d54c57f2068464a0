from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gateleg.apps.mv.composing.clips import ClipOrder, render_still
from gateleg.apps.mv.composing.encoding import Canvas
from gateleg.apps.mv.errors import UnknownPreset
from gateleg.apps.mv.planning.plan import plan_video
from gateleg.apps.mv.planning.presets import PRESETS, Grade, Preset, find_preset, preset_names
from gateleg.apps.mv.studio import VideoOptions, choose_looks, make_scene
from gateleg.apps.mv.writing.scenes import write_scenes

if TYPE_CHECKING:
    from gateleg.apps.mv.drawing.looks import Library
    from gateleg.apps.mv.listening.song import Song

CLEAN = find_preset("clean")
CHANGES: dict[str, Any] = {
    "pace": 0.5,
    "motion": 3.0,
    "handheld": 2.0,
    "symmetry": 1.0,
    "shots": ("close",),
    "moves": ("orbit",),
    "calm": "iris",
    "strong": "zoom",
    "typeface": "handwritten",
    "letterbox": 0.2,
    "mood": "burning fire in the night",
    "negative": "nothing",
}
GRADES: dict[str, Any] = {
    "contrast": 1.6,
    "saturation": 0.0,
    "warmth": 0.3,
    "fade": 0.15,
    "glow": 0.0,
    "grain": 0.2,
    "vignette": 1.0,
    "shadows": (0.1, 0.5, 0.9),
    "lights": (0.9, 0.5, 0.1),
    "toning": 0.0,
    "poster": 4,
}


def test_there_are_at_least_nine_and_names_are_found_in_any_case() -> None:
    assert len(preset_names()) >= 9
    assert find_preset("Neon Noir") is PRESETS["neon-noir"]
    assert find_preset("Wes-Anderson").name == "pastel-symmetry"
    assert find_preset(None) is CLEAN
    with pytest.raises(UnknownPreset, match="neon-noir"):
        find_preset("nobody")


def made(preset: Preset, song: Song, library: Library, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    """What a preset has an effect on: the plan, the texts, the looks, and a frame with a title."""
    monkeypatch.setitem(PRESETS, "clean", preset)
    plan = plan_video(song, preset)
    texts = write_scenes("a desert at noon", plan, preset, "a horse")
    options = VideoOptions(Canvas(160, 90), seed=4)
    looks = choose_looks(plan, texts[:2], library, options) if len(plan.slots) == 2 else (library.choose(texts[0].prompt, 4),)
    scene = make_scene(plan.slots[0], texts[0], looks[0], options, "a desert at noon")
    still = render_still(ClipOrder(scene, options.canvas, title="Noon", total=plan.frames), song, 0.45)
    return plan, texts, looks, still.tobytes()


@pytest.mark.parametrize("name", [field.name for field in fields(Preset) if field.name not in ("name", "title", "description", "grade")])
def test_every_field_of_a_preset_has_an_effect(name: str, song: Song, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    base = replace(CLEAN, grade=replace(CLEAN.grade, glow=0.5))
    assert made(base, song, library, monkeypatch) != made(replace(base, **{name: CHANGES[name]}), song, library, monkeypatch)


@pytest.mark.parametrize("name", [field.name for field in fields(Grade)])
def test_every_field_of_a_grade_changes_the_frame(name: str, song: Song, library: Library) -> None:
    look = library.choose("a desert at noon", 4)
    plan = plan_video(song, CLEAN)
    text = write_scenes("a desert at noon", plan, CLEAN)[0]
    scene = make_scene(plan.slots[0], text, look, VideoOptions(Canvas(160, 90)), "a desert at noon")
    base = Grade(glow=0.6, toning=0.4, shadows=(0.4, 0.5, 0.6), lights=(0.6, 0.5, 0.4))

    def frame(grade: Grade) -> Any:
        return render_still(ClipOrder(replace(scene, preset=replace(CLEAN, grade=grade)), Canvas(160, 90)), song).astype(int)

    assert np.abs(frame(base) - frame(replace(base, **{name: GRADES[name]}))).mean() > 0.2
