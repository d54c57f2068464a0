"""The finish of a frame: glow, tones, contrast, vignette, grain, as a director preset wants them.

Tones, saturation, warmth, contrast and fade are affine in red, green and blue, so that all of them together are one colour matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import skia

from gateleg.apps.mv.drawing.stage import LINEAR

if TYPE_CHECKING:
    from gateleg.apps.mv.listening.sound import Doubles
    from gateleg.apps.mv.planning.presets import Grade

_LUMA = np.array([0.2126, 0.7152, 0.0722])
#: the tone that contrast leaves alone
_PIVOT = 0.42


def colour_matrix(grade: Grade, exposure: float) -> list[float]:
    """The twenty numbers of the matrix: exposure, saturation, warmth, toning, contrast and fade, in this order."""
    luma = np.tile(_LUMA, (3, 1))
    gain = exposure * (grade.saturation * np.eye(3) + (1 - grade.saturation) * luma)
    shift: Doubles = np.zeros(3)
    warm = np.array([0.5, 0.08, -0.5]) * grade.warmth * 0.3
    dark, light = np.array(grade.shadows) - 0.5, np.array(grade.lights) - 0.5
    tone = grade.toning * 0.6
    added = (warm + tone * (light - dark))[:, None] * _LUMA[None, :] * exposure
    gain, shift = gain + added, shift + 0.25 * warm + tone * dark
    gain, shift = gain * grade.contrast, (shift - _PIVOT) * grade.contrast + _PIVOT
    gain, shift = gain * (1 - grade.fade), shift * (1 - grade.fade) + 0.75 * grade.fade
    rows = [[*gain[row].tolist(), 0.0, float(shift[row])] for row in range(3)]
    return [*rows[0], *rows[1], *rows[2], 0.0, 0.0, 0.0, 1.0, 0.0]


class Finisher:
    """Finishes frames of one size by one grade."""

    def __init__(self, width: int, height: int, grade: Grade) -> None:
        self.width, self.height, self.grade = width, height, grade
        self.small = skia.Surface(max(width // 4, 2), max(height // 4, 2))
        # What is brighter than about two thirds glows; the blur reaches as far in a small frame as in a large one.
        self.bright = skia.ColorFilters.Matrix([1.8, 0.1, 0.1, 0, -1.15, 0.1, 1.8, 0.1, 0, -1.15, 0.1, 0.1, 1.8, 0, -1.15, 0, 0, 0, 1, 0])
        self.blur = skia.ImageFilters.Blur(height / 4 * 0.045, height / 4 * 0.045, skia.TileMode.kClamp)
        self.grain = _grain(grade.grain)
        # Grains have the size of film's, not of pixels: finer ones only cost bits.
        self.coarse = max(height / 400, 1.0)
        self.steps = _steps(grade.poster)
        centre, reach = skia.Point(width / 2, height / 2), float(np.hypot(width, height)) / 2
        edge = skia.Color(0, 0, 0, round(255 * min(grade.vignette * 0.75, 1.0)))
        self.edge = (
            skia.Paint(Dither=True, Shader=skia.GradientShader.MakeRadial(centre, reach, [0, 0, edge], [0.0, 0.35, 1.0]))
            if grade.vignette
            else None
        )

    def finish(self, frame: Any, target: Any, number: int, exposure: float) -> None:
        """Draw a frame (an image) onto a canvas, finished. `number` moves the grain, `exposure` brightens."""
        graded = skia.ColorFilters.Matrix(colour_matrix(self.grade, exposure))
        target.drawImage(
            frame, 0, 0, skia.SamplingOptions(), skia.Paint(ColorFilter=graded.makeComposed(self.steps) if self.steps else graded)
        )
        if self.grade.glow:
            small = self.small.getCanvas()
            small.clear(0xFF000000)
            area = skia.Rect.MakeWH(self.small.width(), self.small.height())
            small.drawImageRect(frame, area, LINEAR, skia.Paint(ColorFilter=self.bright))
            small.drawImage(self.small.makeImageSnapshot(), 0, 0, skia.SamplingOptions(), skia.Paint(ImageFilter=self.blur))
            share = skia.ColorFilters.Matrix(_tinted(self.grade.glow, self.grade.saturation))
            target.drawImageRect(
                self.small.makeImageSnapshot(),
                skia.Rect.MakeWH(self.width, self.height),
                LINEAR,
                skia.Paint(BlendMode=skia.BlendMode.kScreen, ColorFilter=share),
            )
        if self.edge is not None:
            target.drawPaint(self.edge)
        if self.grain is not None:
            moved = skia.Matrix.Scale(self.coarse, self.coarse)
            moved.preTranslate(float(number * 73 % 251), float(number * 151 % 241))
            target.drawPaint(skia.Paint(Shader=self.grain.makeWithLocalMatrix(moved), BlendMode=skia.BlendMode.kOverlay))


def _tinted(glow: float, saturation: float) -> list[float]:
    """A matrix that takes a share of the glow, as colourful as the picture."""
    mixed = glow * 1.3 * (min(saturation, 1.0) * np.eye(3) + (1 - min(saturation, 1.0)) * np.tile(_LUMA, (3, 1)))
    rows = [[*mixed[row].tolist(), 0.0, 0.0] for row in range(3)]
    return [*rows[0], *rows[1], *rows[2], 0.0, 0.0, 0.0, 1.0, 0.0]


def _grain(strength: float) -> Any:
    """A tile of film grain around middle grey, for overlaying; the same every time."""
    if strength <= 0:
        return None
    noise = np.random.default_rng(7).normal(0.5, min(strength * 0.55, 0.3), (256, 256)).clip(0, 1)
    level = (noise * 255).astype(np.uint8)
    tile = np.dstack([level, level, level, np.full_like(level, 255)])
    return skia.Image.fromarray(np.ascontiguousarray(tile), copy=True).makeShader(skia.TileMode.kRepeat, skia.TileMode.kRepeat)


def _steps(count: int) -> Any:
    """A table that reduces each channel to a few steps, softened at their edges."""
    if count < 2:
        return None
    values = np.arange(256) / 255 * count
    stepped = np.floor(values) + np.clip((values - np.floor(values) - 0.5) * 5 + 0.5, 0, 1)
    return skia.TableColorFilter.Make([int(value) for value in np.clip(stepped / count * 255, 0, 255)])
