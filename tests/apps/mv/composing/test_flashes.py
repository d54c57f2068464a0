from __future__ import annotations

import numpy as np
import pytest

from gateleg.apps.mv.composing.flashes import COLUMNS, ROWS, check_flashes, thumbnail
from gateleg.apps.mv.composing.grading import video_frame


def blinking(hertz: float, bright: tuple[int, int, int], dark: tuple[int, int, int], part: float = 1.0, seconds: float = 3.0) -> np.ndarray:
    frames = np.zeros((int(24 * seconds), ROWS, COLUMNS, 3), dtype=np.uint8)
    frames[:] = dark
    for number in range(len(frames)):
        if int(number / 24 * hertz * 2) % 2:
            frames[number, :, : round(COLUMNS * part)] = bright
    return frames


WHITE, GREY, BLACK, RED = (255, 255, 255), (90, 90, 90), (0, 0, 0), (255, 0, 0)


@pytest.mark.parametrize("hertz", [4, 6, 10])
def test_fast_blinking_is_found(hertz: float) -> None:
    report = check_flashes(blinking(hertz, WHITE, BLACK), 24)
    assert report.general > 3
    assert not report.safe
    assert report.frames


@pytest.mark.parametrize(
    "frames",
    [
        blinking(2, WHITE, BLACK),
        blinking(6, WHITE, BLACK, part=0.2),
        blinking(6, GREY, (80, 80, 80)),
        blinking(6, WHITE, (245, 245, 245)),
        np.full((48, ROWS, COLUMNS, 3), 128, dtype=np.uint8),
        np.zeros((1, ROWS, COLUMNS, 3), dtype=np.uint8),
    ],
    ids=["slow", "small", "faint", "bright both", "still", "one frame"],
)
def test_slow_small_and_faint_changes_are_safe(frames: np.ndarray) -> None:
    assert check_flashes(frames, 24).safe


def test_red_flashes_are_counted_apart() -> None:
    report = check_flashes(blinking(5, RED, (40, 40, 40)), 24)
    assert report.red > 3


def test_a_thumbnail_has_the_colours_of_its_frame() -> None:
    pixels = np.zeros((90, 160, 4), dtype=np.uint8)
    pixels[:, :80] = (255, 0, 0, 255)
    small = thumbnail(video_frame(pixels)).astype(int)
    assert small.shape == (ROWS, COLUMNS, 3)
    assert np.abs(small[5, 3] - (0, 0, 255)).max() < 6
    assert np.abs(small[5, 30]).max() < 6
