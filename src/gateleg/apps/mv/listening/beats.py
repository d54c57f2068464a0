"""Beat tracking by dynamic programming."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gateleg.apps.mv.listening.spectrum import FRAMES, Spectrum

if TYPE_CHECKING:
    from gateleg.apps.mv.listening.sound import Doubles
    from gateleg.apps.mv.listening.tempo import Tempo

#: the weight of evenly spaced beats against beats that fall on onsets
_STEADY = 90.0
#: A rise shows in the spectrum before its attack is heard, because half of the window lies ahead.
_LATENCY = 0.003
#: the share of the song's usual drum level below which a beat has no drum
_DRUMLESS = 0.35


def track_beats(spectrum: Spectrum, tempo: Tempo) -> Doubles:
    """The times of the beats: the best sequence over the whole song that falls on onsets and keeps the tempo.

    Drums decide which of two candidates is the beat. A passage without drums (an intro of cymbals) continues the grid of the nearest
    passage with drums.
    """
    pulse = spectrum.onsets + 1.2 * spectrum.low
    smooth = np.convolve(pulse, np.hanning(7) / np.hanning(7).sum(), mode="same")
    if len(smooth) < 3 or float(smooth.max()) < 1e-6:
        return np.zeros(0)
    frames = _best_sequence(smooth / max(float(smooth.std()), 1e-9), tempo.periods)
    grid = _continued(_drummed(spectrum, frames), frames, len(smooth))
    times = np.array([_refined(smooth, float(place)) for place in grid]) / FRAMES + _LATENCY
    return np.asarray(times[(times >= 0) & (times < len(smooth) / FRAMES)])


def _best_sequence(curve: Doubles, periods: Doubles) -> npt.NDArray[np.int_]:
    """Dynamic programming after Ellis (2007), with a separate period at each frame."""
    score = curve.copy()
    came = np.full(len(curve), -1)
    for at in range(len(curve)):
        period = periods[at]
        start, end = at - int(2 * period), at - int(period / 2)
        if end <= 0:
            continue
        earlier = np.arange(max(start, 0), end)
        values = score[earlier] - _STEADY * np.log((at - earlier) / period) ** 2
        best = int(values.argmax())
        score[at] = curve[at] + values[best]
        came[at] = earlier[best]
    last = max(len(curve) - int(periods[-1]), 0)
    at = last + int(score[last:].argmax())
    frames = [at]
    while came[at] >= 0:
        at = int(came[at])
        frames.append(at)
    return np.array(frames[::-1])


def _drummed(spectrum: Spectrum, frames: npt.NDArray[np.int_]) -> npt.NDArray[np.bool_]:
    """Whether a drum sounds at each beat."""
    strengths = np.array([spectrum.drums[max(frame - 3, 0) : frame + 4].max(initial=0.0) for frame in frames])
    local = np.lib.stride_tricks.sliding_window_view(np.pad(strengths, 3, mode="edge"), 7).max(axis=1)
    return np.asarray(strengths > _DRUMLESS * max(float(np.percentile(local, 75)), 1e-9))


def _continued(drummed: npt.NDArray[np.bool_], frames: npt.NDArray[np.int_], length: int) -> Doubles:
    """The beats, with a steady grid before the first drum and after the last one, if that is more than a bar."""
    heard = np.flatnonzero(drummed)
    if len(heard) < 8:
        return frames.astype(float)
    # The first beats with drums may still fall between two grids.
    first, last = int(heard[1]), int(heard[-2])
    if first < 6:
        first = 0
    if last > len(frames) - 7:
        last = len(frames) - 1
    grid = list(frames[first : last + 1].astype(float))
    if first > 0:
        grid = _extended(grid[::-1], -_typical(np.array(grid[:17])), 0.0)[::-1]
    if last < len(frames) - 1:
        grid = _extended(grid, _typical(np.array(grid[-17:])), float(length))
    return np.array(grid)


def _typical(grid: Doubles) -> float:
    """The distance between neighbouring beats, fitted over all beats."""
    return float(np.polyfit(np.arange(len(grid)), grid, 1)[0])


def _extended(grid: list[float], step: float, limit: float) -> list[float]:
    while (grid[-1] + step - limit) * np.sign(step) < 0:
        grid.append(grid[-1] + step)
    return grid


def _refined(curve: Doubles, frame: float) -> float:
    """The frame refined to the peak of the parabola through the largest value within two frames, if that has a peak."""
    at = round(frame)
    start = max(at - 2, 1)
    near = curve[start : at + 3]
    if not len(near) or float(near.max()) < 1e-6:
        return frame
    top = start + int(near.argmax())
    if top >= len(curve) - 1 or not curve[top - 1] <= curve[top] >= curve[top + 1]:
        return frame
    left, middle, right = curve[top - 1], curve[top], curve[top + 1]
    bend = left - 2 * middle + right
    return top + float((left - right) / (2 * bend)) if bend < 0 else float(top)
