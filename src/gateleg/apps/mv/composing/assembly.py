"""Putting a video together: clips joined without encoding them again, with the mastered song."""

from __future__ import annotations

import io
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import av
import numpy as np

from gateleg.apps.mv.composing.encoding import TICKS, Canvas
from gateleg.apps.mv.composing.mastering import CEILING, master
from gateleg.apps.mv.errors import UnreadableClip, reason_of
from gateleg.apps.mv.listening.loudness import true_peak
from gateleg.apps.mv.listening.sound import Sound, read_sound
from gateleg.apps.mv.media_files import open_media
from gateleg.apps.mv.reports import never, quietly, stop_if

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gateleg.apps.mv.reports import Cancelling, Progress

_RATE = 48_000
#: the highest true peak of a finished video, in dB
_PEAK = -1.05


@dataclass(frozen=True, slots=True)
class Credits:
    """What the file says about itself."""

    title: str = ""
    artist: str = ""
    #: how the pictures came about
    comment: str = "Made by Gateleg's studio. The pictures are procedural: drawn by a program from the song and a text, not filmed."


def compose(
    clips: Sequence[Path],
    song: Path | None,
    out: Path,
    canvas: Canvas,
    credits: Credits | None = None,
    progress: Progress = quietly,
    cancelled: Cancelling = never,
) -> float:
    """Join clips and a song into an MP4 that starts playing before it is loaded; returns its length in seconds.

    The clips must have been written for the canvas (`render_clip`, `conform_clip`): their packets are copied. The song is cut to the
    length of the pictures and mastered to -14 LUFS. The file appears under its name when it is finished.
    """
    unfinished = out.with_name(out.name + ".part")
    try:
        progress(0.0, "mastering the song")
        length = sum(_count(path) for path in clips) * _RATE // canvas.fps
        sound = _mastered(_cut(read_sound(song, _RATE, 2, cancelled=cancelled), length)) if song is not None else None
        with av.open(str(unfinished), "w", format="mp4", options={"movflags": "+faststart+use_metadata_tags"}) as target:
            _credit(target, credits or Credits())
            frames = _join(clips, target, canvas, sound, progress, cancelled)
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)
    progress(1.0, "composed")
    return frames / canvas.fps


def _count(path: Path) -> int:
    with _opened(path) as source:
        return sum(1 for packet in source.demux(source.streams.video[0]) if packet.size)


def _cut(sound: Sound, length: int) -> Sound:
    """What is heard of a song: as long as the pictures, with a short fade where it is cut."""
    if sound.samples.shape[1] <= length:
        return sound
    samples = sound.samples[:, :length].copy()
    fade = min(_RATE // 20, length)
    samples[:, length - fade :] *= np.linspace(1.0, 0.0, fade, dtype=np.float32)
    return Sound(samples, sound.rate)


def _mastered(sound: Sound) -> Sound:
    """The song mastered so that its true peak is under -1 dB after AAC, too: encoding moves peaks, so what it makes of them is measured."""
    ceiling = CEILING
    for _ in range(3):
        made = master(sound, ceiling)
        excess = true_peak(_encoded(made).samples) - _PEAK
        if excess < 0:
            break
        ceiling -= excess + 0.2
    return made


def _encoded(sound: Sound) -> Sound:
    """The song as it comes back from AAC."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4") as target:
        _send(target, _add_audio(target), sound, 0, sound.samples.shape[1], last=True)
    buffer.seek(0)
    with av.open(buffer, "r") as source:
        parts = [frame.to_ndarray() for frame in source.decode(audio=0)]
    return Sound(np.concatenate(parts, axis=1).astype(np.float32), sound.rate)


def _credit(target: Any, credits: Credits) -> None:
    target.metadata.update(
        {key: value for key, value in (("title", credits.title), ("artist", credits.artist), ("comment", credits.comment)) if value}
    )
    target.metadata["synopsis"] = "procedural"


def _join(clips: Sequence[Path], target: Any, canvas: Canvas, sound: Sound | None, progress: Progress, cancelled: Cancelling) -> int:
    video: Any = None
    audio: Any = None
    frames, sent = 0, 0
    step = Fraction(TICKS, canvas.fps)
    for number, path in enumerate(clips):
        stop_if(cancelled)
        with _opened(path) as source:
            stream = source.streams.video[0]
            if video is None:
                video = target.add_stream_from_template(stream)
                video.time_base = Fraction(1, TICKS)
                audio = _add_audio(target) if sound is not None else None
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
            sent = _send(target, audio, sound, sent, frames * _RATE // canvas.fps, last=number == len(clips) - 1)
        progress(0.2 + 0.8 * (number + 1) / len(clips), f"joining clip {number + 1} of {len(clips)}")
    return frames


def _opened(path: Path) -> Any:
    try:
        container = open_media(path)
    except (av.FFmpegError, OSError) as error:
        raise UnreadableClip(f"{path.name} cannot be opened: {reason_of(error)}.") from error
    if not container.streams.video:
        container.close()
        raise UnreadableClip(f"{path.name} has no pictures.")
    return container


def _add_audio(target: Any) -> Any:
    stream = target.add_stream("aac", rate=_RATE, layout="stereo")
    stream.bit_rate = 192_000
    return stream


def _send(target: Any, audio: Any, sound: Sound, sent: int, until: int, last: bool) -> int:
    """Encode the song up to a sample; what is missing at its end is silence."""
    size = 1024
    while sent < until and (last or sent + size <= until):
        count = min(size, until - sent)
        block = np.zeros((2, count), dtype=np.float32)
        part = sound.samples[:, sent : sent + count]
        block[:, : part.shape[1]] = part
        frame = av.AudioFrame.from_ndarray(block, format="fltp", layout="stereo")
        frame.sample_rate, frame.pts, frame.time_base = _RATE, sent, Fraction(1, _RATE)
        target.mux(audio.encode(frame))
        sent += count
    if last:
        target.mux(audio.encode(None))
    return sent
