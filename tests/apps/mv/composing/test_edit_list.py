from __future__ import annotations

from gateleg.apps.mv.composing.edit_list import Cut, timecode, write_edl

CUTS = (Cut("scene_001.mp4", 0, 48, "A road\nat night"), Cut("scene_002.mp4", 48, 24))


def test_timecodes_count_frames() -> None:
    assert [timecode(frame, 24) for frame in (0, 25, 24 * 61 + 3)] == ["00:00:00:00", "00:00:01:01", "00:01:01:03"]


def test_an_edl_has_an_event_for_each_clip_without_gaps() -> None:
    lines = write_edl("My video", CUTS, 24).splitlines()
    assert lines[0] == "TITLE: My video"
    events = [line.split() for line in lines if line[:3].isdigit()]
    assert [event[-2:] for event in events] == [["01:00:00:00", "01:00:02:00"], ["01:00:02:00", "01:00:03:00"]]
    assert "* COMMENT: A road at night" in lines
