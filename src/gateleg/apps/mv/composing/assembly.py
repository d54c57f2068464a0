"""Assemble a video: join clips, without re-encoding them, with the mastered song."""

from __future__ import annotations

import io
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import av

from gateleg.apps.mv.callbacks import check_cancelled, ignore_progress, never_cancelled
from gateleg.apps.mv.composing.encoding import TICKS, Canvas
from gateleg.apps.mv.composing.soundtrack import make_soundtrack
from gateleg.apps.mv.errors import UnreadableClip, reason_of
from gateleg.apps.mv.media_files import open_media

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gateleg.apps.mv.callbacks import Cancelling, Progress


@dataclass(frozen=True, slots=True)
class Credits:
    """The metadata of a video file."""

    title: str = ""
    artist: str = ""
    #: how the video was made
    comment: str = "Made by Gateleg's studio. The pictures are procedural: drawn by a program from the song and a text, not filmed."


def compose(
    clips: Sequence[Path],
    song: Path | bytes | None,
    out: Path,
    canvas: Canvas,
    credits: Credits | None = None,
    progress: Progress = ignore_progress,
    cancelled: Cancelling = never_cancelled,
) -> float:
    """Join clips and a song into an MP4 that can play while it loads (fast start), and return its length in seconds.

    The clips must have been encoded for the canvas (`render_clip`, `conform_clip`), because their packets are copied. A song (`Path`) is
    cut to the length of the clips and mastered to -14 LUFS. A soundtrack from `make_soundtrack` (`bytes`) is copied. The file appears under
    its name once it is complete. Raises `UnreadableClip`, `UnreadableSong` or `Cancelled`.
    """
    unfinished = out.with_name(out.name + ".part")
    try:
        progress(0.0, "mastering the song")
        soundtrack = song if song is None or isinstance(song, bytes) else make_soundtrack(song, length_of(clips, canvas), cancelled)
        with av.open(str(unfinished), "w", format="mp4", options={"movflags": "+faststart+use_metadata_tags"}) as target:
            _credit(target, credits or Credits())
            frames = _join(clips, target, canvas, soundtrack, progress, cancelled)
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)
    progress(1.0, "composed")
    return frames / canvas.fps


def length_of(clips: Sequence[Path], canvas: Canvas) -> Fraction:
    """The total length of clips in seconds, which their soundtrack must have."""
    count = 0
    for path in clips:
        with _opened(path) as source:
            count += sum(1 for packet in source.demux(source.streams.video[0]) if packet.size)
    return Fraction(count, canvas.fps)


def _credit(target: Any, credits: Credits) -> None:
    target.metadata.update(
        {key: value for key, value in (("title", credits.title), ("artist", credits.artist), ("comment", credits.comment)) if value}
    )
    target.metadata["synopsis"] = "procedural"


def _join(clips: Sequence[Path], target: Any, canvas: Canvas, soundtrack: bytes | None, progress: Progress, cancelled: Cancelling) -> int:
    video: Any = None
    sound: _Sound | None = None
    frames = 0
    step = Fraction(TICKS, canvas.fps)
    for number, path in enumerate(clips):
        check_cancelled(cancelled)
        with _opened(path) as source:
            stream = source.streams.video[0]
            if video is None:
                video = target.add_stream_from_template(stream)
                video.time_base = Fraction(1, TICKS)
                sound = _Sound(soundtrack, target) if soundtrack is not None else None
            start = frames
            for packet in source.demux(stream):
                if packet.size == 0 or packet.pts is None:
                    continue
                at = round(float(packet.pts * packet.time_base) * canvas.fps)
                packet.stream = video
                packet.time_base = Fraction(1, TICKS)
                packet.pts = packet.dts = int((start + at) * step)
                packet.duration = int(step)
                target.mux(packet)
                frames = max(frames, start + at + 1)
        if sound is not None:
            sound.copy(target, Fraction(frames, canvas.fps) if number < len(clips) - 1 else None)
        progress(0.2 + 0.8 * (number + 1) / len(clips), f"joining clip {number + 1} of {len(clips)}")
    return frames


def _opened(path: Path) -> Any:
    try:
        container = open_media(path)
    except (av.FFmpegError, OSError) as error:
        raise UnreadableClip(f"{path.name} cannot be opened: {reason_of(error)}.") from error
    if not container.streams.video:
        container.close()
        raise UnreadableClip(f"{path.name} has no video track.")
    return container


class _Sound:
    """Copies the packets of a soundtrack, interleaved with the video packets."""

    def __init__(self, soundtrack: bytes, target: Any) -> None:
        self._source = av.open(io.BytesIO(soundtrack), "r")
        stream = self._source.streams.audio[0]
        self._stream = target.add_stream_from_template(stream)
        self._packets: Iterator[Any] = (packet for packet in self._source.demux(stream) if packet.size)
        self._next = next(self._packets, None)

    def copy(self, target: Any, until: Fraction | None) -> None:
        """Copy the packets before a time in seconds, or all remaining ones."""
        while (packet := self._next) is not None and (until is None or packet.pts * packet.time_base < until):
            packet.stream = self._stream
            target.mux(packet)
            self._next = next(self._packets, None)
        if until is None:
            self._source.close()
