"""How fast the pulse of a song is, at each moment: the period between beats, followed through slower and faster passages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gateleg.apps.mv.listening.spectrum import FRAMES

if TYPE_CHECKING:
    from gateleg.apps.mv.listening.sound import Doubles

_SLOWEST, _FASTEST = 48.0, 210.0
#: the tempo that people tap to most readily, and how far from it they still do, in octaves
_PREFERRED, _SPREAD = 116.0, 0.75
_WINDOW, _STEP = int(8 * FRAMES), int(0.5 * FRAMES)
#: what a change of tempo costs from one step to the next, per squared share of change
_CHANGE = 350.0


@dataclass(frozen=True, slots=True, eq=False)
class Tempo:
    """The pulse of a song."""

    #: beats in a minute: the median over the song
    bpm: float
    #: frames of the analysis between two beats, for each frame
    periods: Doubles
    #: from 0, no pulse, to 1, a drum machine
    clarity: float


def _candidates() -> Doubles:
    """Periods in frames, a percent apart."""
    slowest, fastest = 60 * FRAMES / _SLOWEST, 60 * FRAMES / _FASTEST
    return np.asarray(np.exp(np.arange(np.log(fastest), np.log(slowest), 0.01)), dtype=np.float64)


def autocorrelation(curve: Doubles, longest: int) -> Doubles:
    """Similarity of a curve with itself, later by 0 to `longest` frames, relative to none; each lag by how much of the curve overlaps."""
    centred = curve - curve.mean()
    size = 1 << int(np.ceil(np.log2(max(2 * len(curve), len(curve) + longest + 1))))
    spectrum = np.fft.rfft(centred, size)
    found = np.fft.irfft(spectrum * np.conj(spectrum), size)[: longest + 1]
    overlap = np.maximum(len(curve) - np.arange(longest + 1), max(len(curve) // 4, 1))
    found = found / overlap
    return np.asarray(found / max(float(found[0]), 1e-9))


def _strengths(similar: Doubles, periods: Doubles) -> Doubles:
    """How well each period explains a similarity curve: at the period itself, at two and at four of it."""
    at = np.arange(len(similar))

    def value(lag: Doubles) -> Doubles:
        return np.interp(lag, at, similar, right=0.0)

    return 0.8 * value(periods) + 0.8 * value(2 * periods) + 0.6 * value(4 * periods)


def _path(scores: Doubles, periods: Doubles) -> npt.NDArray[np.int_]:
    """The sequence of periods with the best total score, where changes cost."""
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
    """The tempo of an onset curve."""
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
    """How far a similarity curve rises at a period and at its multiples, the lower half of them counted."""
    near = [float(similar[int(lag * 0.97) : int(lag * 1.03) + 2].max(initial=0.0)) for lag in (period, 2 * period, 4 * period)]
    return float(np.sort(near)[:2].mean())
