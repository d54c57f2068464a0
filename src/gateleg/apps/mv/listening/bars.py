"""Bar detection: which beats are downbeats."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gateleg.apps.mv.listening.spectrum import FRAMES, Spectrum

if TYPE_CHECKING:
    from gateleg.apps.mv.listening.sound import Doubles, Floats

#: how much more evidence a meter of three needs than a meter of four
_RARE = 1.35


def find_bars(spectrum: Spectrum, beats: Doubles) -> tuple[int, int]:
    """The number of beats in a bar, three or four, and the index of the first downbeat."""
    if len(beats) < 12:
        return 4, 0
    accents = _accents(spectrum, beats)
    best = {meter: max(range(meter), key=lambda phase, meter=meter: _contrast(accents, meter, phase)) for meter in (3, 4)}  # type: ignore[misc]
    three, four = _contrast(accents, 3, best[3]), _contrast(accents, 4, best[4])
    meter = 3 if three > _RARE * max(four, 0.15) else 4
    return meter, best[meter]


def _contrast(accents: Doubles, meter: int, phase: int) -> float:
    """How far the beats at one position in the bar stand out from the others."""
    at = accents[phase::meter]
    others = np.delete(accents, np.s_[phase::meter])
    return float(at.mean() - others.mean())


def _accents(spectrum: Spectrum, beats: Doubles) -> Doubles:
    """How much each beat sounds like a downbeat: its drums and change of harmony."""
    frames = np.minimum((beats * FRAMES).round().astype(int), len(spectrum.onsets) - 1)
    drums = np.array([spectrum.drums[max(frame - 3, 0) : frame + 4].max(initial=0.0) for frame in frames])
    change = np.zeros(len(beats))
    chroma = between(spectrum.chroma, frames)
    change[1:] = 1.0 - (chroma[1:] * chroma[:-1]).sum(axis=1)
    return drums / max(float(drums.std()), 1e-6) * 0.5 + change / max(float(change.std()), 1e-6)


def between(rows: Floats, frames: npt.NDArray[np.int_]) -> Floats:
    """The mean row between each two neighbouring frames of a list, scaled to length 1."""
    edges = np.append(frames, min(len(rows), frames[-1] + max(int(np.diff(frames).mean()) if len(frames) > 1 else 43, 1)))
    means = np.array([rows[start : max(end, start + 1)].mean(axis=0) for start, end in itertools.pairwise(edges)])
    return np.asarray(means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-6), dtype=np.float32)
