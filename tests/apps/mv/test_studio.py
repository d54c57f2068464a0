from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import av
import numpy as np
import pytest

from gateleg.apps.mv.composing.clips import Clip, render_clip
from gateleg.apps.mv.composing.encoding import Canvas
from gateleg.apps.mv.composing.flashes import COLUMNS, ROWS
from gateleg.apps.mv.errors import Cancelled
from gateleg.apps.mv.listening.sound import write_wave
from gateleg.apps.mv.music import synthesise_song
from gateleg.apps.mv.studio import VideoOptions, check_video, clips_to_calm, make_video

if TYPE_CHECKING:
    from pathlib import Path

    from gateleg.apps.mv.drawing.looks import Library

TINY = Canvas(64, 36)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("short") / "song.wav"
    write_wave(synthesise_song(5.0, 210.0, 2).sound, path)
    return path


def test_a_song_and_a_sentence_give_a_video_as_long_as_the_song(short: Path, tmp_path: Path, library: Library) -> None:
    options = VideoOptions(TINY, "gloss", seed=5, subject="a silver robot", title="Hello", lyrics="la la\nla")
    seen: list[float] = []
    video = make_video(short, "a robot in the city at night", tmp_path / "out.mp4", library, options, 0, lambda at, text: seen.append(at))
    with av.open(str(video.path)) as file:
        assert float(file.duration or 0) / av.time_base == pytest.approx(video.song.duration, abs=0.1)
        assert sum(1 for _ in file.decode(video=0)) == video.plan.frames
    assert video.flashes.safe
    assert all(order.scene.look.figure == "robot" for order, text in zip(video.orders, video.texts, strict=True) if text.names_subject)
    assert seen == sorted(seen)
    assert seen[-1] == 1
    assert list(tmp_path.iterdir()) == [video.path]


def test_the_same_seed_gives_the_same_frames_and_another_one_others(short: Path, tmp_path: Path, library: Library) -> None:
    tiny = Canvas(32, 18)

    def made(seed: int) -> bytes:
        path = tmp_path / "out.mp4"
        make_video(short, "fog in the hills", path, library, VideoOptions(tiny, seed=seed, most=2), 0)
        with av.open(str(path)) as file:
            return b"".join(frame.to_ndarray(format="rgb24").tobytes() for frame in file.decode(video=0))

    one = made(1)
    assert one == made(1)
    assert one != made(2)


def test_a_cancelled_video_leaves_nothing(short: Path, tmp_path: Path, library: Library) -> None:
    asked = iter([False] * 60)
    with pytest.raises(Cancelled):
        make_video(short, "fog", tmp_path / "out.mp4", library, VideoOptions(TINY), 0, cancelled=lambda: next(asked, True))
    assert list(tmp_path.iterdir()) == []


def blinking(path: Path, frames: int, calm: float = 0.0) -> Clip:
    levels = np.array([255 if number // 2 % 2 else 0 for number in range(frames)], dtype=np.float64)
    for number in range(1, frames):
        levels[number] = calm * levels[number - 1] + (1 - calm) * levels[number]
    return Clip(path, frames, np.repeat(levels, ROWS * COLUMNS * 3).reshape(frames, ROWS, COLUMNS, 3).astype(np.uint8))


def test_the_clips_that_flash_are_named_and_calming_mends_them(tmp_path: Path) -> None:
    still = Clip(tmp_path, 48, np.full((48, ROWS, COLUMNS, 3), 90, dtype=np.uint8))
    clips = [still, blinking(tmp_path, 48), still]
    report = check_video(clips, 24)
    assert not report.safe
    assert 1 in clips_to_calm(clips, report)
    assert check_video([still, blinking(tmp_path, 48, 0.95), still], 24).safe


def test_a_finished_clip_is_the_same_when_it_is_rendered_alone(short: Path, tmp_path: Path, library: Library) -> None:
    video = make_video(short, "a boat on the lake", tmp_path / "out.mp4", library, VideoOptions(Canvas(32, 18), most=3), 0)
    order = video.orders[-1]
    clip = render_clip(replace(order), video.song, tmp_path / "again.mp4")
    with av.open(str(video.path)) as file:
        frames = [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]
    with av.open(str(clip.path)) as file:
        again = [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]
    assert np.array_equal(np.array(frames[order.scene.first :]), np.array(again))


def test_importing_the_application_is_light() -> None:
    program = "import sys; import gateleg.apps.mv; print([name for name in ('av', 'skia', 'PIL', 'numpy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
