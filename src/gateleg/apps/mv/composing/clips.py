"""Rendering a clip: the frames of one scene, with its transition, its texts and its finish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import skia

from gateleg.apps.mv.composing.encoding import Canvas, ClipWriter
from gateleg.apps.mv.composing.flashes import Bytes, thumbnail
from gateleg.apps.mv.composing.transitions import draw_transition
from gateleg.apps.mv.drawing.grade import Finisher
from gateleg.apps.mv.drawing.lettering import Letterer
from gateleg.apps.mv.drawing.scene import Painter, Scene, moment_at
from gateleg.apps.mv.drawing.stage import paint
from gateleg.apps.mv.reports import never, quietly, stop_if

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gateleg.apps.mv.drawing.stage import Moment
    from gateleg.apps.mv.listening.song import Song
    from gateleg.apps.mv.planning.presets import Transition
    from gateleg.apps.mv.reports import Cancelling, Progress
    from gateleg.apps.mv.writing.lyrics import Line


@dataclass(frozen=True, slots=True)
class ClipOrder:
    """All that a clip is made from. Two equal orders give equal frames."""

    scene: Scene
    canvas: Canvas
    #: the scene before, which is still seen for `overlap` frames
    before: Scene | None = None
    transition: Transition = "cut"
    overlap: int = 0
    #: shown at the start of the video
    title: str = ""
    artist: str = ""
    lyrics: tuple[Line, ...] = ()
    #: frames in the whole video, for the fade at its end
    total: int = 0
    #: 0 to 1: how much of the frame before is kept in each frame, to take the edge off flashes
    calm: float = 0.0
    #: font files for characters that the application's fonts lack
    fonts: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """A finished clip, and what the flash check needs of it."""

    path: Path
    frames: int
    thumbnails: Bytes


#: seconds that the title is seen, and of the fades at the ends of a video
_TITLE, _FADE_IN, _FADE_OUT = 4.2, 0.4, 1.2


def render_clip(order: ClipOrder, song: Song, path: Path, progress: Progress = quietly, cancelled: Cancelling = never) -> Clip:
    """Render a clip to a file. The file appears under its name when it is finished."""
    unfinished = path.with_name(path.name + ".part")
    thumbnails = []
    try:
        with ClipWriter(unfinished, order.canvas) as writer:
            for number, pixels in enumerate(frames_of(order, song)):
                stop_if(cancelled)
                writer.write(pixels)
                thumbnails.append(thumbnail(pixels))
                progress((number + 1) / order.scene.frames, f"frame {number + 1} of {order.scene.frames}")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return Clip(path, len(thumbnails), np.array(thumbnails))


def render_still(order: ClipOrder, song: Song, share: float = 0.5) -> Any:
    """One frame of a clip as an array of red, green, blue: for storyboards and posters."""
    at = order.scene.first + min(int(order.scene.frames * share), order.scene.frames - 1)
    pixels = next(_frames(order, song, at, at + 1))
    return np.ascontiguousarray(pixels[..., 2::-1])


def frames_of(order: ClipOrder, song: Song) -> Iterator[Bytes]:
    """The finished frames of a clip; each array is reused for the next frame."""
    scene = order.scene
    return _frames(order, song, scene.first, scene.first + scene.frames)


def _frames(order: ClipOrder, song: Song, first: int, last: int) -> Iterator[Bytes]:
    canvas, scene = order.canvas, order.scene
    size = (canvas.width, canvas.height)
    painter = Painter(scene, song, *size, canvas.fps)
    overlapping = order.before is not None and order.overlap > 0 and first < scene.first + order.overlap
    old = Painter(order.before, song, *size, canvas.fps) if order.before is not None and overlapping else None
    finisher = Finisher(*size, scene.preset.grade)
    letterer = Letterer(*size, scene.preset.typeface, scene.look.palette, order.fonts)
    pixels = np.zeros((canvas.height, canvas.width, 4), dtype=np.uint8)
    raw, target = skia.Surface(*size), skia.Surface(pixels, skia.kBGRA_8888_ColorType)
    kept: Any = None
    for frame in range(first, last):
        since = frame - scene.first
        if old is not None and since < order.overlap:
            share = (since + 1) / (order.overlap + 1)
            draw_transition(raw.getCanvas(), order.transition, share, *size, _drawing(old, frame), _drawing(painter, frame))
        else:
            painter.draw(raw.getCanvas(), frame)
        moment = moment_at(song, scene, frame, canvas.fps)
        image = raw.makeImageSnapshot()
        finisher.finish(image, target.getCanvas(), frame, 1 + 0.16 * scene.brightness + 0.03 * moment.beat * scene.motion)
        if order.calm and kept is not None:
            target.getCanvas().drawImage(kept, 0, 0, skia.SamplingOptions(), skia.Paint(Alphaf=order.calm))
        if order.calm:
            kept = target.makeImageSnapshot()
        _overlay(target.getCanvas(), order, letterer, frame, moment, song)
        yield pixels


def _drawing(painter: Painter, frame: int) -> Any:
    return lambda canvas: painter.draw(canvas, frame)


def _overlay(canvas: Any, order: ClipOrder, letterer: Letterer, frame: int, moment: Moment, song: Song) -> None:
    """What lies above the picture: bars, texts, and the fades at the ends."""
    width, height, fps = order.canvas.width, order.canvas.height, order.canvas.fps
    bar = order.scene.preset.letterbox * height if width > height else 0.0
    black = paint((0.0, 0.0, 0.0))
    if bar:
        canvas.drawRect(skia.Rect.MakeWH(width, bar), black)
        canvas.drawRect(skia.Rect.MakeXYWH(0, height - bar, width, bar), black)
    seconds = frame / fps
    if order.title and seconds < _TITLE:
        letterer.draw_title(canvas, order.title, order.artist, seconds, _TITLE, moment)
    for line in order.lyrics:
        if line.start <= seconds < line.end:
            letterer.draw_line(canvas, line, seconds, moment, song.beats)
    dark = max(1 - seconds / _FADE_IN, 1 - (order.total / fps - seconds) / _FADE_OUT if order.total else 0.0)
    if dark > 0:
        canvas.drawRect(skia.Rect.MakeWH(width, height), paint((0.0, 0.0, 0.0), min(dark, 1.0)))
