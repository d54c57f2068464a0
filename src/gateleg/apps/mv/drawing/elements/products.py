"""Figures of products and vehicles, drawn if no picture of them is given."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import Colour, mix, scale
from gateleg.apps.mv.drawing.elements.figures import stand
from gateleg.apps.mv.drawing.stage import Layer, Moment, Stage, glow, paint, vertical_gradient

if TYPE_CHECKING:
    from collections.abc import Sequence


@element(
    "figure", "a car, limousine, driving, taxi, racing", "outdoors", also="truck, bus, lorry, van, ambulance, traffic, motorcycle, vehicle"
)
def car(stage: Stage) -> Sequence[Layer]:
    """A car with lit lamps that rocks on its springs."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        dip = 0.012 * moment.beat
        paintwork = colour if outline else mix(stage.palette.accent, stage.palette.near, 0.25)
        shell = skia.Path()
        shell.moveTo(-0.95, -0.14)
        shell.cubicTo(-0.97, -0.34, -0.8, -0.36, -0.58, -0.38)
        shell.cubicTo(-0.38, -0.62 + dip, 0.12, -0.64 + dip, 0.36, -0.4)
        shell.cubicTo(0.7, -0.37, 0.95, -0.34, 0.97, -0.14)
        shell.close()
        canvas.drawPath(
            shell,
            paint(colour)
            if outline
            else vertical_gradient(-0.62, -0.1, mix(paintwork, stage.palette.light, 0.45), paintwork, scale(paintwork, 0.45)),
        )
        if not outline:
            glass = skia.Path()
            glass.moveTo(-0.46, -0.4)
            glass.cubicTo(-0.32, -0.56, 0.06, -0.58, 0.26, -0.4)
            glass.close()
            canvas.drawPath(glass, vertical_gradient(-0.57, -0.4, mix(stage.palette.zenith, stage.palette.light, 0.3), stage.palette.near))
            canvas.drawLine(-0.1, -0.55, -0.12, -0.4, paint(paintwork, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=0.025))
            glow(canvas, 0.93, -0.24, 0.34 + 0.08 * moment.beat, stage.palette.light, 0.8)
            glow(canvas, -0.94, -0.25, 0.14, (1.0, 0.15, 0.1), 0.8)
        for x in (-0.56, 0.58):
            canvas.drawCircle(x, -0.13, 0.135, paint(colour if outline else (0.03, 0.03, 0.04)))
            if not outline:
                canvas.drawCircle(x, -0.13, 0.07, paint(mix((0.7, 0.72, 0.75), stage.palette.light, 0.3)))

    return stand(stage, sketch, width=2.0, hop=0.01, tall=0.55)


@element(
    "figure",
    "a bottle, perfume, drink, cosmetic product, can",
    "room",
    "stage",
    also="wine, whiskey, beer, medicine, glass, cup, coffee, tea",
)
def bottle(stage: Stage) -> Sequence[Layer]:
    """A glass bottle with a light that travels over it."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        path = skia.Path()
        path.moveTo(-0.2, 0)
        path.lineTo(-0.2, -0.52)
        path.cubicTo(-0.2, -0.66, -0.075, -0.66, -0.075, -0.78)
        path.lineTo(-0.075, -0.94)
        path.lineTo(0.075, -0.94)
        path.lineTo(0.075, -0.78)
        path.cubicTo(0.075, -0.66, 0.2, -0.66, 0.2, -0.52)
        path.lineTo(0.2, 0)
        path.close()
        if outline:
            canvas.drawPath(path, paint(colour))
            return
        shine = math.sin(moment.beats * math.pi / 4) * 0.2
        stops = [
            mix(stage.palette.accent, stage.palette.near, 0.5),
            mix(stage.palette.accent, (1.0, 1.0, 1.0), 0.35),
            mix(stage.palette.accent, stage.palette.near, 0.65),
        ]
        canvas.drawPath(path, vertical_gradient(-0.9, 0.0, *stops))
        canvas.save()
        canvas.clipPath(path, skia.ClipOp.kIntersect, True)
        canvas.drawRect(
            skia.Rect.MakeXYWH(shine - 0.04, -1, 0.06, 1),
            paint((1.0, 1.0, 1.0), 0.45, MaskFilter=skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, 0.02)),
        )
        canvas.restore()
        canvas.drawRect(skia.Rect.MakeXYWH(-0.2, -0.4, 0.4, 0.24), paint(mix(stage.palette.light, stage.palette.horizon, 0.2), 0.92))
        canvas.drawRect(skia.Rect.MakeXYWH(-0.12, -0.32, 0.24, 0.02), paint(stage.palette.near, 0.8))
        canvas.drawRect(skia.Rect.MakeXYWH(-0.085, -1.0, 0.17, 0.09), paint(mix(stage.palette.accent2, stage.palette.near, 0.2)))

    return stand(stage, sketch, width=0.5, hop=0.01, tall=0.85)


@element("figure", "a shoe, sneaker, boot, fashion product", "room", "stage", also="shoes, boots, sandals, heels")
def sneaker(stage: Stage) -> Sequence[Layer]:
    """A sneaker that tilts on the beat."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        canvas.translate(0, -0.12)
        canvas.rotate(-6 * moment.beat - 4)
        upper = skia.Path()
        upper.moveTo(-0.52, -0.06)
        upper.cubicTo(-0.58, -0.3, -0.5, -0.55, -0.42, -0.62)
        upper.cubicTo(-0.3, -0.54, -0.2, -0.56, -0.1, -0.6)
        upper.cubicTo(0.05, -0.36, 0.2, -0.28, 0.42, -0.24)
        upper.cubicTo(0.6, -0.2, 0.64, -0.12, 0.62, -0.06)
        upper.close()
        canvas.drawPath(
            upper,
            paint(colour)
            if outline
            else vertical_gradient(
                -0.62, -0.05, mix(stage.palette.accent, (1.0, 1.0, 1.0), 0.3), mix(stage.palette.accent, stage.palette.near, 0.35)
            ),
        )
        canvas.drawRoundRect(
            skia.Rect.MakeXYWH(-0.57, -0.09, 1.22, 0.12),
            0.05,
            0.05,
            paint(colour if outline else mix(stage.palette.light, (1.0, 1.0, 1.0), 0.5)),
        )
        if outline:
            return
        swoop = skia.Path()
        swoop.moveTo(-0.42, -0.3)
        swoop.quadTo(-0.1, -0.02, 0.4, -0.2)
        canvas.drawPath(
            swoop, paint(stage.palette.accent2, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=0.06, StrokeCap=skia.Paint.kRound_Cap)
        )
        for lace in range(5):
            x, y = -0.02 + lace * 0.075, -0.5 + lace * 0.06
            canvas.drawLine(
                x - 0.06,
                y + 0.06,
                x + 0.02,
                y - 0.02,
                paint((1.0, 1.0, 1.0), 0.95, Style=skia.Paint.kStroke_Style, StrokeWidth=0.022, StrokeCap=skia.Paint.kRound_Cap),
            )

    return stand(stage, sketch, width=1.1, hop=0.06, tall=0.6)
