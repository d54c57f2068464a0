from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gateleg.apps.mv.composing.grading import Finisher, blacken, darken, keep_from, pixels_of, planes_of, video_frame
from gateleg.apps.mv.drawing.grade import transform_of
from gateleg.apps.mv.planning.presets import Grade

PLAIN = Grade(glow=0.0, grain=0.0, vignette=0.0)
WIDTH, HEIGHT = 96, 54


def pixels(red: int, green: int, blue: int) -> Any:
    made = np.zeros((HEIGHT, WIDTH, 4), dtype=np.uint8)
    made[:] = (blue, green, red, 255)
    return made


def finished(source: Any, grade: Grade, exposure: float = 1.0) -> Any:
    """The red, green and blue of a finished frame."""
    return pixels_of(Finisher(WIDTH, HEIGHT, grade).finish(source, 3, exposure))[..., 2::-1].astype(int)


@pytest.mark.parametrize("colour", [(0, 0, 0), (255, 255, 255), (200, 40, 90), (20, 180, 60)])
def test_a_plain_grade_leaves_colours_as_they_are(colour: tuple[int, int, int]) -> None:
    assert np.abs(finished(pixels(*colour), PLAIN) - colour).max() <= 4


@pytest.mark.parametrize(
    "grade",
    [
        Grade(contrast=1.3, glow=0, grain=0, vignette=0),
        Grade(saturation=0.4, warmth=0.2, glow=0, grain=0, vignette=0),
        Grade(fade=0.1, toning=0.4, shadows=(0.4, 0.45, 0.6), lights=(0.62, 0.5, 0.4), glow=0, grain=0, vignette=0),
    ],
)
def test_tones_are_those_of_the_same_arithmetic_on_red_green_and_blue(grade: Grade) -> None:
    luma = np.array([0.2126, 0.7152, 0.0722])
    colour, exposure = np.array([130, 100, 80]) / 255, 1.1
    warm, dark, light = np.array([0.5, 0.08, -0.5]) * grade.warmth * 0.3, np.array(grade.shadows) - 0.5, np.array(grade.lights) - 0.5
    bright = colour * exposure
    grey = luma @ bright
    toned = grade.saturation * bright + (1 - grade.saturation) * grey + (warm + grade.toning * 0.6 * (light - dark)) * grey
    toned = toned + 0.25 * warm + grade.toning * 0.6 * dark
    wanted = ((toned - 0.42) * grade.contrast + 0.42) * (1 - grade.fade) + 0.75 * grade.fade
    assert np.abs(finished(pixels(130, 100, 80), grade, exposure) - wanted * 255).max() <= 4


def test_more_exposure_is_brighter() -> None:
    assert transform_of(PLAIN, 1.2).gain > transform_of(PLAIN, 1.0).gain


def test_bright_things_glow_onto_what_is_beside_them_and_dark_ones_do_not() -> None:
    for level, glows in ((255, True), (120, False)):
        source = pixels(0, 0, 0)
        source[20:34, 40:56, :3] = level
        beside = finished(source, Grade(glow=1.0, grain=0, vignette=0))[27, 56:58].mean()
        assert (beside > 10) == glows


def test_corners_are_darker_than_the_middle() -> None:
    frame = finished(pixels(180, 180, 180), Grade(glow=0, grain=0, vignette=0.8))
    assert frame[27, 48].mean() - frame[0, 0].mean() > 60


def test_grain_moves_from_frame_to_frame_and_spares_black_and_white() -> None:
    finisher = Finisher(WIDTH, HEIGHT, Grade(glow=0, grain=0.2, vignette=0))
    one, other = (planes_of(finisher.finish(pixels(120, 120, 120), number, 1.0))[0].astype(int) for number in (1, 2))
    assert one.std() > 5
    assert np.abs(one - other).mean() > 3
    assert one.mean() == pytest.approx(other.mean(), abs=1)
    assert planes_of(finisher.finish(pixels(0, 0, 0), 1, 1.0))[0].std() == 0


def test_a_frame_is_darkened_barred_and_mixed_with_the_one_before() -> None:
    frame = video_frame(pixels(200, 100, 50))
    darken(frame, 0.5)
    assert np.abs(pixels_of(frame)[..., 2::-1].astype(int) - (100, 50, 25)).max() <= 4
    before = tuple(plane.copy() for plane in planes_of(video_frame(pixels(0, 0, 0))))
    keep_from(frame, before, 0.5)
    assert np.abs(pixels_of(frame)[..., 2::-1].astype(int) - (50, 25, 12)).max() <= 4
    blacken(frame, 10)
    shown = pixels_of(frame)[..., :3].astype(int)
    assert shown[:9].max() <= 2
    assert shown[45:].max() <= 2
    assert shown[27].max() > 40


@pytest.mark.parametrize("width", [*range(96, 114, 2), 180, 320, 850])
def test_the_pixels_of_a_frame_are_its_own_up_to_the_right_edge(width: int) -> None:
    source = np.zeros((32, width, 4), dtype=np.uint8)
    source[:] = (200, 120, 40, 255)
    # Fill the memory that the next frames may reuse with another colour.
    pixels_of(video_frame(np.full_like(source, 255)))
    assert np.abs(pixels_of(video_frame(source)).astype(int) - source).max() <= 4
