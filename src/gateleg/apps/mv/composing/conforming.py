"""Conform uploaded, generated or trimmed clips to the size, frame rate and encoder settings of a video."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import av
import numpy as np

from gateleg.apps.mv.callbacks import check_cancelled, ignore_progress, never_cancelled
from gateleg.apps.mv.composing.encoding import Canvas, ClipWriter
from gateleg.apps.mv.errors import UnreadableClip, reason_of
from gateleg.apps.mv.media_files import decode_pictures, open_media

if TYPE_CHECKING:
    from pathlib import Path

    from gateleg.apps.mv.callbacks import Cancelling, Progress


@dataclass(frozen=True, slots=True)
class ClipFacts:
    """The properties of a video file."""

    width: int
    height: int
    fps: float
    seconds: float
    codec: str
    #: the codec's extradata; clips with equal extradata can be joined without re-encoding
    header: bytes = b""


def probe_clip(path: Path) -> ClipFacts:
    """Probe a video file, and decode its first frame as a check. Raises `UnreadableClip`."""
    try:
        with open_media(path) as container:
            if not container.streams.video:
                raise UnreadableClip(f"{path.name} has no video track.")
            stream = container.streams.video[0]
            first = next(decode_pictures(container), None)
            if first is None:
                raise UnreadableClip(f"{path.name} has no frame that can be decoded.")
            length = (
                stream.duration * stream.time_base if stream.duration and stream.time_base else (container.duration or 0) / av.time_base
            )
            rate = float(stream.average_rate or 24)
            codec = stream.codec_context
            return ClipFacts(first.width, first.height, rate, float(length), codec.name, bytes(codec.extradata or b""))
    except (av.FFmpegError, OSError) as error:
        raise UnreadableClip(f"{path.name} cannot be decoded: {reason_of(error)}.") from error


def header_of(canvas: Canvas, folder: Path) -> bytes:
    """The extradata that this encoder writes for a canvas, determined by writing a clip."""
    path = folder / "header.mp4"
    with ClipWriter(path, canvas) as writer:
        writer.write(np.zeros((canvas.height, canvas.width, 4), dtype=np.uint8))
    return probe_clip(path).header


def fit_clip(
    source: Path,
    out: Path,
    canvas: Canvas,
    frames: int,
    part: tuple[float, float] | None,
    header: bytes,
    cancelled: Cancelling = never_cancelled,
) -> Path:
    """A part of a clip (or all of it) as a film plays it. The file itself if it fits and has this encoder's `header`, else `out`."""
    facts = probe_clip(source)
    # A clip from another encoder may have the same size and rate, but other stream parameters.
    same = facts.header == header and round(facts.fps, 2) == float(canvas.fps)
    if same and part is None and abs(facts.seconds * canvas.fps - frames) <= 0.5:
        return source
    start, end = part or (0.0, None)
    conform_clip(source, out, canvas, frames, start, end, cancelled=cancelled)
    return out


def conform_clip(
    source: Path,
    out: Path,
    canvas: Canvas,
    frames: int,
    start: float = 0.0,
    end: float | None = None,
    progress: Progress = ignore_progress,
    cancelled: Cancelling = never_cancelled,
) -> int:
    """Write `frames` frames of a clip, from `start` to `end` seconds, for a canvas. Returns the number of frames written.

    Another aspect ratio is cropped to the middle. A part that is too short is slowed down, at most to half speed; then its last frame is
    held. The source is not changed, so a trim can be undone by another call. Raises `UnreadableClip` or `Cancelled`.
    """
    facts = probe_clip(source)
    stop = min(end if end is not None else facts.seconds, facts.seconds) or facts.seconds
    length = max(stop - start, 1 / canvas.fps)
    wanted = frames / canvas.fps
    speed = 1.0 if length >= wanted else max(length / wanted, 0.5)
    unfinished = out.with_name(out.name + ".part")
    try:
        with open_media(source) as container, ClipWriter(unfinished, canvas) as writer:
            if start > 0:
                container.seek(int(start * av.time_base))
            _write(container, writer, canvas, frames, start, stop, speed, progress, cancelled)
        unfinished.replace(out)
    except (av.FFmpegError, OSError) as error:
        raise UnreadableClip(f"{source.name} cannot be decoded: {reason_of(error)}.") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return writer.count


def _write(
    container: Any,
    writer: ClipWriter,
    canvas: Canvas,
    frames: int,
    start: float,
    stop: float,
    speed: float,
    progress: Progress,
    cancelled: Cancelling,
) -> None:
    """Write each output frame from the source frame at its time."""
    shown: Any = None
    for frame in decode_pictures(container):
        time = frame.time or 0.0
        if time < start - 1e-6:
            continue
        if time >= stop - 1e-6 or writer.count >= frames:
            break
        check_cancelled(cancelled)
        while shown is not None and writer.count < frames and start + writer.count * speed / canvas.fps < time - 1e-6:
            writer.write_frame(shown)
        shown = _cropped(frame, canvas)
        progress(writer.count / frames, f"frame {writer.count} of {frames}")
    if shown is None:
        raise UnreadableClip("The clip has no frame between the trim points.", fix="Choose trim points within the clip.")
    while writer.count < frames:
        writer.write_frame(shown)


def _cropped(frame: Any, canvas: Canvas) -> Any:
    """The middle of a frame, cropped and scaled to the canvas."""
    shape = canvas.width / canvas.height
    if abs(frame.width / frame.height - shape) < 0.01:
        return frame.reformat(canvas.width, canvas.height, "yuv420p", threads=1)
    height = max(canvas.height, round(canvas.width * frame.height / frame.width))
    width = max(canvas.width, round(canvas.height * frame.width / frame.height))
    pixels = frame.reformat(width + width % 2, height + height % 2, "rgb24", threads=1).to_ndarray()
    top, left = (pixels.shape[0] - canvas.height) // 2, (pixels.shape[1] - canvas.width) // 2
    return av.VideoFrame.from_ndarray(pixels[top : top + canvas.height, left : left + canvas.width].copy(), format="rgb24")
