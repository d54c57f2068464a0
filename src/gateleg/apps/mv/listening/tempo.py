"""Tempo estimation: the period between beats at each frame, which may change over the song."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gateleg.apps.mv.listening.spectrum import FRAMES

if TYPE_CHECKING:
    from gateleg.apps.mv.listening.sound import Doubles

_SLOWEST, _FASTEST = 48.0, 210.0
#: the preferred tempo of listeners in beats per minute, and the spread of the preference in octaves
_PREFERRED, _SPREAD = 116.0, 0.75
_WINDOW, _STEP = int(8 * FRAMES), int(0.5 * FRAMES)
#: the cost of a change of tempo between two steps, per squared relative change
_CHANGE = 350.0


@dataclass(frozen=True, slots=True, eq=False)
class Tempo:
    """The tempo of a song."""

    #: beats per minute: the median over the song
    bpm: float
    #: analysis frames between two beats, for each frame
    periods: Doubles
    #: from 0 (no beat) to 1 (a drum machine)
    clarity: float


def _candidates() -> Doubles:
    """Candidate periods in frames, one percent apart."""
    slowest, fastest = 60 * FRAMES / _SLOWEST, 60 * FRAMES / _FASTEST
    return np.asarray(np.exp(np.arange(np.log(fastest), np.log(slowest), 0.01)), dtype=np.float64)


def autocorrelation(curve: Doubles, longest: int) -> Doubles:
    """The autocorrelation for lags of 0 to `longest` frames, relative to lag 0 and normalised by the overlap."""
    centred = curve - curve.mean()
    size = 1 << int(np.ceil(np.log2(max(2 * len(curve), len(curve) + longest + 1))))
    spectrum = np.fft.rfft(centred, size)
    found = np.fft.irfft(spectrum * np.conj(spectrum), size)[: longest + 1]
    overlap = np.maximum(len(curve) - np.arange(longest + 1), max(len(curve) // 4, 1))
    found = found / overlap
    return np.asarray(found / max(float(found[0]), 1e-9))


def _strengths(similar: Doubles, periods: Doubles) -> Doubles:
    """How well each period explains an autocorrelation: at the period itself, at twice and at four times it."""
    at = np.arange(len(similar))

    def value(lag: Doubles) -> Doubles:
        return np.interp(lag, at, similar, right=0.0)

    return 0.8 * value(periods) + 0.8 * value(2 * periods) + 0.6 * value(4 * periods)


def _path(scores: Doubles, periods: Doubles) -> npt.NDArray[np.int_]:
    """The sequence of periods with the best total score, minus the cost of changes."""
    logs = np.log(periods)
    cost = np.minimum(_CHANGE * (logs[:, None] - logs[None, :]) ** 2, 4.0)
    total = scores[0].copy()
    came = np.zeros(scores.shape, dtype=int)
    for step in range(1, len(scores)):
        options = total[None, :] - cost
        came[step] = options.argmax(axis=1)
        total = options[np.arange(len(periods)), came[step]] + scores[step]
    path = np.zeros(len(scores), dtype=int)
    path[-1] = int(total.argmax())
    for step in range(len(scores) - 1, 0, -1):
        path[step - 1] = came[step, path[step]]
    return path


def find_tempo(onsets: Doubles) -> Tempo:
    """Estimate the tempo of an onset curve."""
    periods = _candidates()
    longest = int(4 * periods[-1]) + 1
    prior = -0.5 * (np.log2(60 * FRAMES / periods / _PREFERRED) / _SPREAD) ** 2
    smooth = np.convolve(onsets, np.hanning(9) / np.hanning(9).sum(), mode="same")
    starts = range(0, max(len(smooth) - _WINDOW // 2, 1), _STEP)
    whole = _strengths(autocorrelation(smooth, longest), periods)
    scores, clear, strong = [], [], []
    for start in starts:
        window = smooth[max(start - _WINDOW // 4, 0) : start + _WINDOW]
        similar = autocorrelation(window, longest)
        scores.append(2.0 * (_strengths(similar, periods) + 0.7 * whole) + 1.3 * prior)
        clear.append(similar)
        strong.append(float(window.std()))
    path = _path(np.array(scores), periods)
    chosen = periods[path]
    centres = np.array([start + _WINDOW * 0.25 for start in starts])
    curve = np.interp(np.arange(len(onsets)), centres, chosen)
    weights = np.array(strong) + 1e-9
    heights = [_height(similar, float(period)) for similar, period in zip(clear, chosen, strict=True)]
    clarity = float(np.clip(np.average(heights, weights=weights), 0.0, 1.0)) if max(strong) > 1e-6 else 0.0
    return Tempo(round(60 * FRAMES / float(np.median(chosen)), 2), curve, clarity)


def _height(similar: Doubles, period: float) -> float:
    """The height of an autocorrelation's peaks at a period and its multiples: the mean of the lower half of them."""
    near = [float(similar[int(lag * 0.97) : int(lag * 1.03) + 2].max(initial=0.0)) for lag in (period, 2 * period, 4 * period)]
    return float(np.sort(near)[:2].mean())
