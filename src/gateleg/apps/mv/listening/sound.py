"""Decode a song from any audio or video file that ffmpeg reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import av
import numpy as np
import numpy.typing as npt

from gateleg.apps.mv.callbacks import check_cancelled, never_cancelled
from gateleg.apps.mv.errors import SongTooLong, UnreadableSong, reason_of
from gateleg.apps.mv.media_files import open_media

if TYPE_CHECKING:
    from pathlib import Path

    from gateleg.apps.mv.callbacks import Cancelling

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

#: the default maximum length of a song, in seconds
MAX_SECONDS = 15 * 60.0


@dataclass(frozen=True, slots=True, eq=False)
class Sound:
    """Samples between -1 and 1, one row for each channel."""

    samples: Floats
    rate: int

    @property
    def duration(self) -> float:
        """The length in seconds."""
        return float(self.samples.shape[1]) / self.rate

    def mono(self) -> Floats:
        """The mean of the channels."""
        return np.asarray(self.samples.mean(axis=0), dtype=np.float32)


def read_sound(
    path: Path, rate: int = 48_000, channels: int = 2, longest: float = MAX_SECONDS, cancelled: Cancelling = never_cancelled
) -> Sound:
    """Decode the first audio track of a file, resampled to a rate and to one or two channels.

    A truncated file yields the part that can be decoded. Raises `SongTooLong` as soon as more than `longest` seconds are decoded, whatever
    the file's header says, `UnreadableSong` if nothing can be decoded, and `Cancelled`.
    """
    parts: list[Floats] = []
    count = 0
    try:
        with open_media(path) as container:
            if not container.streams.audio:
                raise UnreadableSong(f"{path.name} has no audio track.")
            resampler = av.AudioResampler(format="fltp", layout="stereo" if channels == 2 else "mono", rate=rate)
            for frame in _frames(container):
                check_cancelled(cancelled)
                for resampled in resampler.resample(frame):
                    parts.append(np.asarray(resampled.to_ndarray(), dtype=np.float32))
                    count += parts[-1].shape[1]
                if count > longest * rate:
                    raise SongTooLong(f"{path.name} is longer than the limit of {longest:.0f} s.")
            parts.extend(np.asarray(resampled.to_ndarray(), dtype=np.float32) for resampled in resampler.resample(None))
    except (av.FFmpegError, OSError) as error:
        raise UnreadableSong(f"{path.name} cannot be decoded: {reason_of(error)}.") from error
    if not parts:
        raise UnreadableSong(f"{path.name} has an audio track without samples.")
    samples = np.nan_to_num(np.concatenate(parts, axis=1), nan=0.0, posinf=1.0, neginf=-1.0)
    return Sound(np.ascontiguousarray(samples, dtype=np.float32), rate)


def _frames(container: Any) -> Any:
    """The frames of the first audio track, without damaged packets."""
    for packet in container.demux(container.streams.audio[0]):
        try:
            yield from packet.decode()
        except av.InvalidDataError:
            continue


def write_wave(sound: Sound, path: Path) -> None:
    """Write samples as a 16-bit WAV file."""
    import wave

    data = (np.clip(sound.samples.T, -1.0, 1.0) * 32767.0).round().astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(sound.samples.shape[0])
        file.setsampwidth(2)
        file.setframerate(sound.rate)
        file.writeframes(data.tobytes())
