from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateleg.apps.mv.errors import UnreadableLyrics
from gateleg.apps.mv.planning.plan import plan_video
from gateleg.apps.mv.planning.presets import find_preset
from gateleg.apps.mv.writing.lyrics import read_lyrics, write_srt
from gateleg.apps.mv.writing.scenes import read_camera, scene_words, write_scenes

if TYPE_CHECKING:
    from gateleg.apps.mv.listening.song import Song

CONCEPT = "a silver robot walks through Austin at night"


def test_texts_are_the_same_for_the_same_seed_and_differ_for_another(song: Song) -> None:
    plan = plan_video(song, find_preset("clean"))
    one = write_scenes(CONCEPT, plan, find_preset("clean"), "a robot", 1)
    assert one == write_scenes(CONCEPT, plan, find_preset("clean"), "a robot", 1)
    assert one != write_scenes(CONCEPT, plan, find_preset("clean"), "a robot", 2)


def test_every_text_says_what_the_concept_says_and_names_its_subject(song: Song) -> None:
    plan = plan_video(song, find_preset("clean"))
    texts = write_scenes(CONCEPT, plan, find_preset("clean"), "a tall humanoid")
    assert len(texts) == len(plan.slots)
    assert all(CONCEPT[2:] in text.prompt for text in texts)
    assert all("tall humanoid" in text.prompt for text in texts if text.names_subject)
    assert sum(text.names_subject for text in texts) >= len(texts) - 2


def test_a_developed_scene_keeps_the_shot_of_its_first_time(song: Song) -> None:
    plan = plan_video(song, find_preset("clean"))
    texts = write_scenes(CONCEPT, plan, find_preset("clean"))
    for slot, text in zip(plan.slots, texts, strict=True):
        assert text.shot == texts[slot.twin].shot


def test_the_camera_is_read_from_what_a_person_wrote() -> None:
    assert read_camera("Close-up, the camera rises. A whale.") == ("close", "rise", "A whale.")
    assert read_camera("Low angle of a tower; pan left slowly")[:2] == ("low", "pan left")
    assert read_camera("A quiet room.") == (None, None, "A quiet room.")


def test_the_texts_of_a_plan_can_be_read_back(song: Song) -> None:
    plan = plan_video(song, find_preset("gloss"))
    for text in write_scenes(CONCEPT, plan, find_preset("gloss")):
        shot, move, rest = read_camera(text.prompt)
        assert (shot, move) == (text.shot, text.move)
        assert "camera" not in rest


def test_only_what_names_something_to_see_chooses_what_is_drawn(song: Song) -> None:
    plan = plan_video(song, find_preset("clean"))
    for text in write_scenes(CONCEPT, plan, find_preset("clean"), "a tall humanoid"):
        assert scene_words(text.prompt) == "A silver robot walks through Austin at night. clear natural light"
    assert scene_words("Wide shot. A beach. A whale jumps.") == "A beach. A whale jumps"


LRC = "[ar:Somebody]\n[00:02.50]First line\n[00:05.00][00:12.00]Twice\n[00:07.00]\n"
SRT = "1\n00:00:01,000 --> 00:00:03,500\n<i>Hello</i>\nworld\n\n2\n00:00:04,000 --> 00:00:05,000\nAgain\n"


def test_lrc_is_read_with_repeats_and_pauses(song: Song) -> None:
    lines = read_lyrics(LRC, song)
    assert [(line.start, line.end, line.text) for line in lines] == [(2.5, 5.0, "First line"), (5.0, 7.0, "Twice"), (12.0, 18.0, "Twice")]


def test_srt_is_read_without_its_markup_and_written_again(song: Song) -> None:
    lines = read_lyrics(SRT, song)
    assert [(line.start, line.end, line.text) for line in lines] == [(1.0, 3.5, "Hello world"), (4.0, 5.0, "Again")]
    assert read_lyrics(write_srt(lines), song) == lines


def test_plain_text_is_spread_over_verses_and_choruses_on_beats(song: Song) -> None:
    lines = read_lyrics("one\n\ntwo\nthree\nfour", song)
    assert [line.text for line in lines] == ["one", "two", "three", "four"]
    assert [line.start for line in lines] == sorted(line.start for line in lines)
    for line in lines:
        assert any(section.start - 0.3 <= line.start < section.end for section in song.sections if section.part in ("verse", "chorus"))
        assert min(abs(line.start - beat) for beat in song.beats) < 0.001


@pytest.mark.parametrize("text", ["x" * 200_001, "[00:05.00]\n[00:06.00]"])
def test_lyrics_without_a_line_are_refused(song: Song, text: str) -> None:
    with pytest.raises(UnreadableLyrics):
        read_lyrics(text, song)
