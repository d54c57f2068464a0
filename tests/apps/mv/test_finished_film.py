"""A finished film, judged by its file alone: its cuts are found in its frames, and the beats are known from the synthesis of its song."""

from __future__ import annotations

from typing import TYPE_CHECKING

import av
import numpy as np
import pytest

from gateleg.apps.mv.composing.encoding import Canvas
from gateleg.apps.mv.composing.flashes import check_flashes, thumbnail
from gateleg.apps.mv.studio import Video, VideoOptions, make_video
from tests.apps.mv.tracks import RATE, band, steady

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from gateleg.apps.mv.drawing.looks import Library
    from gateleg.apps.mv.music import DemoSong

pytestmark = pytest.mark.slow
#: How much the grid of colours changes from one frame to the next at a cut, and how many times more than around it.
STEP, TIMES = 10.0, 4.0


def seen(path: Path) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float64], float]:
    """The frames of a file as grids of colours, the time of each, and the length of its longest track in seconds."""
    with av.open(str(path)) as file:
        frames = [(thumbnail(frame), float(frame.time or 0.0)) for frame in file.decode(video=0)]
        length = max(float((stream.duration or 0) * (stream.time_base or 0)) for stream in file.streams)
    return np.array([grid for grid, _ in frames]), np.array([time for _, time in frames]), length


def find_cuts(grids: npt.NDArray[np.uint8], times: npt.NDArray[np.float64]) -> list[float]:
    """The times at which the picture becomes another one from one frame to the next.

    What takes several frames (a dissolve, a leak of light) is a transition and no cut: none of its steps stands out from those beside it.
    """
    change = np.abs(np.diff(grids.astype(np.float64), axis=0)).mean(axis=(1, 2, 3))
    cuts = []
    for at, step in enumerate(change):
        beside = np.concatenate([change[max(at - 3, 0) : at], change[at + 1 : at + 4]])
        if step > STEP and step > TIMES * np.median(beside) and step > 2 * beside.max():
            cuts.append(float(times[at + 1]))
    return cuts


def near(times: list[float], beats: npt.NDArray[np.float64]) -> float:
    """The share of times that are within 60 ms of a beat."""
    return float(np.mean([np.abs(beats - time).min() <= 0.06 for time in times]))


def film(path: Path, sentence: str, out: Path, library: Library, director: str) -> Video:
    return make_video(path, sentence, out, library, VideoOptions(Canvas(160, 90), director, seed=3))


@pytest.mark.parametrize("director", ["clean", "neon-noir", "grindhouse"])
def test_cuts_of_the_file_are_on_beats_and_nothing_flashes(
    demo: DemoSong, wave: Path, tmp_path: Path, library: Library, director: str
) -> None:
    made = film(wave, "a silver robot walks through Austin at night", tmp_path / "film.mp4", library, director)
    grids, times, length = seen(made.path)
    cuts = find_cuts(grids, times)
    hard = [slot.first / made.plan.fps for slot in made.plan.slots if slot.index and not slot.overlap]
    assert len(cuts) >= max(len(hard) // 2, 3), (cuts, hard)
    assert near(cuts, np.array(demo.beats)) >= 0.9, (cuts, demo.beats)
    assert abs(length - demo.sound.duration) < 0.1
    assert check_flashes(grids, made.plan.fps).safe


@pytest.mark.parametrize(("tempo", "swing"), [(96.0, 0.5), (128.0, 0.62)], ids=["straight", "swing"])
def test_cuts_of_a_film_of_drums_are_on_their_beats(tempo: float, swing: float, tmp_path: Path, library: Library) -> None:
    from gateleg.apps.mv.listening.sound import Sound, write_wave

    beats = steady(tempo, 30.0)
    write_wave(Sound(band(beats, 30.0, swing=swing).astype(np.float32)[None], RATE), tmp_path / "drums.wav")
    made = film(tmp_path / "drums.wav", "red desert at noon, then a blue ocean under stars", tmp_path / "film.mp4", library, "clean")
    grids, times, length = seen(made.path)
    cuts = find_cuts(grids, times)
    assert cuts
    assert near(cuts, beats) >= 0.9, cuts
    assert abs(length - 30.0) < 0.1
    assert check_flashes(grids, made.plan.fps).safe
