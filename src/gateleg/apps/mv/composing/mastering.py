"""The song as it is heard in the video: as loud as streaming services want it, and never clipping."""

from __future__ import annotations

import numpy as np

from gateleg.apps.mv.listening.loudness import SILENCE, integrated_loudness, measure, peak_envelope
from gateleg.apps.mv.listening.sound import Doubles, Floats, Sound

#: what services play at, in LUFS
TARGET = -14.0
#: the true peak before encoding, in dB
CEILING = -1.8
#: within this distance of the target, and with a true peak under -1 dB, a song is left as it is
TOLERANCE = 0.5


def needs_mastering(sound: Sound) -> bool:
    """Whether a song is too loud, too quiet, or has peaks that would clip."""
    heard = measure(sound)
    return abs(heard.integrated - TARGET) > TOLERANCE or heard.true_peak > -1.0


def master(sound: Sound, ceiling: float = CEILING) -> Sound:
    """The song at -14 LUFS with its true peak under a ceiling in dB. Silence stays silent."""
    loudness = integrated_loudness(sound)
    if loudness <= SILENCE:
        return sound
    samples = sound.samples
    gain = 10 ** ((TARGET - loudness) / 20)
    for _ in range(3):
        limited = _limited(samples * np.float32(gain), sound.rate, ceiling)
        away = TARGET - integrated_loudness(Sound(limited, sound.rate))
        if abs(away) < 0.15:
            break
        gain *= 10 ** (away / 20)
    return Sound(limited, sound.rate)


def _limited(samples: Floats, rate: int, decibels: float) -> Floats:
    """Samples whose true peaks stay under the ceiling: turned down ahead of each peak, and back up in about 100 ms."""
    ceiling = 10 ** (decibels / 20)
    peaks = peak_envelope(samples)
    if float(peaks.max(initial=0.0)) <= ceiling:
        return samples
    wanted = np.minimum(1.0, ceiling / np.maximum(peaks, 1e-9))
    gains = _smoothed(wanted, rate)
    return np.asarray(samples * gains.astype(np.float32), dtype=np.float32)


def _smoothed(wanted: Doubles, rate: int) -> Doubles:
    """The lowest gain within 3 ms, released slowly, computed on steps of half a millisecond."""
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
