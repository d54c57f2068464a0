from __future__ import annotations

from gateleg.apps.mv.composing.edit_list import Cut, timecode, write_edl, write_otio

CUTS = (Cut("Scene 1", "scene_001.mp4", 0, 48, "A road\nat night"), Cut("Scene 2", "scene_002.mp4", 48, 24))


def test_timecodes_count_frames() -> None:
    assert [timecode(frame, 24) for frame in (0, 25, 24 * 61 + 3)] == ["00:00:00:00", "00:00:01:01", "00:01:01:03"]


def test_an_edl_has_an_event_for_each_clip_without_gaps() -> None:
    lines = write_edl("My video", CUTS, 24).splitlines()
    assert lines[0] == "TITLE: My video"
    events = [line.split() for line in lines if line[:3].isdigit()]
    assert [event[-2:] for event in events] == [["01:00:00:00", "01:00:02:00"], ["01:00:02:00", "01:00:03:00"]]
    assert "* COMMENT: A road at night" in lines


def test_a_timeline_has_clips_the_song_and_markers_for_beats() -> None:
    timeline = write_otio("My video", CUTS, 24, "song.mp3", [0.5, 1.0])
    pictures, song = timeline["tracks"]["children"]
    assert [clip["source_range"]["duration"]["value"] for clip in pictures["children"]] == [48, 24]
    assert [marker["marked_range"]["start_time"]["value"] for marker in pictures["markers"]] == [12, 24]
    assert song["children"][0]["source_range"]["duration"]["value"] == 72
