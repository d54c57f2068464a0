"""Place figures on the ground, with a shadow and a rim light.

Each figure is drawn twice: first in the colour of the light and shifted slightly towards it, then in its own colours. The visible edge of
the first drawing is the rim light. Figures are drawn with their feet at the origin and a height of 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import skia

from gateleg.apps.mv.drawing.colour import Colour, mix
from gateleg.apps.mv.drawing.stage import Layer, Moment, Stage, paint, vertical_gradient

#: draws a figure; with the flag, only its outline in one colour, for the rim light
Sketch = Callable[[Any, Moment, Colour, bool], None]


def shadow(canvas: Any, stage: Stage, x: float, y: float, width: float, tall: float) -> None:
    """A soft shadow on the ground, away from the light; the lower the light, the longer the shadow."""
    way = -1 if stage.light[0] > x else 1
    low = min(max((stage.light[1] - 0.05) / 0.5, 0.0), 1.0)
    canvas.save()
    canvas.translate(x, y)
    blur = skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, 0.012)
    canvas.drawOval(skia.Rect.MakeXYWH(-width * 0.6, -width * 0.09, width * 1.2, width * 0.2), paint((0.0, 0.0, 0.0), 0.5, MaskFilter=blur))
    canvas.skew(way * (0.8 + 1.6 * low), 0)
    reach = tall * (0.12 + 0.18 * low)
    fade = vertical_gradient(-0.01, reach, ((0.0, 0.0, 0.0), 0.38), ((0.0, 0.0, 0.0), 0.0))
    fade.setMaskFilter(blur)
    canvas.drawOval(skia.Rect.MakeXYWH(-width * 0.45, -0.01, width * 0.9, reach), fade)
    canvas.restore()


def stand(stage: Stage, sketch: Sketch, width: float = 0.35, hop: float = 0.02, tall: float = 1.0) -> list[Layer]:
    """A figure on the ground with its shadow and rim light."""
    x, foot, height = stage.spot
    if foot > 1:
        # The lower edge of the frame cuts the figure off, so raise small figures to show their upper part.
        foot -= height * (1 - tall) * 1.25
    height *= tall
    body = stage.palette.coat or mix(stage.silhouette(0.75), stage.palette.ground, 0.2)

    def draw(canvas: Any, moment: Moment) -> None:
        lift = hop * height * moment.beat * stage.motion
        shadow(canvas, stage, x, foot, width * height, height)
        away = 0.006 / height
        dx, dy = stage.light[0] - x, stage.light[1] - (foot - height / 2)
        length = max(math.hypot(dx, dy), 1e-3)
        for outline in (True, False):
            canvas.save()
            canvas.translate(x, foot - lift)
            canvas.scale(height, height)
            if outline:
                canvas.translate(dx / length * away, dy / length * away)
            sketch(canvas, moment, mix(stage.palette.light, (1.0, 1.0, 1.0), 0.1) if outline else body, outline)
            canvas.restore()

    return [Layer(1.0, draw)]


def limb(canvas: Any, colour: Colour, width: float, *points: tuple[float, float]) -> None:
    """An arm, a leg or a tail through points, with round ends."""
    path = skia.Path()
    path.moveTo(*points[0])
    for point in points[1:]:
        path.lineTo(*point)
    canvas.drawPath(
        path,
        paint(
            colour,
            1.0,
            Style=skia.Paint.kStroke_Style,
            StrokeWidth=width,
            StrokeCap=skia.Paint.kRound_Cap,
            StrokeJoin=skia.Paint.kRound_Join,
        ),
    )


def tapered(canvas: Any, colour: Colour, widths: tuple[float, ...], *points: tuple[float, float]) -> None:
    """An arm or a leg through points, with a width at each and round joints."""
    fill = paint(colour)
    for (one, thick), (other, thin) in pairwise(zip(points, widths, strict=True)):
        dx, dy = other[0] - one[0], other[1] - one[1]
        length = max(math.hypot(dx, dy), 1e-6)
        across = -dy / length / 2, dx / length / 2
        path = skia.Path()
        path.moveTo(one[0] + across[0] * thick, one[1] + across[1] * thick)
        path.lineTo(other[0] + across[0] * thin, other[1] + across[1] * thin)
        path.lineTo(other[0] - across[0] * thin, other[1] - across[1] * thin)
        path.lineTo(one[0] - across[0] * thick, one[1] - across[1] * thick)
        path.close()
        canvas.drawPath(path, fill)
    for (x, y), width in zip(points, widths, strict=True):
        canvas.drawCircle(x, y, width / 2, fill)


def bent(x: float, y: float, angle: float, bend: float, upper: float, lower: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """The joint and the end of a limb that hangs from a point; angles from straight down."""
    joint = x + math.sin(angle) * upper, y + math.cos(angle) * upper
    end = joint[0] + math.sin(angle + bend) * lower, joint[1] + math.cos(angle + bend) * lower
    return joint, end
