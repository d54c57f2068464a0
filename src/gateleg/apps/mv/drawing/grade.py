"""The colour grade of a director preset as a transform: toning, saturation, temperature, contrast and fade.

Together they are an affine transform of RGB in which luma depends only on luma. On YUV planes this is cheap: luma needs no chroma, and
chroma planes have a quarter of the pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import skia

if TYPE_CHECKING:
    from gateleg.apps.mv.listening.sound import Doubles
    from gateleg.apps.mv.planning.presets import Grade

_LUMA = np.array([0.2126, 0.7152, 0.0722])
#: RGB to YUV: BT.709
_TO_VIDEO = np.array([_LUMA, [-0.114572, -0.385428, 0.5], [0.5, -0.454153, -0.045847]])
#: the tone that contrast does not change
_PIVOT = 0.42


@dataclass(frozen=True, slots=True)
class ColourTransform:
    """The effect of a grade on luma `y` (0 to 1) and chroma `u` and `v` (-0.5 to 0.5).

    `y` becomes `gain * y + lift`; `u` becomes `colour * u + lean[0] * y + tint[0]`, and `v` likewise with the second numbers.
    """

    gain: float
    lift: float
    colour: float
    lean: tuple[float, float]
    tint: tuple[float, float]


def transform_of(grade: Grade, exposure: float) -> ColourTransform:
    """The transform of a grade: exposure, saturation, temperature, toning, contrast and fade, in this order."""
    warm: Doubles = np.array([0.5, 0.08, -0.5]) * grade.warmth * 0.3
    dark, light = np.array(grade.shadows) - 0.5, np.array(grade.lights) - 0.5
    tone = grade.toning * 0.6
    # How much red, green and blue each depend on luma.
    follow = ((1 - grade.saturation) + warm + tone * (light - dark)) * exposure
    shift = 0.25 * warm + tone * dark
    scale = grade.contrast * (1 - grade.fade)
    follow, shift = follow * scale, ((shift - _PIVOT) * grade.contrast + _PIVOT) * (1 - grade.fade) + 0.75 * grade.fade
    own = grade.saturation * exposure * scale
    leans, tints = _TO_VIDEO @ follow, _TO_VIDEO @ shift
    return ColourTransform(
        gain=float(own + leans[0]),
        lift=float(tints[0]),
        colour=float(own),
        lean=(float(leans[1]), float(leans[2])),
        tint=(float(tints[1]), float(tints[2])),
    )


def steps_filter(count: int) -> Any:
    """A posterisation filter that reduces each channel to a few steps with soft edges; None for fewer than two."""
    if count < 2:
        return None
    values = np.arange(256) / 255 * count
    stepped = np.floor(values) + np.clip((values - np.floor(values) - 0.5) * 5 + 0.5, 0, 1)
    return skia.TableColorFilter.Make([int(value) for value in np.clip(stepped / count * 255, 0, 255)])
