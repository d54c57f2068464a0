"""Spectral features over time: loudness of frequency bands, onsets, and chroma."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gateleg.apps.mv.listening.sound import Doubles, Floats

#: Analysis works on mono samples at this rate ...
RATE = 22_050
#: ... in windows of this many samples ...
WINDOW = 1024
#: ... at this hop in samples: 86 times a second.
HOP = 256
#: analysis frames per second
FRAMES = RATE / HOP

_EDGES = np.geomspace(30.0, 10_500.0, 33)
_SILENT = 1e-4
#: in Hz: bands below the first edge hold kick drums and bass, bands above the second one cymbals
_LOW, _HIGH = 160.0, 4_500.0


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """Features of each analysis frame; the arrays have one row or value per frame."""

    #: log loudness of 32 bands
    bands: Floats
    #: the strength of each pitch class, C first
    chroma: Floats
    #: onset strength, in all bands and in the low, middle and high ones; not negative
    onsets: Doubles
    low: Doubles
    mid: Doubles
    high: Doubles
    #: drums: onset strength of the low bands on a linear scale, in which cymbals leak little
    drums: Doubles
    #: root mean square
    level: Doubles

    @property
    def times(self) -> Doubles:
        """The time of each frame in seconds."""
        return np.arange(len(self.onsets)) / FRAMES


def _magnitudes(samples: Floats, window: int) -> Floats:
    """Magnitude spectra, one row per hop; frame i is centred on sample i * HOP."""
    padded = np.pad(samples, (window // 2, window // 2 + HOP))
    count = len(samples) // HOP + 1
    shape = np.hanning(window).astype(np.float32)
    view = np.lib.stride_tricks.sliding_window_view(padded, window)[::HOP][:count]
    rows = [np.abs(np.fft.rfft(view[at : at + 512] * shape, axis=1)).astype(np.float32) for at in range(0, count, 512)]
    return np.concatenate(rows) / (window / 4)


def _band_matrix() -> Floats:
    centres = np.fft.rfftfreq(WINDOW, 1 / RATE)
    matrix = np.zeros((len(centres), len(_EDGES) - 1), dtype=np.float32)
    for band, (start, end) in enumerate(itertools.pairwise(_EDGES)):
        inside = (centres >= start) & (centres < end)
        if not inside.any():
            inside[np.argmin(np.abs(centres - (start + end) / 2))] = True
        matrix[inside, band] = 1.0 / inside.sum()
    return matrix


def _chroma(samples: Floats) -> Floats:
    """Chroma from a longer window, which separates low notes; every 16th frame is computed, the others repeat it."""
    window, step = 8192, 16
    padded = np.pad(samples, (window // 2, window // 2 + HOP * step))
    count = len(samples) // HOP + 1
    shape = np.hanning(window).astype(np.float32)
    view = np.lib.stride_tricks.sliding_window_view(padded, window)[:: HOP * step][: count // step + 1]
    frequencies = np.fft.rfftfreq(window, 1 / RATE)
    heard = (frequencies > 60) & (frequencies < 2_200)
    classes = (np.round(12 * np.log2(frequencies[heard] / 440.0)).astype(int) + 9) % 12
    folded = np.zeros((int(heard.sum()), 12), dtype=np.float32)
    folded[np.arange(len(classes)), classes] = 1.0
    rows = [np.sqrt(np.abs(np.fft.rfft(view[at : at + 64] * shape, axis=1))[:, heard]) @ folded for at in range(0, len(view), 64)]
    chroma = np.concatenate(rows)
    chroma /= np.maximum(chroma.max(axis=1, keepdims=True), 1e-3)
    return np.asarray(np.repeat(chroma, step, axis=0)[:count], dtype=np.float32)


def _rises(log: Floats) -> Floats:
    """The rise of each band over two frames, beyond the maximum of its neighbours in the earlier frame."""
    rise = np.zeros_like(log)
    rise[2:] = np.maximum(log[2:] - log[:-2], 0.0)
    return rise


def _without_trend(curve: Doubles) -> Doubles:
    """A curve minus its local mean over about a second, scaled to a standard deviation of 1."""
    width = int(FRAMES)
    trend = np.convolve(np.pad(curve, width, mode="edge"), np.ones(2 * width + 1) / (2 * width + 1), mode="valid")
    above = np.maximum(curve - trend, 0.0)
    return above / max(float(above.std()), 1e-9)


def analyse_spectrum(samples: Floats) -> Spectrum:
    """Compute the features of mono samples at `RATE`."""
    magnitudes = _magnitudes(samples, WINDOW)
    loud = magnitudes @ _band_matrix()
    log = np.log10(1.0 + loud * 1_000.0)
    rises = _rises(log)
    centres = np.sqrt(_EDGES[:-1] * _EDGES[1:])
    low, high = centres < _LOW, centres > _HIGH
    middle = ~low & ~high
    parts = [np.asarray(rises[:, band].mean(axis=1), dtype=np.float64) for band in (low, middle, high)]
    drums = np.asarray(_rises(loud[:, low]).mean(axis=1), dtype=np.float64)
    level = np.sqrt(np.maximum((magnitudes**2).sum(axis=1), 0.0)).astype(np.float64)
    quiet = level < _SILENT
    for part in (*parts, drums):
        part[quiet] = 0.0
    heard = _without_trend(1.6 * parts[0] + parts[1] + 0.6 * parts[2])
    return Spectrum(
        log,
        _chroma(samples),
        heard,
        _without_trend(parts[0]),
        _without_trend(parts[1]),
        _without_trend(parts[2]),
        _without_trend(drums),
        level,
    )
