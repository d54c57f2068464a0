"""Master the song to the loudness of streaming services, without clipping."""

from __future__ import annotations

import numpy as np

from gateleg.apps.mv.listening.loudness import SILENCE, integrated_loudness, peak_envelope
from gateleg.apps.mv.listening.sound import Doubles, Floats, Sound

#: the loudness of streaming services, in LUFS
TARGET = -14.0
#: the loudness that encoding removes with the highest treble, in LU
_LOST = 0.2
#: the true peak before encoding, in dB; AAC raises peaks by one or two dB
CEILING = -2.4
#: the tolerance of the loudness in LU, and the number of attempts, because limiting makes a song quieter
_NEAR, _ROUNDS = 0.12, 8


class Mastering:
    """Masters a song to -14 LUFS. It measures once what stays the same between attempts."""

    def __init__(self, sound: Sound) -> None:
        self.sound = sound
        self.loudness = integrated_loudness(sound)
        self._peaks = peak_envelope(sound.samples) if self.loudness > SILENCE else None
        self._gain = 10 ** ((TARGET + _LOST - self.loudness) / 20)

    def limited_to(self, ceiling: float = CEILING) -> Sound:
        """The song at -14 LUFS with its true peak under a ceiling in dB. Silence stays silent."""
        if self._peaks is None:
            return self.sound
        for _ in range(_ROUNDS):
            made = Sound(_limited(self.sound.samples, self._peaks, self._gain, self.sound.rate, ceiling), self.sound.rate)
            away = TARGET + _LOST - integrated_loudness(made)
            if abs(away) < _NEAR:
                break
            self._gain *= 10 ** (away / 20)
        return made


def _limited(samples: Floats, peaks: Doubles, gain: float, rate: int, decibels: float) -> Floats:
    """Apply a gain and a look-ahead limiter that keeps true peaks under the ceiling, with a release of about 100 ms."""
    ceiling = 10 ** (decibels / 20)
    louder = samples * np.float32(gain)
    if float(peaks.max(initial=0.0)) * gain <= ceiling:
        return louder
    wanted = np.minimum(1.0, ceiling / np.maximum(peaks * gain, 1e-9))
    return np.asarray(louder * _smoothed(wanted, rate).astype(np.float32), dtype=np.float32)


def _smoothed(wanted: Doubles, rate: int) -> Doubles:
    """The lowest gain within 3 ms, with a slow release, computed in steps of half a millisecond."""
    step = max(rate // 2000, 1)
    pad = -len(wanted) % step
    coarse = np.pad(wanted, (0, pad), constant_values=1.0).reshape(-1, step).min(axis=1)
    reach = 6
    lowest = np.lib.stride_tricks.sliding_window_view(np.pad(coarse, reach, constant_values=1.0), 2 * reach + 1).min(axis=1)
    release = 1 - np.exp(-1 / 200)
    held = 1.0
    out = np.empty_like(lowest)
    for at, value in enumerate(lowest):
        held = min(float(value), held + (1.0 - held) * release)
        out[at] = held
    shape = np.hanning(2 * 3 + 3)[1:-1]
    soft = np.convolve(np.pad(out, 3, mode="edge"), shape / shape.sum(), mode="valid")
    return np.minimum(np.interp(np.arange(len(wanted)), np.arange(len(soft)) * step + step / 2, soft), 1.0)
