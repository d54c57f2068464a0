"""Transitions between scenes. Both scenes are drawn into the incoming clip, so nothing is encoded twice."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import skia

if TYPE_CHECKING:
    from gateleg.apps.mv.planning.presets import Transition

#: draws a scene onto a canvas
Drawing = Callable[[Any], None]


def draw_transition(canvas: Any, kind: Transition, share: float, width: int, height: int, old: Drawing, new: Drawing) -> None:
    """Draw a frame between two scenes; `share` runs from 0 (the old scene) to 1 (the new one)."""
    ease = share * share * (3 - 2 * share)
    _KINDS[kind](canvas, ease, width, height, old, new)


def _cut(canvas: Any, share: float, width: int, height: int, old: Drawing, new: Drawing) -> None:
    new(canvas)


def _over(canvas: Any, alpha: float, drawing: Drawing) -> None:
    canvas.saveLayerAlpha(None, round(255 * min(max(alpha, 0.0), 1.0)))
    drawing(canvas)
    canvas.restore()


def _dissolve(canvas: Any, share: float, width: int, height: int, old: Drawing, new: Drawing) -> None:
    old(canvas)
    _over(canvas, share, new)


def _push(canvas: Any, share: float, width: int, height: int, old: Drawing, new: Drawing) -> None:
    for drawing, at in ((old, -share), (new, 1 - share)):
        canvas.save()
        canvas.translate(width * at, 0)
        canvas.clipRect(skia.Rect.MakeWH(width, height))
        drawing(canvas)
        canvas.restore()


def _zoom(canvas: Any, share: float, width: int, height: int, old: Drawing, new: Drawing) -> None:
    """The old scene zooms out of the frame, the new one zooms in."""
    for drawing, size, alpha in ((old, 1 + 0.6 * share, 1.0), (new, 1.35 - 0.35 * share, share)):
        canvas.save()
        canvas.translate(width / 2, height / 2)
        canvas.scale(size, size)
        canvas.translate(-width / 2, -height / 2)
        _over(canvas, alpha, drawing)
        canvas.restore()


def _iris(canvas: Any, share: float, width: int, height: int, old: Drawing, new: Drawing) -> None:
    old(canvas)
    circle = skia.Path()
    circle.addCircle(width / 2, height / 2, share * math.hypot(width, height) / 2)
    canvas.save()
    canvas.clipPath(circle, skia.ClipOp.kIntersect, True)
    new(canvas)
    canvas.restore()


def _light(canvas: Any, share: float, width: int, height: int, old: Drawing, new: Drawing) -> None:
    """A light leak across the frame, not bright enough to count as a flash."""
    _dissolve(canvas, share, width, height, old, new)
    strength = round(110 * math.sin(share * math.pi))
    x = width * (share * 1.6 - 0.3)
    colours = [skia.Color(255, 190, 120, strength), skia.Color(255, 120, 60, strength // 2), skia.Color(255, 80, 40, 0)]
    shader = skia.GradientShader.MakeRadial(skia.Point(x, height * 0.35), width * 0.6, colours)
    canvas.drawPaint(skia.Paint(Shader=shader, BlendMode=skia.BlendMode.kScreen))


def _ink(canvas: Any, share: float, width: int, height: int, old: Drawing, new: Drawing) -> None:
    """The new scene appears along a smooth noise mask."""
    old(canvas)
    noise = _noise()
    level = np.clip((share * 1.5 - noise) * 5, 0, 1)
    mask = np.zeros((*noise.shape, 4), dtype=np.uint8)
    mask[..., 3] = (level * 255).astype(np.uint8)
    image = skia.Image.fromarray(mask, copy=True)
    canvas.saveLayer(None, None)
    new(canvas)
    smooth = skia.SamplingOptions(skia.FilterMode.kLinear)
    canvas.drawImageRect(image, skia.Rect.MakeWH(width, height), smooth, skia.Paint(BlendMode=skia.BlendMode.kDstIn))
    canvas.restore()


def _noise() -> Any:
    """Smooth noise from 0 to 1, deterministic."""
    random = np.random.default_rng(5)
    total = np.zeros((90, 160))
    for size, weight in ((3, 0.55), (7, 0.3), (15, 0.15)):
        coarse = random.random((size, size * 2))
        rows, columns = np.linspace(0, size - 1.001, 90), np.linspace(0, size * 2 - 1.001, 160)
        across = np.array([np.interp(columns, np.arange(size * 2), row) for row in coarse])
        total += weight * np.array([np.interp(rows, np.arange(size), column) for column in across.T]).T
    return (total - total.min()) / (total.max() - total.min())


def _blinds(canvas: Any, share: float, width: int, height: int, old: Drawing, new: Drawing) -> None:
    old(canvas)
    strips = skia.Path()
    count = 9
    for strip in range(count):
        strips.addRect(skia.Rect.MakeXYWH(0, strip * height / count, width, height / count * share + 0.5))
    canvas.save()
    canvas.clipPath(strips, skia.ClipOp.kIntersect, True)
    new(canvas)
    canvas.restore()


_KINDS: dict[Transition, Callable[[Any, float, int, int, Drawing, Drawing], None]] = {
    "cut": _cut,
    "dissolve": _dissolve,
    "push": _push,
    "zoom": _zoom,
    "iris": _iris,
    "light": _light,
    "ink": _ink,
    "blinds": _blinds,
}
