from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gateleg.apps.mv.listening.song import analyse_sound
from gateleg.apps.mv.listening.sound import Sound
from gateleg.apps.mv.planning.plan import plan_video
from gateleg.apps.mv.planning.presets import PRESETS, find_preset
from tests.apps.mv.tracks import RATE, band, speech, steady

if TYPE_CHECKING:
    from gateleg.apps.mv.listening.song import Song


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("fps", [24, 30])
def test_scenes_fill_the_song_to_the_frame(song: Song, preset: str, fps: int) -> None:
    plan = plan_video(song, find_preset(preset), fps)
    assert plan.slots[0].first == 0
    assert [slot.last for slot in plan.slots] == [*(slot.first for slot in plan.slots[1:]), plan.frames]
    assert abs(plan.frames / fps - song.duration) <= 0.5 / fps


@pytest.mark.parametrize("preset", PRESETS)
def test_cuts_fall_on_beats(song: Song, preset: str) -> None:
    plan = plan_video(song, find_preset(preset))
    assert len(plan.cuts) >= 4
    assert np.mean([min(abs(cut - beat) for beat in song.beats) < 0.06 for cut in plan.cuts]) >= 0.9


def test_cuts_of_a_song_with_a_known_pulse_fall_on_its_true_beats() -> None:
    beats = steady(112, 30)
    heard = analyse_sound(Sound(band(beats, 30, swing=0.62, seed=9)[None].astype(np.float32), RATE))
    cuts = plan_video(heard, find_preset("clean")).cuts
    assert np.mean([np.abs(beats - cut).min() < 0.06 for cut in cuts]) >= 0.9


def test_loud_passages_are_cut_more_often_and_move_more(song: Song) -> None:
    slots = plan_video(song, find_preset("clean")).slots
    loud = [slot for slot in slots if slot.energy > 0.8]
    quiet = [slot for slot in slots if slot.energy < 0.4]
    assert np.mean([slot.frames for slot in loud]) < np.mean([slot.frames for slot in quiet])
    assert min(slot.motion for slot in loud) > max(slot.motion for slot in quiet)
    assert min(slot.brightness for slot in loud) > max(slot.brightness for slot in quiet)


def test_a_repeated_chorus_develops_the_scenes_of_the_first_one(song: Song) -> None:
    slots = plan_video(song, find_preset("clean")).slots
    again = [slot for slot in slots if slot.part == "chorus" and slot.repeat > 0]
    assert again
    for slot in again:
        twin = slots[slot.twin]
        assert (twin.letter, twin.repeat) == (slot.letter, 0)
        assert slot.brightness > twin.brightness


def test_no_more_scenes_than_asked_for(song: Song) -> None:
    for most in (1, 3, 5):
        plan = plan_video(song, find_preset("grindhouse"), most=most)
        assert len(plan.slots) <= most
        assert plan.slots[-1].last == plan.frames


def test_a_song_without_a_pulse_is_planned_too() -> None:
    heard = analyse_sound(Sound(speech(14)[None].astype(np.float32), RATE))
    plan = plan_video(heard, find_preset("clean"))
    assert len(plan.slots) > 1
    assert plan.slots[-1].last == plan.frames


def test_a_very_short_song_is_one_scene(song: Song) -> None:
    short = replace(song, duration=0.4, sections=(replace(song.sections[0], end=0.4),))
    plan = plan_video(short, find_preset("clean"))
    assert [slot.frames for slot in plan.slots] == [10]
