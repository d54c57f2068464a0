"""A project as the studio sees it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import pytest
from PIL import Image, ImageDraw

from gateleg.apps.mv.composing.clips import render_still
from gateleg.apps.mv.planning.plan import plan_video
from gateleg.apps.mv.planning.presets import find_preset
from gateleg.apps.mv.productions import Production, drafts_of
from gateleg.apps.mv.subjects import subjects_of
from gateleg.apps.mv.tables import Mode, Project, Scene
from gateleg.apps.mv.writing.scenes import write_scenes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.mv.drawing.looks import Library
    from gateleg.apps.mv.listening.song import Song


def production(*scenes: dict[str, Any], seed: int = 7, options: dict[str, Any] | None = None) -> Production:
    project = Project(project_id=uuid4(), owner_id="/ann", concept_prompt="a robot in the city", seed=seed, **(options or {}))
    made = [
        Scene(project_id=project.project_id, sequence=number, prompt="a robot in the city at night", duration=2.0, **{"plan": {}, **scene})
        for number, scene in enumerate(scenes, 1)
    ]
    return Production.of(project, made, Path)


def seed_of(made: Production, library: Library, at: int = 0) -> int:
    return made.order(library, at).scene.seed


def test_each_take_of_a_scene_is_drawn_from_another_seed(library: Library) -> None:
    takes = [production({"take": number, "last_take": number}) for number in range(4)]
    assert len({seed_of(take, library) for take in takes}) == 4
    assert [take.next_seed(0) for take in takes] == [7, 8, 9, 10]


def test_a_scene_with_a_seed_is_drawn_from_it_every_time(library: Library) -> None:
    fixed = [production({"seed": 9, "take": number, "last_take": number}) for number in range(3)]
    assert {seed_of(take, library) for take in fixed} == {seed_of(production({"take": 2, "last_take": 2}), library)}


def test_a_transition_shows_the_take_that_plays_before(library: Library) -> None:
    dissolve = {"plan": {"transition": "dissolve", "overlap": 6.0}}
    before = production({"take": 2, "last_take": 3}, dissolve).order(library, 1).before
    assert before is not None
    assert before.seed == seed_of(production({"take": 1, "last_take": 1}), library)


def picture(path: Path, colour: tuple[int, int, int]) -> None:
    image = Image.new("RGB", (80, 120), "white")
    ImageDraw.Draw(image).rectangle((20, 10, 60, 110), fill=colour)
    image.save(path)


def share(frame: Any, colour: tuple[int, int, int]) -> float:
    """How much of a frame has a colour."""
    return float((np.abs(frame.astype(int) - colour).max(axis=2) < 70).mean())


PRODUCT, CHARACTER, OWN = (255, 0, 200), (0, 190, 60), (0, 200, 220)
PICTURES = {"product_image_s3_key": "product.png", "character_image_s3_key": "character.png"}


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    for name, colour in (("product.png", PRODUCT), ("character.png", CHARACTER), ("own.png", OWN)):
        picture(tmp_path / name, colour)
    return tmp_path


def stills(folder: Path, library: Library, song: Song, own: Sequence[str] = (), **changes: Any) -> list[tuple[Any, bool]]:
    """A frame of each scene of a planned ad, and whether the scene's text names the character."""
    fields = {"concept_prompt": "a walk in the desert", "mode": Mode.AD_CREATIVE, "product_description": "a can of cola"}
    project = Project(owner_id="/ann", resolution=144, **{**fields, **changes})
    shown, preset = subjects_of(project), find_preset("clean")
    plan = plan_video(song, preset, 12, 5)
    texts = write_scenes(project.concept_prompt, plan, preset, shown.character, product=shown.product)
    drafts = [replace(draft, reference_image_s3_keys=tuple(own)) for draft in drafts_of(plan, texts)]
    made = Production.of(project, [draft.scene(project.project_id, at) for at, draft in enumerate(drafts, 1)], folder.joinpath)
    return [(render_still(made.order(library, at), song), text.names_subject) for at, text in enumerate(texts)]


@pytest.mark.parametrize("character", [None, "a tall man"])
def test_every_scene_of_an_ad_shows_the_product(character: str | None, pictures: Path, library: Library, song: Song) -> None:
    keys = PICTURES if character else {"product_image_s3_key": "product.png"}
    frames = stills(pictures, library, song, character_description=character, **keys)
    assert len(frames) > 3
    assert min(share(frame, PRODUCT) for frame, _ in frames) > 0.01
    assert any(named for _, named in frames) is (character is not None)
    for frame, named in frames:
        assert (share(frame, CHARACTER) > 0.01) is named


def test_a_music_video_with_a_product_shows_both_too(pictures: Path, library: Library, song: Song) -> None:
    frames = stills(pictures, library, song, mode=Mode.MUSIC_VIDEO, character_description="a tall man", **PICTURES)
    assert min(share(frame, PRODUCT) for frame, _ in frames) > 0.01
    assert any(share(frame, CHARACTER) > 0.01 for frame, _ in frames)


def test_a_reference_picture_of_a_scene_is_drawn_instead_of_the_characters(pictures: Path, library: Library, song: Song) -> None:
    frames = stills(pictures, library, song, own=["own.png"], character_description="a tall man", **PICTURES)
    for frame, _ in frames:
        assert share(frame, CHARACTER) < 0.001
        assert share(frame, OWN) > 0.01
        assert share(frame, PRODUCT) > 0.01


def test_a_product_without_a_picture_is_drawn_only_if_a_figure_is_what_its_words_say(library: Library) -> None:
    assert library.product_figure("a bottle of perfume") == "bottle"
    assert library.product_figure("a mortgage with a fixed rate") == ""
    ad = production({}, options={"product_description": "a bottle of perfume", "character_description": "a tall man"})
    assert ad.order(library, 0).scene.look.product == "bottle"


@pytest.mark.parametrize(
    ("mode", "first"), [(Mode.AD_CREATIVE, ("own.png", "product.png")), (Mode.MUSIC_VIDEO, ("own.png", "character.png"))]
)
def test_the_reference_pictures_of_a_scene_are_its_own_and_those_of_both_subjects(mode: Mode, first: tuple[str, ...]) -> None:
    made = production({"reference_image_s3_keys": ["own.png"]}, options={"mode": mode, **PICTURES})
    shown = subjects_of(made.project, made.scenes[0])
    assert shown.pictures[:2] == first
    assert set(shown.pictures) == {"own.png", "product.png", "character.png"}
    assert (shown.character, shown.product) == ("The character", "The product")
