from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gateleg.ai import ModelFailed, Models, Script
from gateleg.apps.mv.planning.plan import plan_video
from gateleg.apps.mv.planning.presets import find_preset
from gateleg.apps.mv.writing.chat import write_scenes_by
from gateleg.apps.mv.writing.scenes import read_camera, write_scenes

if TYPE_CHECKING:
    from gateleg.apps.mv.listening.song import Song

CLEAN = find_preset("clean")


def test_a_model_writes_what_is_seen_and_the_studio_keeps_the_camera(song: Song) -> None:
    plan = plan_video(song, CLEAN, most=3)
    answer = json.dumps({"scenes": [{"description": f"A fox stands on hill number {number}."} for number in range(len(plan.slots))]})
    texts, note = write_scenes_by(Models().chat_with(Script([answer])), "a fox", plan, CLEAN)
    assert note == ""
    assert "hill number 1" in texts[1].prompt
    assert [read_camera(text.prompt)[0] for text in texts] == [text.shot for text in texts]


def test_a_model_that_miscounts_or_fails_does_not_stop_the_video(song: Song) -> None:
    plan = plan_video(song, CLEAN, most=3)
    plain = write_scenes("a fox", plan, CLEAN)
    one = json.dumps({"scenes": [{"description": "A fox stands on a hill."}]})
    for script, why in ((Script([one]), "1 scenes"), (Script([ModelFailed("No.") for _ in range(9)]), "model-failed")):
        texts, note = write_scenes_by(Models(sleep=lambda seconds: None).chat_with(script), "a fox", plan, CLEAN)
        assert texts == plain
        assert why in note
