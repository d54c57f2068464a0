from __future__ import annotations

import numpy as np
import pytest

from gateleg.apps.mv.listening.song import Song, analyse_sound
from gateleg.apps.mv.listening.sound import Sound
from tests.apps.mv.tracks import RATE, Doubles, band, breathing, speech, steady


def heard(track: Doubles) -> Song:
    return analyse_sound(Sound(track[None].astype(np.float32), RATE))


def share_on(beats: Doubles, song: Song) -> float:
    """The share of what was heard as a beat that is within 60 ms of one."""
    return float(np.mean([np.abs(beats - beat).min() < 0.06 for beat in song.beats]))


# The tracker was tuned on the first of each kind; the others have tempos, noises and offsets that it was not tuned on.
@pytest.mark.parametrize(("tempo", "start", "seed"), [(124, 0.3, 0), (78, 0.1, 1), (104, 0.2, 2), (138, 0.4, 4), (168, 0.5, 5)])
def test_a_straight_rhythm_is_followed(tempo: float, start: float, seed: int) -> None:
    beats = steady(tempo, 20, start)
    song = heard(band(beats, 20, seed=seed, chords=seed % 2 == 0))
    assert share_on(beats, song) > 0.95
    assert min(abs(song.tempo - tempo), abs(song.tempo * 2 - tempo)) < 1.5


@pytest.mark.parametrize(("tempo", "swing", "seed"), [(96, 0.66, 0), (112, 0.64, 2), (150, 0.66, 3)])
def test_a_swung_rhythm_is_followed(tempo: float, swing: float, seed: int) -> None:
    beats = steady(tempo, 20)
    assert share_on(beats, heard(band(beats, 20, swing=swing, seed=seed))) > 0.95


@pytest.mark.parametrize(("tempo", "seed"), [(140, 0), (120, 1), (170, 3)])
def test_half_time_is_followed(tempo: float, seed: int) -> None:
    beats = steady(tempo, 20)
    assert share_on(beats, heard(band(beats, 20, half=True, seed=seed))) > 0.95


@pytest.mark.parametrize(("tempo", "depth", "pace", "least"), [(110, 0.12, 0.05, 0.95), (125, 0.12, 0.07, 0.7), (100, 0.08, 0.04, 0.9)])
def test_a_tempo_that_breathes_is_followed(tempo: float, depth: float, pace: float, least: float) -> None:
    beats = breathing(tempo, 30, depth, pace)
    assert share_on(beats, heard(band(beats, 30))) > least


@pytest.mark.parametrize(("tempo", "until", "seed"), [(124, 12, 0), (95, 10, 1), (128, 14, 3)])
def test_an_intro_of_off_beat_cymbals_takes_its_beats_from_the_drums_that_follow(tempo: float, until: float, seed: int) -> None:
    beats = steady(tempo, 30)
    assert share_on(beats, heard(band(beats, 30, cymbals_until=until, seed=seed))) > 0.95


@pytest.mark.parametrize("track", [np.zeros(8 * RATE), speech(15), speech(15, 12), np.random.default_rng(0).normal(0, 0.1, 10 * RATE)])
def test_silence_speech_and_noise_have_no_pulse_but_a_grid(track: Doubles) -> None:
    song = heard(track)
    assert not song.has_pulse
    assert np.allclose(np.diff(song.beats), 0.5)
    assert song.sections[-1].end == pytest.approx(song.duration, abs=0.01)


def test_a_sound_shorter_than_a_beat_is_heard() -> None:
    song = heard(np.sin(np.arange(2000) / 20))
    assert song.duration == pytest.approx(2000 / RATE, abs=1e-3)
    assert len(song.sections) == 1
