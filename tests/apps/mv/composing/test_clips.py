from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import av
import numpy as np
import pytest

from gateleg.apps.mv.composing.assembly import Credits, compose
from gateleg.apps.mv.composing.clips import ClipOrder, frames_of, render_clip, render_safe_clip, render_still
from gateleg.apps.mv.composing.conforming import conform_clip, header_of, probe_clip
from gateleg.apps.mv.composing.encoding import Canvas, ClipWriter
from gateleg.apps.mv.composing.flashes import check_flashes
from gateleg.apps.mv.composing.mastering import Mastering
from gateleg.apps.mv.composing.stills import draw_sheet, draw_storyboard, save_poster
from gateleg.apps.mv.composing.workers import render_clips
from gateleg.apps.mv.drawing.catalogue import ELEMENTS, Element
from gateleg.apps.mv.drawing.looks import Look
from gateleg.apps.mv.drawing.palettes import PALETTES
from gateleg.apps.mv.drawing.scene import Scene
from gateleg.apps.mv.drawing.stage import Layer
from gateleg.apps.mv.errors import Cancelled, UnreadableClip
from gateleg.apps.mv.listening.loudness import integrated_loudness, measure, true_peak
from gateleg.apps.mv.listening.sound import Sound, read_sound
from gateleg.apps.mv.planning.presets import find_preset

if TYPE_CHECKING:
    from pathlib import Path

    from gateleg.apps.mv.listening.song import Song
    from gateleg.apps.mv.music import DemoSong

SMALL = Canvas(96, 54)
SCENE = Scene(Look(("sunset", "ocean"), "", PALETTES["golden sunset"]), "wide", "push", 0, 12, 0.7, 0.8, 0.1, 3, find_preset("clean"))
OTHER = replace(SCENE, look=Look(("starry night", "skyline", "street"), "robot", PALETTES["neon city"]), first=12)


def decoded(path: Path) -> Any:
    with av.open(str(path)) as container:
        return np.array([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])


def test_a_clip_has_its_frames_and_the_same_order_gives_the_same_bytes(tmp_path: Path, song: Song) -> None:
    order = ClipOrder(SCENE, SMALL)
    clips = [render_clip(order, song, tmp_path / name) for name in ("a.mp4", "b.mp4")]
    assert clips[0].frames == 12
    assert clips[0].thumbnails.shape[0] == 12
    first, second = ([frame.to_ndarray().tobytes() for frame in frames_of(order, song)] for _ in range(2))
    assert first == second
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    assert probe_clip(tmp_path / "a.mp4").seconds == pytest.approx(0.5)


def test_colours_arrive_in_the_file_as_they_were_drawn(tmp_path: Path, song: Song) -> None:
    order = ClipOrder(replace(SCENE, look=Look(("noon sun", "dunes"), "", PALETTES["mars"]), first=48), SMALL)
    render_clip(order, song, tmp_path / "a.mp4")
    still = render_still(order, song, 0.0).astype(int)
    assert np.abs(decoded(tmp_path / "a.mp4")[0].astype(int).mean(axis=(0, 1)) - still.mean(axis=(0, 1))).max() < 8
    assert still[..., 0].mean() > still[..., 2].mean()


@pytest.mark.parametrize("kind", ["dissolve", "push", "zoom", "iris", "light", "ink", "blinds"])
def test_a_transition_begins_with_the_old_scene_and_ends_with_the_new_one(kind: Any, song: Song) -> None:
    order = ClipOrder(OTHER, SMALL, SCENE, kind, 11)
    frames = [frame.to_ndarray().astype(int) for frame in frames_of(order, song)]
    plain = [frame.to_ndarray().astype(int) for frame in frames_of(ClipOrder(OTHER, SMALL), song)]
    distance = [np.abs(one - other).mean() for one, other in zip(frames, plain, strict=True)]
    assert distance[0] > distance[5] > distance[10]
    assert distance[11] == 0


@pytest.mark.parametrize("width", [96, 86])
def test_titles_lie_above_the_finished_picture_in_frames_of_any_width(width: int, song: Song) -> None:
    canvas = Canvas(width, 54)
    plain, titled = (render_still(ClipOrder(replace(SCENE, first=48), canvas, title=title), song).astype(int) for title in ("", "AUSTIN"))
    assert np.abs(plain - titled).max() > 60
    assert np.abs(plain - titled)[:8].mean() < 3


def test_a_calm_clip_changes_less_from_frame_to_frame(song: Song) -> None:
    def change(calm: float) -> float:
        frames = [frame.to_ndarray().astype(int) for frame in frames_of(ClipOrder(OTHER, SMALL, calm=calm), song)]
        return float(np.mean([np.abs(one - other).mean() for one, other in itertools.pairwise(frames)]))

    assert change(0.8) < 0.6 * change(0.0)


def test_a_clip_that_flashes_is_drawn_again_until_it_is_safe(tmp_path: Path, song: Song, monkeypatch: pytest.MonkeyPatch) -> None:
    def blink(canvas: Any, moment: Any) -> None:
        canvas.clear(0xFFFFFFFF if int(moment.time * 10) % 2 else 0xFF000000)

    blinking = Element("blinking", "field", "", (), lambda stage: [Layer(0.0, blink)])
    monkeypatch.setitem(ELEMENTS, "blinking", blinking)
    order = ClipOrder(replace(SCENE, look=Look(("blinking",), "", PALETTES["stage"]), frames=48), SMALL)
    assert not check_flashes(render_clip(order, song, tmp_path / "a.mp4").thumbnails, 24).safe
    assert check_flashes(render_safe_clip(order, song, tmp_path / "b.mp4").thumbnails, 24).safe


def test_clips_are_joined_by_copying_their_packets(tmp_path: Path, song: Song, wave: Path) -> None:
    paths = [tmp_path / "a.mp4", tmp_path / "b.mp4"]
    render_clip(ClipOrder(SCENE, SMALL), song, paths[0])
    render_clip(ClipOrder(OTHER, SMALL), song, paths[1])
    seconds = compose(paths, wave, tmp_path / "out.mp4", SMALL, Credits("A title", "Somebody"))
    assert seconds == 1.0
    assert np.array_equal(decoded(tmp_path / "out.mp4"), np.concatenate([decoded(path) for path in paths]))
    with av.open(str(tmp_path / "out.mp4")) as video:
        assert {stream.codec_context.name for stream in video.streams} == {"h264", "aac"}
        assert video.metadata["title"] == "A title"
        assert "procedural" in video.metadata["comment"]
        assert float(video.duration or 0) / av.time_base == pytest.approx(1.0, abs=0.05)
    head = (tmp_path / "out.mp4").read_bytes()
    assert head.index(b"moov") < head.index(b"mdat")


def test_a_loud_and_a_quiet_song_are_brought_to_the_same_loudness_without_clipping(demo: DemoSong) -> None:
    part = demo.sound.samples[:, 12 * 44_100 : 22 * 44_100]
    for gain in (0.05, 3.0):
        made = Mastering(Sound(np.clip(part * np.float32(gain), -1, 1), 44_100)).limited_to()
        assert integrated_loudness(made) == pytest.approx(-14, abs=0.5)
        assert true_peak(made.samples) < -1


def test_what_is_heard_in_the_file_is_as_loud_as_it_should_be(tmp_path: Path, wave: Path) -> None:
    with ClipWriter(tmp_path / "a.mp4", Canvas(16, 16)) as writer:
        for _ in range(7 * 24):
            writer.write(np.zeros((16, 16, 4), dtype=np.uint8))
    compose([tmp_path / "a.mp4"], wave, tmp_path / "out.mp4", Canvas(16, 16))
    heard = measure(read_sound(tmp_path / "out.mp4"))
    assert heard.integrated == pytest.approx(-14, abs=0.7)
    assert heard.true_peak < -1


def test_silence_is_composed_too() -> None:
    quiet = Sound(np.zeros((2, 48_000), dtype=np.float32), 48_000)
    assert not Mastering(quiet).limited_to().samples.any()


def test_clips_are_rendered_in_processes_with_progress(tmp_path: Path, song: Song) -> None:
    orders = [ClipOrder(SCENE, SMALL), ClipOrder(OTHER, SMALL)]
    seen: list[float] = []
    clips = render_clips(orders, song, [tmp_path / "a.mp4", tmp_path / "b.mp4"], 1, lambda fraction, text: seen.append(fraction))
    assert [clip.frames for clip in clips] == [12, 12]
    assert seen[-1] == 1
    here = render_clip(orders[1], song, tmp_path / "c.mp4")
    assert np.array_equal(clips[1].thumbnails, here.thumbnails)
    assert (tmp_path / "b.mp4").read_bytes() == (tmp_path / "c.mp4").read_bytes()


def test_a_cancelled_render_leaves_no_half_file(tmp_path: Path, song: Song) -> None:
    asked = iter([False] * 5)
    with pytest.raises(Cancelled):
        render_clip(ClipOrder(SCENE, SMALL), song, tmp_path / "a.mp4", cancelled=lambda: next(asked, True))
    with pytest.raises(Cancelled):
        render_clips([ClipOrder(SCENE, SMALL)], song, [tmp_path / "b.mp4"], 1, cancelled=lambda: True)
    assert list(tmp_path.glob("a.*")) == []


def test_an_error_in_a_process_is_raised_here(tmp_path: Path, song: Song) -> None:
    with pytest.raises(FileNotFoundError):
        render_clips([ClipOrder(SCENE, SMALL)], song, [tmp_path / "gone" / "a.mp4"], 1)


@pytest.mark.parametrize(("width", "height"), [(15, 90), (160, 91), (5000, 90)])
def test_an_impossible_canvas_is_refused(width: int, height: int) -> None:
    with pytest.raises(ValueError, match="not possible"):
        Canvas(width, height)


def made_clip(path: Path, canvas: Canvas, frames: int) -> Path:
    """A clip that is darker on its left and grows brighter with time."""
    with ClipWriter(path, canvas) as writer:
        for number in range(frames):
            pixels = np.full((canvas.height, canvas.width, 4), 20 + number * 4, dtype=np.uint8)
            writer.write(pixels)
    return path


@pytest.mark.parametrize("canvas", [Canvas(96, 54), Canvas(54, 96), Canvas(64, 64, 30)])
def test_a_foreign_clip_is_brought_to_the_canvas_and_its_trim_leaves_the_source_alone(tmp_path: Path, canvas: Canvas) -> None:
    source = made_clip(tmp_path / "in.mp4", Canvas(128, 72, 25), 50)
    before = source.read_bytes()
    assert conform_clip(source, tmp_path / "out.mp4", canvas, canvas.fps, start=0.4, end=1.6) == canvas.fps
    pictures = decoded(tmp_path / "out.mp4")
    assert pictures.shape == (canvas.fps, canvas.height, canvas.width, 3)
    assert pictures[0].mean() == pytest.approx(20 + 10 * 4, abs=6)
    assert source.read_bytes() == before


def test_a_clip_that_is_too_short_is_slowed_down_and_then_stands(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "in.mp4", SMALL, 12)
    conform_clip(source, tmp_path / "out.mp4", SMALL, 48)
    levels = decoded(tmp_path / "out.mp4").mean(axis=(1, 2, 3))
    assert levels[12] == pytest.approx(20 + 6 * 4, abs=5)
    assert levels[30] == pytest.approx(levels[47], abs=1)


@pytest.mark.parametrize("data", [b"", b"not a clip", b"\x00\x00\x00\x20ftypisom" + b"\x00" * 200])
def test_what_is_not_a_clip_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(data)
    with pytest.raises(UnreadableClip, match=r"clip\.mp4"):
        probe_clip(path)
    with pytest.raises(UnreadableClip):
        compose([path], None, tmp_path / "out.mp4", SMALL)
    assert not (tmp_path / "out.mp4").exists()


def test_a_clip_that_ends_early_gives_what_is_in_it(tmp_path: Path) -> None:
    canvas = Canvas(160, 90, 24)
    with ClipWriter(tmp_path / "clip.mp4", canvas) as writer:
        for _ in range(48):
            writer.write(np.random.default_rng(writer.count).integers(0, 255, (90, 160, 4), dtype=np.uint8))
    compose([tmp_path / "clip.mp4"], None, tmp_path / "whole.mp4", canvas)
    whole = (tmp_path / "whole.mp4").read_bytes()
    (tmp_path / "half.mp4").write_bytes(whole[: len(whole) // 2])
    assert conform_clip(tmp_path / "half.mp4", tmp_path / "out.mp4", SMALL, 48) == 48
    assert len(decoded(tmp_path / "out.mp4")) == 48
    save_poster(tmp_path / "half.mp4", tmp_path / "poster.jpg")


def test_clips_of_the_same_size_and_of_another_making_are_told_apart(tmp_path: Path) -> None:
    ours, theirs = made_clip(tmp_path / "a.mp4", SMALL, 3), made_clip(tmp_path / "b.mp4", replace(SMALL, effort="medium"), 3)
    assert probe_clip(ours).header == header_of(SMALL, tmp_path) != b""
    assert probe_clip(theirs).header != probe_clip(ours).header


def test_trim_points_outside_of_the_clip_are_refused(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "in.mp4", SMALL, 12)
    with pytest.raises(UnreadableClip, match="between the trim points"):
        conform_clip(source, tmp_path / "out.mp4", SMALL, 12, start=3.0)


def test_storyboard_sheet_and_poster(tmp_path: Path, song: Song) -> None:
    orders = [ClipOrder(replace(SCENE, first=120), SMALL), ClipOrder(replace(OTHER, first=132), SMALL)]
    stills = draw_storyboard(orders, song, tmp_path)
    draw_sheet(stills, tmp_path / "sheet.png", columns=2, width=96)
    compose(
        [clip.path for clip in render_clips(orders, song, [tmp_path / "a.mp4", tmp_path / "b.mp4"], 0)], None, tmp_path / "out.mp4", SMALL
    )
    time = save_poster(tmp_path / "out.mp4", tmp_path / "poster.jpg")
    assert 0 <= time < 1
    assert (tmp_path / "poster.jpg").stat().st_size > 500
    assert (tmp_path / "sheet.png").stat().st_size > 500
