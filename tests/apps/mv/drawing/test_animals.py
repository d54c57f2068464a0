from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import skia

from gateleg.apps.mv.drawing.catalogue import ELEMENTS
from gateleg.apps.mv.drawing.palettes import PALETTES
from gateleg.apps.mv.drawing.scene import companion_stage
from gateleg.apps.mv.drawing.stage import Moment, Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.mv.drawing.looks import Library
    from gateleg.apps.mv.drawing.stage import Layer

WIDTH, HEIGHT = 200, 150
FOUR_LEGGED = ("fox", "wolf", "bear", "deer", "rabbit", "elephant", "giraffe", "lion", "tiger", "horse", "cow", "sheep", "dog", "cat")
ANIMALS = (*FOUR_LEGGED, "eagle", "owl", "swan", "penguin")
STAGE = Stage(WIDTH, HEIGHT, PALETTES["winter day"], 3, 0.6, 0.6, 0.5, (-0.3, 0.2), (0.0, 0.92, 0.5))


def moment(beats: float) -> Moment:
    return Moment(time=beats / 2, share=0.5, beats=beats, beat=0.0, bar=0.0, low=0.3, mid=0.3, high=0.3, level=0.5)


def drawn(layers: Sequence[Layer], beats: float = 1.35) -> Any:
    surface = skia.Surface(WIDTH, HEIGHT)
    canvas = surface.getCanvas()
    canvas.clear(0)
    canvas.scale(HEIGHT, HEIGHT)
    canvas.translate(WIDTH / HEIGHT / 2, 0)
    for layer in layers:
        layer.draw(canvas, moment(beats))
    return surface.makeImageSnapshot().toarray()


def outline(name: str) -> Any:
    return drawn(ELEMENTS[name].build(STAGE))[..., 3] > 200


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("the vixen hides beneath the hedge", "fox"),
        ("a coyote trots along the highway", "wolf"),
        ("a grizzly bear wakes in spring", "bear"),
        ("an elk crosses the frozen river", "deer"),
        ("a bunny in the tall grass", "rabbit"),
        ("elephants remember the old road", "elephant"),
        ("a giraffe looks over the wall", "giraffe"),
        ("a proud lion rests on a rock", "lion"),
        ("a leopard waits in the dark", "tiger"),
        ("a pony carries the mail", "horse"),
        ("the ox pulls a heavy cart", "cow"),
        ("a ram climbs the cliff", "sheep"),
        ("an old hound sleeps on the porch", "dog"),
        ("a grey kitten on the windowsill", "cat"),
        ("a falcon dives past the tower", "eagle"),
        ("an owl in the barn", "owl"),
        ("a goose crosses the street", "swan"),
        ("a penguin waits for summer", "penguin"),
    ],
)
def test_a_sentence_shows_the_animal_that_it_names(text: str, figure: str, library: Library) -> None:
    assert library.choose(text).figure == figure


@pytest.mark.parametrize(
    ("text", "figure", "companion"),
    [
        ("a boy rides home with his dog", "child", "dog"),
        ("a robot feeds a cat", "robot", "cat"),
        ("three lions at the waterhole", "lion", "lion"),
        ("a wolf follows a deer into the trees", "wolf", "deer"),
        ("swans drift past the castle", "swan", "swan"),
        ("a bear sleeps in the cave", "bear", ""),
        ("a couple waltzes through the ballroom", "couple", ""),
        ("two friends on a bench", "couple", ""),
        ("a woman plays the violin", "woman", ""),
        ("A girl and her dog walk home", "child", "dog"),
        ("a girl walks her dog home", "child", "dog"),
        ("the astronaut and her cat look at the earth while the moon rises", "astronaut", "cat"),
        ("a robot and its penguin dance on the ice", "robot", "penguin"),
        ("two girls and their dog run along the beach", "child", "dog"),
        ("a boy and his toy boat on the lake", "child", ""),
    ],
)
def test_a_second_figure_is_seen_where_the_words_name_two(text: str, figure: str, companion: str, library: Library) -> None:
    look = library.choose(text)
    assert (look.figure, look.companion) == (figure, companion)


def test_a_described_subject_is_alone(library: Library) -> None:
    assert library.choose("a girl and her cat in the garden", subject="a silver robot").companion == ""


def test_no_two_animals_have_the_same_outline() -> None:
    outlines = {name: outline(name) for name in ANIMALS}
    for one, other in combinations(ANIMALS, 2):
        both, either = outlines[one] & outlines[other], outlines[one] | outlines[other]
        assert both.sum() < 0.86 * either.sum(), (one, other)


@pytest.mark.parametrize("name", ANIMALS)
def test_an_animal_moves_with_the_beat_and_is_drawn_the_same_again(name: str) -> None:
    layers = ELEMENTS[name].build(STAGE)
    assert (drawn(layers) == drawn(ELEMENTS[name].build(STAGE))).all()
    assert (drawn(layers, 1.0) != drawn(layers, 1.5)).any()


@pytest.mark.parametrize("name", ANIMALS)
def test_a_colour_word_colours_an_animal(name: str) -> None:
    red = replace(STAGE, palette=replace(STAGE.palette, coat=(0.8, 0.05, 0.05)))
    plain, coloured = (drawn(ELEMENTS[name].build(stage))[..., :3].astype(int) for stage in (STAGE, red))
    assert (coloured[..., 2] - coloured[..., 0]).mean() > (plain[..., 2] - plain[..., 0]).mean() + 0.5


def test_a_second_figure_stands_beside_the_first() -> None:
    first, second = outline("fox"), drawn(ELEMENTS["rabbit"].build(companion_stage(STAGE)))[..., 3] > 200
    assert second.sum() > 100
    assert (first & second).sum() < 0.2 * second.sum()


def test_a_second_figure_of_a_kind_is_somebody_else() -> None:
    assert companion_stage(STAGE).cast != STAGE.cast


def test_legs_stay_above_the_ground() -> None:
    below = np.zeros(HEIGHT, dtype=bool)
    below[int(0.945 * HEIGHT) :] = True
    for name in FOUR_LEGGED:
        assert not outline(name)[below].any(), name
