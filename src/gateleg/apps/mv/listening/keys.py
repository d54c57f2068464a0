"""Key detection from the strength of each pitch class (chroma)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gateleg.apps.mv.listening.sound import Floats

_NAMES = ("C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")
# How well each pitch class fits a key, as listeners rated it (Krumhansl and Kessler, 1982).
_MAJOR = np.array([6.35, 2.23, 3.48, 2.33, 4.38, 4.09, 2.52, 5.19, 2.39, 3.66, 2.29, 2.88])
_MINOR = np.array([6.33, 2.68, 3.52, 5.38, 2.60, 3.53, 2.54, 4.75, 3.98, 2.69, 3.34, 3.17])


def find_key(chroma: Floats) -> str:
    """The name of the key, such as "A minor"; empty for silence."""
    heard = np.asarray(chroma, dtype=np.float64).mean(axis=0) if len(chroma) else np.zeros(12)
    if float(heard.max(initial=0.0)) < 1e-3:
        return ""
    fits = {
        f"{_NAMES[tonic]} {mode}": float(np.corrcoef(np.roll(profile, tonic), heard)[0, 1])
        for mode, profile in (("major", _MAJOR), ("minor", _MINOR))
        for tonic in range(12)
    }
    return max(fits, key=lambda name: fits[name])
