"""Figures of single birds. Flocks are in `things`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import Colour, mix, scale
from gateleg.apps.mv.drawing.elements.figures import stand, tapered
from gateleg.apps.mv.drawing.elements.quadrupeds import DARK, WHITE, blob, coat_of, lit, polygon, stroke
from gateleg.apps.mv.drawing.stage import Layer, Moment, Stage, paint

if TYPE_CHECKING:
    from collections.abc import Sequence

_YELLOW: Colour = (0.95, 0.7, 0.15)


def _wing(canvas: Any, colour: Colour, tips: Colour, side: int, lift: float) -> None:
    """A spread wing with long flight feathers; `lift` is from -1, low, to 1, high."""
    wrist = (side * 0.4, -0.66 - 0.2 * lift)
    tip = (side * 0.82, -0.6 - 0.34 * lift)
    for number in range(8):
        share = number / 7
        start = (side * (0.1 + 0.3 * share), -0.58 + (wrist[1] + 0.58) * share)
        reach = (side * (0.2 + 0.66 * share), -0.34 + (tip[1] + 0.3) * share**1.4)
        tapered(canvas, tips, (0.1, 0.09, 0.02), start, ((start[0] + reach[0]) / 2, (start[1] + reach[1]) / 2), reach)
    blob(
        canvas,
        colour,
        *(
            (side * 0.04, -0.68),
            (side * 0.22, -0.7 - 0.1 * lift),
            (wrist[0], wrist[1] - 0.05),
            (side * 0.6, (wrist[1] + tip[1]) / 2 - 0.02),
        ),
        *((side * 0.44, wrist[1] + 0.1), (side * 0.26, -0.52 - 0.06 * lift), (side * 0.06, -0.46)),
    )


@element("figure", "an eagle, hawk, falcon, a bird of prey", also="raven, crow, vulture, condor, phoenix, parrot, dragon")
def eagle(stage: Stage) -> Sequence[Layer]:
    """An eagle in flight, its wings beating in time."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        feathers = coat_of(stage, (0.36, 0.23, 0.13), colour, outline=outline)
        white, yellow = (lit(stage, own, feathers, outline=outline) for own in (WHITE, _YELLOW))
        dark = feathers if outline else scale(feathers, 0.66)
        canvas.translate(0, -0.34 - 0.04 * math.sin(moment.time))
        for feather in range(5):
            x = 0.055 * (feather - 2)
            tapered(canvas, white, (0.06, 0.08, 0.05), (x * 0.4, -0.36), (x * 1.2, -0.22), (x * 2.0, -0.1 + 0.012 * (feather - 2) ** 2))
        for side in (-1, 1):
            _wing(canvas, feathers, dark, side, 0.25 + 0.6 * math.sin(moment.beats * math.pi))
        blob(
            canvas,
            feathers,
            (-0.1, -0.64),
            (0.0, -0.7),
            (0.1, -0.64),
            (0.12, -0.5),
            (0.07, -0.34),
            (0.0, -0.28),
            (-0.07, -0.34),
            (-0.12, -0.5),
        )
        for side in (-1, 1):
            for claw in (-0.03, 0.0, 0.03):
                stroke(canvas, yellow, 0.018, (side * 0.06, -0.32), (side * 0.07 + claw, -0.27), (side * 0.07 + claw * 1.3, -0.24))
        blob(canvas, white, (-0.09, -0.62), (-0.08, -0.74), (0.0, -0.81), (0.09, -0.78), (0.11, -0.7), (0.08, -0.62), (0.0, -0.58))
        blob(canvas, yellow, (0.07, -0.77), (0.15, -0.76), (0.21, -0.71), (0.2, -0.64), (0.15, -0.69), (0.08, -0.69))
        if not outline:
            canvas.drawCircle(0.05, -0.735, 0.017, paint(DARK))

    return stand(stage, sketch, width=0.5, hop=0.0, tall=0.8)


@element("figure", "an owl", also="a barn owl, screech owl")
def owl(stage: Stage) -> Sequence[Layer]:
    """An owl on a stump, which turns its head."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        feathers = coat_of(stage, (0.46, 0.33, 0.2), colour, outline=outline)
        pale, yellow, wood = (lit(stage, own, feathers, outline=outline) for own in ((0.88, 0.8, 0.66), _YELLOW, (0.3, 0.21, 0.15)))
        dark = feathers if outline else scale(feathers, 0.68)
        polygon(canvas, wood, (-0.2, 0.0), (-0.16, -0.3), (0.18, -0.3), (0.22, 0.0))
        blob(
            canvas,
            feathers,
            (-0.2, -0.36),
            (-0.26, -0.6),
            (-0.2, -0.82),
            (0.0, -0.9),
            (0.2, -0.82),
            (0.26, -0.6),
            (0.2, -0.36),
            (0.0, -0.28),
        )
        blob(canvas, pale, (-0.12, -0.38), (-0.15, -0.56), (0.0, -0.66), (0.15, -0.56), (0.12, -0.38), (0.0, -0.32))
        for side in (-1, 1):
            blob(canvas, dark, (side * 0.2, -0.72), (side * 0.28, -0.56), (side * 0.22, -0.34), (side * 0.15, -0.46), (side * 0.15, -0.62))
            for toe in (0.04, 0.08, 0.12):
                stroke(canvas, yellow, 0.022, (side * toe, -0.32), (side * toe, -0.27))
        if not outline:
            for row in range(3):
                for at in range(4 - row % 2):
                    x = -0.09 + 0.06 * at + 0.03 * (row % 2)
                    stroke(canvas, dark, 0.012, (x - 0.015, -0.55 + 0.07 * row), (x, -0.535 + 0.07 * row), (x + 0.015, -0.55 + 0.07 * row))
        canvas.rotate(7 * math.sin(moment.beats * math.pi / 4), 0.0, -0.76)
        blob(
            canvas,
            feathers,
            (-0.23, -0.8),
            (-0.2, -0.94),
            (0.0, -0.97),
            (0.2, -0.94),
            (0.23, -0.8),
            (0.12, -0.68),
            (0.0, -0.65),
            (-0.12, -0.68),
        )
        for side in (-1, 1):
            polygon(canvas, feathers, (side * 0.09, -0.95), (side * 0.23, -1.06), (side * 0.22, -0.88))
            canvas.drawCircle(side * 0.1, -0.82, 0.115, paint(pale))
            if not outline:
                canvas.drawCircle(side * 0.095, -0.82, 0.07, paint(yellow))
                canvas.drawCircle(side * 0.09, -0.82, 0.04, paint(DARK))
                canvas.drawCircle(side * 0.09 + 0.014, -0.834, 0.012, paint(WHITE))
        polygon(canvas, dark if outline else mix(DARK, _YELLOW, 0.35), (-0.035, -0.79), (0.035, -0.79), (0.0, -0.7))

    return stand(stage, sketch, width=0.5, hop=0.0, tall=0.75)


@element("figure", "a swan, duck, goose", also="heron, flamingo, stork, crane, pelican, seagull")
def swan(stage: Stage) -> Sequence[Layer]:
    """A swan with a curved neck, gliding."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        feathers = coat_of(stage, (0.96, 0.95, 0.93), colour, outline=outline)
        orange, black = (lit(stage, own, feathers, outline=outline) for own in ((0.93, 0.46, 0.12), DARK))
        shade = feathers if outline else scale(feathers, 0.86)
        canvas.translate(0, 0.015 * math.sin(moment.time * 1.6))
        blob(
            canvas,
            feathers,
            (-0.52, -0.3),
            (-0.6, -0.44),
            (-0.4, -0.42),
            (-0.1, -0.44),
            (0.16, -0.4),
            (0.3, -0.28),
            (0.22, -0.08),
            (-0.1, 0.0),
            (-0.4, -0.06),
        )
        sway = 0.02 * math.sin(moment.beats * math.pi / 2)
        tapered(
            canvas,
            feathers,
            (0.2, 0.15, 0.11, 0.1, 0.1, 0.11),
            *((0.2, -0.24), (0.31, -0.42), (0.25 + sway, -0.62), (0.2 + sway, -0.8), (0.27 + sway, -0.95), (0.4 + sway, -0.95)),
        )
        blob(canvas, feathers, (0.3 + sway, -1.0), (0.42 + sway, -1.02), (0.5 + sway, -0.94), (0.44 + sway, -0.88), (0.34 + sway, -0.89))
        blob(canvas, orange, (0.48 + sway, -0.97), (0.58 + sway, -0.92), (0.66 + sway, -0.87), (0.56 + sway, -0.86), (0.46 + sway, -0.89))
        blob(canvas, black, (0.46 + sway, -0.98), (0.53 + sway, -0.96), (0.48 + sway, -0.9), (0.45 + sway, -0.93))
        blob(canvas, shade, (-0.56, -0.5), (-0.3, -0.58), (0.0, -0.5), (0.14, -0.34), (0.0, -0.16), (-0.3, -0.2), (-0.46, -0.36))
        if outline:
            return
        for y in (0.0, 0.07, 0.14):
            stroke(canvas, scale(feathers, 0.76), 0.012, (-0.46 + y, -0.48 + y), (-0.2 + y, -0.44 + y), (0.04, -0.34 + y * 0.9))
        canvas.drawCircle(0.43 + sway, -0.955, 0.013, paint(DARK))

    return stand(stage, sketch, width=0.95, hop=0.0, tall=0.66)


@element("figure", "a penguin", also="puffin")
def penguin(stage: Stage) -> Sequence[Layer]:
    """A penguin that waddles in time."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        black = coat_of(stage, (0.1, 0.11, 0.14), colour, outline=outline)
        white, orange = (lit(stage, own, black, outline=outline) for own in (WHITE, (0.95, 0.55, 0.12)))
        canvas.rotate(5 * math.sin(moment.beats * math.pi))
        for side in (-1, 1):
            blob(canvas, orange, (side * 0.06, -0.05), (side * 0.2, -0.04), (side * 0.2, 0.0), (side * 0.06, 0.0))
            flap = 0.06 * math.sin(moment.beats * math.pi)
            blob(canvas, black, (side * 0.2, -0.66), (side * (0.3 + flap), -0.48), (side * (0.33 + flap), -0.28), (side * 0.22, -0.36))
        blob(
            canvas,
            black,
            (-0.24, -0.3),
            (-0.22, -0.6),
            (-0.14, -0.8),
            (-0.13, -0.94),
            (0.0, -1.0),
            (0.13, -0.94),
            (0.14, -0.8),
            (0.22, -0.6),
            (0.24, -0.3),
            (0.12, -0.05),
            (-0.12, -0.05),
        )
        blob(
            canvas,
            white,
            (-0.16, -0.3),
            (-0.15, -0.55),
            (-0.08, -0.72),
            (0.0, -0.75),
            (0.08, -0.72),
            (0.15, -0.55),
            (0.16, -0.3),
            (0.08, -0.09),
            (-0.08, -0.09),
        )
        for side in (-1, 1):
            blob(canvas, white, (side * 0.02, -0.84), (side * 0.05, -0.93), (side * 0.1, -0.9), (side * 0.1, -0.8), (side * 0.05, -0.76))
            if not outline:
                canvas.drawCircle(side * 0.055, -0.88, 0.018, paint(DARK))
        blob(canvas, orange, (-0.045, -0.83), (0.0, -0.85), (0.045, -0.83), (0.0, -0.76))

    return stand(stage, sketch, width=0.5, hop=0.03, tall=0.68)
