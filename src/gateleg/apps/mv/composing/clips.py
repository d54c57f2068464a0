"""Render clips: the frames of one scene, with its transition, texts and grading."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import skia

from gateleg.apps.mv.callbacks import check_cancelled, ignore_progress, never_cancelled
from gateleg.apps.mv.composing.encoding import Canvas, ClipWriter
from gateleg.apps.mv.composing.flashes import CALMER, Bytes, check_flashes, thumbnail
from gateleg.apps.mv.composing.grading import Finisher, blacken, darken, keep_from, pixels_of, planes_of, video_frame
from gateleg.apps.mv.composing.transitions import draw_transition
from gateleg.apps.mv.drawing.grade import steps_filter
from gateleg.apps.mv.drawing.lettering import TextPainter
from gateleg.apps.mv.drawing.scene import Painter, Scene, moment_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import av

    from gateleg.apps.mv.callbacks import Cancelling, Progress
    from gateleg.apps.mv.drawing.stage import Moment
    from gateleg.apps.mv.listening.song import Song
    from gateleg.apps.mv.planning.presets import Transition
    from gateleg.apps.mv.writing.lyrics import Line


@dataclass(frozen=True, slots=True)
class ClipOrder:
    """Everything needed to render a clip. Equal orders give equal frames."""

    scene: Scene
    canvas: Canvas
    #: the previous scene, visible for `overlap` frames
    before: Scene | None = None
    transition: Transition = "cut"
    overlap: int = 0
    #: title and artist, shown at the start of the video
    title: str = ""
    artist: str = ""
    lyrics: tuple[Line, ...] = ()
    #: the number of frames of the whole video, for the fade at its end
    total: int = 0
    #: how much of the previous frame is blended into each frame to soften flashes, 0 to 1
    calm: float = 0.0
    #: font files for characters that the built-in fonts lack
    fonts: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """A finished clip, with thumbnails for the flash check."""

    path: Path
    frames: int
    thumbnails: Bytes


#: the duration of the title, and of the fades at both ends of a video, in seconds
_TITLE, _FADE_IN, _FADE_OUT = 4.2, 0.4, 1.2


def render_clip(
    order: ClipOrder, song: Song, path: Path, progress: Progress = ignore_progress, cancelled: Cancelling = never_cancelled
) -> Clip:
    """Render a clip to a file, which appears under its name once it is complete."""
    unfinished = path.with_name(path.name + ".part")
    thumbnails = []
    try:
        with ClipWriter(unfinished, order.canvas) as writer:
            for number, frame in enumerate(frames_of(order, song)):
                check_cancelled(cancelled)
                writer.write_frame(frame)
                thumbnails.append(thumbnail(frame))
                progress((number + 1) / order.scene.frames, f"frame {number + 1} of {order.scene.frames}")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return Clip(path, len(thumbnails), np.array(thumbnails))


def render_safe_clip(
    order: ClipOrder, song: Song, path: Path, progress: Progress = ignore_progress, cancelled: Cancelling = never_cancelled
) -> Clip:
    """Render a clip, and again with more blending until it has no unsafe flashes."""
    clip = render_clip(order, song, path, progress, cancelled)
    for calm in CALMER:
        if check_flashes(clip.thumbnails, order.canvas.fps).safe:
            break
        clip = render_clip(replace(order, calm=calm), song, path, ignore_progress, cancelled)
    return clip


def render_still(order: ClipOrder, song: Song, share: float = 0.5) -> Any:
    """One frame of a clip as an RGB array, for storyboards and posters."""
    at = order.scene.first + min(int(order.scene.frames * share), order.scene.frames - 1)
    frame = next(_frames(order, song, at, at + 1))
    return np.ascontiguousarray(pixels_of(frame)[..., 2::-1])


def frames_of(order: ClipOrder, song: Song) -> Iterator[av.VideoFrame]:
    """The finished frames of a clip, in the encoder's format."""
    scene = order.scene
    return _frames(order, song, scene.first, scene.first + scene.frames)


def _frames(order: ClipOrder, song: Song, first: int, last: int) -> Iterator[av.VideoFrame]:
    canvas, scene = order.canvas, order.scene
    size = (canvas.width, canvas.height)
    painter = Painter(scene, song, *size, canvas.fps)
    overlapping = order.before is not None and order.overlap > 0 and first < scene.first + order.overlap
    old = Painter(order.before, song, *size, canvas.fps) if order.before is not None and overlapping else None
    finisher = Finisher(*size, scene.preset.grade)
    letterer = TextPainter(*size, scene.preset.typeface, scene.look.palette, order.fonts)
    drawn, pixels = _surface(canvas)
    steps = steps_filter(scene.preset.grade.poster)
    kept: tuple[Bytes, ...] | None = None
    for frame in range(first, last):
        since = frame - scene.first
        if old is not None and since < order.overlap:
            share = (since + 1) / (order.overlap + 1)
            draw_transition(drawn.getCanvas(), order.transition, share, *size, _drawing(old, frame), _drawing(painter, frame))
        else:
            painter.draw(drawn.getCanvas(), frame)
        if steps is not None:
            drawn.getCanvas().drawImage(drawn.makeImageSnapshot(), 0, 0, skia.SamplingOptions(), skia.Paint(ColorFilter=steps))
        moment = moment_at(song, scene, frame, canvas.fps)
        finished = finisher.finish(pixels, frame, 1 + 0.16 * scene.brightness + 0.03 * moment.beat * scene.motion)
        if order.calm and kept is not None:
            keep_from(finished, kept, order.calm)
        if order.calm:
            kept = tuple(plane.copy() for plane in planes_of(finished))
        yield _overlaid(finished, order, letterer, frame, moment, song)


def _surface(canvas: Canvas) -> tuple[Any, Bytes]:
    """A surface to draw on, and its BGRA pixels."""
    pixels = np.zeros((canvas.height, canvas.width, 4), dtype=np.uint8)
    return skia.Surface(pixels, skia.kBGRA_8888_ColorType, skia.kPremul_AlphaType), pixels


def _drawing(painter: Painter, frame: int) -> Any:
    return lambda canvas: painter.draw(canvas, frame)


def _overlaid(picture: av.VideoFrame, order: ClipOrder, letterer: TextPainter, frame: int, moment: Moment, song: Song) -> av.VideoFrame:
    """A frame with its overlays: letterbox, texts, and fades at the ends."""
    canvas, seconds = order.canvas, frame / order.canvas.fps
    bar = round(order.scene.preset.letterbox * canvas.height / 2) * 2 if canvas.width > canvas.height else 0
    if bar:
        blacken(picture, bar)
    titled = bool(order.title) and seconds < _TITLE
    lines = [line for line in order.lyrics if line.start <= seconds < line.end]
    if titled or lines:
        pixels = pixels_of(picture)
        surface = skia.Surface(pixels, skia.kBGRA_8888_ColorType, skia.kPremul_AlphaType)
        if titled:
            letterer.draw_title(surface.getCanvas(), order.title, order.artist, seconds, _TITLE, moment)
        for line in lines:
            letterer.draw_line(surface.getCanvas(), line, seconds, moment, song.beats)
        picture = video_frame(pixels)
    dark = max(1 - seconds / _FADE_IN, 1 - (order.total / canvas.fps - seconds) / _FADE_OUT if order.total else 0.0)
    if dark > 0:
        darken(picture, dark)
    return picture
