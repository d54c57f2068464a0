from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gateleg.apps.mv.errors import Cancelled
from gateleg.apps.mv.listening.keys import find_key
from gateleg.apps.mv.listening.song import CURVE_RATE, Song, listen
from gateleg.apps.mv.music import synthesise_song

if TYPE_CHECKING:
    from pathlib import Path

    from gateleg.apps.mv.music import DemoSong


def test_bars_begin_where_the_band_begins_them(demo: DemoSong, song: Song) -> None:
    bars = np.array(demo.beats[::4])
    assert song.meter == 4
    assert np.mean([np.abs(bars - bar).min() < 0.06 for bar in song.bars]) > 0.9


def test_sections_begin_where_parts_do(demo: DemoSong, song: Song) -> None:
    starts = [start for start, _ in demo.parts[1:-1]]
    found = [section.start for section in song.sections]
    assert sum(min(abs(start - other) for other in found) < 0.1 for start in starts) >= len(starts) - 1


def test_the_loud_part_that_comes_back_is_the_chorus_and_keeps_its_letter(song: Song) -> None:
    choruses = [section for section in song.sections if section.part == "chorus"]
    assert [section.repeat for section in choruses] == list(range(len(choruses)))
    assert len({section.letter for section in choruses}) == 1
    assert min(section.energy for section in choruses) > max(section.energy for section in song.sections if section.part == "intro")


def test_sections_cover_the_song_without_gaps(song: Song) -> None:
    assert song.sections[0].start == 0
    assert song.sections[-1].end == pytest.approx(song.duration, abs=1e-3)
    assert all(one.end == other.start for one, other in zip(song.sections[:-1], song.sections[1:], strict=True))


def test_curves_cover_the_song_from_0_to_1(song: Song) -> None:
    for curve in (song.low, song.mid, song.high, song.level):
        assert len(curve) == pytest.approx(song.duration * CURVE_RATE, abs=1)
        assert min(curve) >= 0
        assert 0.5 < max(curve) <= 1


def test_a_song_survives_json(song: Song) -> None:
    assert Song.from_json(json.loads(json.dumps(song.to_json()))) == song


@pytest.mark.parametrize(("tonic", "name"), [(0, "C"), (9, "A"), (6, "F#")])
def test_the_key_of_a_scale_is_found(tonic: int, name: str) -> None:
    weights = np.array([5, 0, 2, 0, 4, 2, 0, 4, 0, 2, 0, 1], dtype=np.float32)
    assert find_key(np.roll(weights, tonic)[None]) == f"{name} major"


def test_listening_reports_progress_and_can_be_stopped(wave: Path) -> None:
    seen: list[float] = []
    listen(wave, progress=lambda fraction, text: seen.append(fraction))
    assert seen == sorted(seen)
    assert seen[-1] == 1
    with pytest.raises(Cancelled):
        listen(wave, cancelled=lambda: True)


def test_a_synthesised_song_is_the_same_for_the_same_seed() -> None:
    one, same, other = (synthesise_song(6, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(one.sound.samples, same.sound.samples)
    assert not np.array_equal(one.sound.samples[:, :100_000], other.sound.samples[:, :100_000])
