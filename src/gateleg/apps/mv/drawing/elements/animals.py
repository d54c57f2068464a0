"""Figures: animals, drawn where no picture of them was given."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import Colour, mix, scale
from gateleg.apps.mv.drawing.elements.standing import bent, limb, stand
from gateleg.apps.mv.drawing.stage import Layer, Moment, Stage, glow, paint, upright

if TYPE_CHECKING:
    from collections.abc import Sequence


def _beast(canvas: Any, moment: Moment, colour: Colour, neck: float, leg: float, thick: float) -> tuple[float, float]:
    """A four-legged body that trots in time; returns where its head is."""
    phase = moment.beats * math.pi
    top = -leg - 0.22
    for number, x in enumerate((-0.34, -0.26, 0.24, 0.32)):
        swing = math.sin(phase + number * math.pi * 0.75) * 0.4
        knee, foot = bent(x, -leg - 0.06, swing, -abs(swing) * 0.7, leg * 0.52, leg * 0.55)
        limb(canvas, scale(colour, 0.8) if number % 2 else colour, 0.06 * thick, (x, -leg - 0.08), knee, (foot[0], min(foot[1], -0.01)))
    trunk = skia.Path()
    trunk.moveTo(-0.42, top + 0.06)
    trunk.cubicTo(-0.2, top - 0.03, 0.15, top + 0.03, 0.36, top - 0.02)
    trunk.cubicTo(0.44, top + 0.1, 0.38, top + 0.24, 0.2, top + 0.24)
    trunk.cubicTo(0.0, top + 0.2, -0.2, top + 0.18, -0.36, top + 0.25)
    trunk.cubicTo(-0.47, top + 0.2, -0.46, top + 0.1, -0.42, top + 0.06)
    canvas.drawPath(trunk, paint(colour))
    nod = 0.03 * math.sin(phase)
    head = (0.36 + neck * 0.62, top - neck * 0.75 + nod)
    limb(canvas, colour, 0.15 * thick, (0.3, top + 0.08), head)
    return head


@element(
    "figure", "a horse running, wild horses, rider, cowboy", also="pony, donkey, camel, deer, unicorn, zebra, giraffe, knight on a horse"
)
def horse(stage: Stage) -> Sequence[Layer]:
    """A horse with a flying mane."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        head = _beast(canvas, moment, colour, 0.42, 0.5, 1.0)
        limb(canvas, colour, 0.1, head, (head[0] + 0.15, head[1] + 0.12))
        canvas.drawLine(
            head[0] - 0.01,
            head[1] - 0.03,
            head[0] - 0.01,
            head[1] - 0.1,
            paint(colour, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=0.035, StrokeCap=skia.Paint.kRound_Cap),
        )
        for strand in range(7):
            x, y = head[0] - 0.04 * strand, head[1] + 0.045 * strand
            limb(
                canvas,
                colour if outline else mix(colour, stage.palette.accent, 0.3),
                0.03,
                (x, y),
                (x - 0.12, y - 0.02 + 0.03 * math.sin(moment.time * 4 + strand)),
            )
        limb(canvas, colour, 0.04, (-0.42, -0.66), (-0.58, -0.58 + 0.03 * math.sin(moment.time * 3)), (-0.62, -0.36))

    return stand(stage, sketch, width=0.8, hop=0.05)


@element("figure", "a cat, kitten", also="lynx")
def cat(stage: Stage) -> Sequence[Layer]:
    """A cat with a tail that keeps time."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        head = _beast(canvas, moment, colour, 0.16, 0.3, 1.0)
        canvas.drawCircle(head[0] + 0.03, head[1], 0.14, paint(colour))
        for side in (-1, 1):
            ear = skia.Path()
            ear.moveTo(head[0] + 0.03 + side * 0.12, head[1] - 0.04)
            ear.lineTo(head[0] + 0.03 + side * 0.11, head[1] - 0.23)
            ear.lineTo(head[0] + 0.03 + side * 0.02, head[1] - 0.11)
            canvas.drawPath(ear, paint(colour))
            if not outline:
                glow(canvas, head[0] + 0.04 + side * 0.05, head[1] - 0.01, 0.05, stage.palette.accent, 0.8)
                canvas.drawOval(skia.Rect.MakeXYWH(head[0] + 0.025 + side * 0.05, head[1] - 0.03, 0.03, 0.04), paint(stage.palette.accent))
        wave = math.sin(moment.beats * math.pi / 2) * 0.12
        tail = skia.Path()
        tail.moveTo(-0.4, -0.42)
        tail.cubicTo(-0.65, -0.4, -0.55 + wave, -0.7, -0.62 + wave, -0.85)
        canvas.drawPath(tail, paint(colour, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=0.06, StrokeCap=skia.Paint.kRound_Cap))

    return stand(stage, sketch, width=0.8, tall=0.55)


@element(
    "figure",
    "a dog, wolf, fox, animal, beast, bear, lion",
    also="tiger, leopard, panther, puppy, hound, coyote, sheep, goat, pig, cow, rabbit, elephant, monkey",
)
def wolf(stage: Stage) -> Sequence[Layer]:
    """A wolf, trotting."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        head = _beast(canvas, moment, colour, 0.2, 0.42, 1.1)
        muzzle = skia.Path()
        muzzle.moveTo(head[0] - 0.08, head[1] - 0.1)
        muzzle.lineTo(head[0] + 0.1, head[1] - 0.08)
        muzzle.lineTo(head[0] + 0.27, head[1] + 0.03)
        muzzle.lineTo(head[0] + 0.1, head[1] + 0.09)
        muzzle.lineTo(head[0] - 0.1, head[1] + 0.1)
        muzzle.close()
        canvas.drawPath(muzzle, paint(colour))
        for x in (-0.06, 0.03):
            ear = skia.Path()
            ear.moveTo(head[0] + x - 0.04, head[1] - 0.07)
            ear.lineTo(head[0] + x, head[1] - 0.22)
            ear.lineTo(head[0] + x + 0.06, head[1] - 0.07)
            canvas.drawPath(ear, paint(colour))
        if not outline:
            glow(canvas, head[0] + 0.08, head[1] - 0.03, 0.04, stage.palette.accent, 0.9)
        limb(canvas, colour, 0.09, (-0.4, -0.58), (-0.55, -0.5), (-0.66, -0.42 + 0.03 * math.sin(moment.time * 3)))

    return stand(stage, sketch, width=0.8, tall=0.75)


@element("figure", "a whale or a shark in the sea", "water", also="dolphin, orca, submarine, shark")
def whale(stage: Stage) -> Sequence[Layer]:
    """A whale that glides through the frame."""

    def draw(canvas: Any, moment: Moment) -> None:
        canvas.save()
        canvas.translate(stage.spot[0] - 0.1 + moment.time * 0.02, 0.46 + 0.02 * math.sin(moment.time * 0.6))
        canvas.scale(0.62, 0.62)
        canvas.rotate(-4 + 2 * math.sin(moment.time * 0.5))
        tail = 0.06 * math.sin(moment.beats * math.pi / 2)
        path = skia.Path()
        path.moveTo(0.62, 0.02)
        path.cubicTo(0.55, -0.22, 0.1, -0.24, -0.35, -0.06)
        path.lineTo(-0.62, -0.02 + tail)
        path.lineTo(-0.85, -0.16 + tail * 2)
        path.quadTo(-0.75, 0.0 + tail, -0.84, 0.15 + tail * 2)
        path.lineTo(-0.62, 0.05 + tail)
        path.cubicTo(-0.2, 0.16, 0.3, 0.22, 0.62, 0.02)
        canvas.drawPath(
            path, upright(-0.2, 0.2, mix(stage.palette.coat or stage.palette.far, stage.palette.light, 0.25), stage.palette.near)
        )
        fin = skia.Path()
        fin.moveTo(0.2, 0.1)
        fin.quadTo(0.05, 0.3 + tail, -0.1, 0.34 + tail)
        fin.quadTo(0.0, 0.2, 0.05, 0.12)
        canvas.drawPath(fin, paint(stage.palette.near))
        canvas.drawCircle(0.44, -0.02, 0.014, paint(stage.palette.light))
        canvas.restore()

    return [Layer(0.7, draw)]
