"""The soundtrack of a video: the song cut to length, mastered, and encoded once."""

from __future__ import annotations

import io
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import av
import numpy as np

from gateleg.apps.mv.composing.mastering import CEILING, Mastering
from gateleg.apps.mv.listening.loudness import true_peak
from gateleg.apps.mv.listening.sound import Sound, read_sound

if TYPE_CHECKING:
    from pathlib import Path

    from gateleg.apps.mv.callbacks import Cancelling
    from gateleg.apps.mv.listening.sound import Floats

_RATE = 48_000
#: samples in an AAC frame
_FRAME = 1024
#: the highest true peak of a finished video, in dB
_PEAK = -1.05
#: a song that is shorter than its video by more than this, in seconds, is repeated; less is the rounding of scenes to frames
ENDS_EARLY = 0.1
#: how many times a song is mastered again, lower, because AAC raised its peaks; one or two attempts usually suffice
_ATTEMPTS = 5


def make_soundtrack(song: Path, seconds: Fraction, cancelled: Cancelling) -> bytes:
    """Return an MP4 file with only the song: as long as the video, at -14 LUFS, with its true peak under -1 dB.

    A song that is shorter than the video is repeated.

    Encoding raises peaks, so they are measured after encoding. If they are too high, the song is mastered again, lower. The packets of the
    accepted attempt are copied into the video.
    """
    song_as_heard = looped(read_sound(song, _RATE, 2, cancelled=cancelled), int(seconds * _RATE))
    mastering = Mastering(song_as_heard)
    ceiling = CEILING
    for _ in range(_ATTEMPTS):
        encoded = _encode(mastering.limited_to(ceiling), int(seconds * _RATE))
        excess = true_peak(_decode(encoded)) - _PEAK
        if excess < 0:
            break
        ceiling -= excess + 0.3
    return encoded


def looped(sound: Sound, length: int) -> Sound:
    """A song with `length` samples: cut with a short fade, or repeated with a crossfade at each joint."""
    samples, have = sound.samples, sound.samples.shape[1]
    fade = min(sound.rate // 20, length, max(have // 4, 1))
    falling = np.linspace(1.0, 0.0, fade, dtype=np.float32)
    if 0 < have < length - sound.rate * ENDS_EARLY:
        while samples.shape[1] < length:
            joint = samples[:, -fade:] * falling + sound.samples[:, :fade] * falling[::-1]
            samples = np.concatenate((samples[:, :-fade], joint, sound.samples[:, fade:]), axis=1)
    if samples.shape[1] <= length:
        return Sound(samples, sound.rate)
    samples = samples[:, :length].copy()
    samples[:, length - fade :] *= falling
    return Sound(samples, sound.rate)


def part_of(song: Sound, start: float, seconds: float) -> Sound:
    """A part of the song as a video plays it: beyond its end, the song is repeated."""
    first, last = round(start * song.rate), round((start + seconds) * song.rate)
    whole = song if last <= song.samples.shape[1] else looped(song, last)
    return Sound(whole.samples[:, first:last], song.rate)


def _encode(sound: Sound, length: int) -> bytes:
    """Encode a song as AAC in MP4, padded with silence."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4") as target:
        # The encoder's default coder is for low bit rates: it takes three times as long and raises peaks by up to 3 dB.
        stream: Any = target.add_stream("aac", rate=_RATE, layout="stereo", options={"aac_coder": "fast"})
        stream.bit_rate = 192_000
        for start in range(0, length, _FRAME):
            block = np.zeros((2, min(_FRAME, length - start)), dtype=np.float32)
            part = sound.samples[:, start : start + block.shape[1]]
            block[:, : part.shape[1]] = part
            frame = av.AudioFrame.from_ndarray(block, format="fltp", layout="stereo")
            frame.sample_rate, frame.pts, frame.time_base = _RATE, start, Fraction(1, _RATE)
            target.mux(stream.encode(frame))
        target.mux(stream.encode(None))
    return buffer.getvalue()


def _decode(encoded: bytes) -> Floats:
    with av.open(io.BytesIO(encoded), "r") as source:
        return np.concatenate([frame.to_ndarray() for frame in source.decode(audio=0)], axis=1).astype(np.float32)
