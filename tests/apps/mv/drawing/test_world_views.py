from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateleg.apps.mv.drawing.catalogue import ELEMENTS
from gateleg.apps.mv.drawing.world_views import WORLDS, world_of

if TYPE_CHECKING:
    from gateleg.apps.mv.drawing.looks import Library


def test_worlds_are_made_of_elements_that_exist() -> None:
    assert {name for world in WORLDS.values() for name in world} <= set(ELEMENTS)


def test_every_distance_belongs_to_a_world() -> None:
    homeless = {name for name, one in ELEMENTS.items() if one.kind == "far"} - {name for world in WORLDS.values() for name in world}
    assert homeless == set()


def test_the_world_is_the_one_that_fits_the_words_best() -> None:
    assert world_of(["road", "skyline"], {"road": 0.3, "skyline": 0.4}) == "city"
    assert world_of(["road", "mesas"], {"road": 0.3, "mesas": 0.4}) == "desert"
    assert world_of(["ink"], {"ink": 0.9}) == ""


@pytest.mark.parametrize(
    ("text", "world"),
    [
        ("a silver robot walks through Austin at night", "city"),
        ("red desert at noon", "desert"),
        ("two lovers on a beach at sunset", "sea"),
        ("a wolf in a snowy forest", "winter"),
        ("my grandmother's garden in spring", "country"),
        ("an astronaut drifts through the galaxy", "space"),
    ],
)
def test_parts_of_a_video_are_other_views_of_one_world(text: str, world: str, library: Library) -> None:
    views = [library.choose(text, turn=turn, setting=turn).elements for turn in range(6)]
    assert len(set(views)) > 1
    places = {name for view in views for name in view if ELEMENTS[name].kind in ("far", "ground")}
    assert places <= WORLDS[world]


def test_a_setting_that_comes_back_looks_the_same(library: Library) -> None:
    text = "a silver robot walks through Austin at night"
    assert library.choose(text, turn=3, setting=1) == library.choose(text, turn=3, setting=1)
    assert library.choose(text, turn=3, setting=1) != library.choose(text, turn=3, setting=2)


def test_what_the_words_name_is_in_every_setting(library: Library) -> None:
    for setting in range(6):
        assert "castle" in library.choose("a knight rides to a castle in the storm", turn=setting, setting=setting).elements


@pytest.mark.parametrize("text", ["two lovers on a beach at sunset", "a silver robot walks through Austin at night"])
def test_nobody_walks_on_water(text: str, library: Library) -> None:
    for setting in range(6):
        assert not {"ocean", "still lake"} & set(library.choose(text, turn=setting, setting=setting).elements)


@pytest.mark.parametrize(
    ("text", "skies"), [("red desert at noon", {"noon sun", "drifting clouds"}), ("two lovers on a beach at sunset", {"sunset"})]
)
def test_the_time_of_day_that_the_words_name_stays(text: str, skies: set[str], library: Library) -> None:
    seen = {library.choose(text, turn=turn, setting=turn).elements[0] for turn in range(6)}
    assert seen <= skies


def test_the_same_person_is_seen_in_all_scenes_of_a_video_and_another_one_with_another_seed(library: Library) -> None:
    subject = "a woman in a green coat"
    scenes = [library.choose(text, 5, subject, turn=turn).cast for turn, text in enumerate(("a woman in the rain", "a woman at home"))]
    assert len(set(scenes)) == 1
    assert library.choose("a woman in the rain", 6, subject).cast != scenes[0]


def test_who_is_by_the_sea_is_on_its_shore(library: Library) -> None:
    assert "beach" in library.choose("an old sailor by the open sea").elements
    assert "ocean" in library.choose("blue ocean under stars").elements
