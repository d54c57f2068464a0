"""The timeline of a project."""

import re
from uuid import uuid4

import pytest

from gateleg.apps.mv.listening.song import Song
from gateleg.apps.mv.tables import Scene
from gateleg.apps.mv.web.timeline import draw_song, place_scenes, section_labels


def test_scenes_lie_one_after_another_over_the_whole_width() -> None:
    project_id = uuid4()
    scenes = [Scene(project_id=project_id, sequence=number, prompt="x", duration=seconds) for number, seconds in ((4, 2.0), (1, 6.0))]
    blocks = place_scenes(scenes)
    assert [(block.place, block.sequence, block.left, block.width, block.start) for block in blocks] == [
        (1, 4, 0.0, 25.0, 0.0),
        (2, 1, 25.0, 75.0, 2.0),
    ]
    assert place_scenes([]) == []


def test_song_is_drawn_with_its_bars_beats_and_sections(song: Song) -> None:
    drawn = draw_song(song.to_json())
    assert drawn.count('class="part ') == len(song.sections)
    bars = re.search(r'class="bars" d="([^"]*)"', drawn)
    beats = re.search(r'class="beats" d="([^"]*)"', drawn)
    assert bars is not None
    assert beats is not None
    assert (bars[1].count("M"), beats[1].count("M")) == (len(song.bars), len(song.beats))
    assert f"{song.tempo:.0f} BPM" in drawn
    labels = section_labels(song.to_json())
    assert [label[0] for label in labels] == [section.part for section in song.sections]
    assert sum(width for _, _, width in labels) == pytest.approx(100.0, abs=0.5)


def test_names_in_an_analysis_are_text_and_nothing_else(song: Song) -> None:
    told = song.to_json()
    told["sections"] = [{**section, "part": '"><script>'} for section in told["sections"]]
    assert "<script>" not in draw_song(told)
