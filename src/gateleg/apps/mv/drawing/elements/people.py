"""Figures: people, robots and ghosts, drawn where no picture of them was given."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import Colour, mix, scale
from gateleg.apps.mv.drawing.elements.standing import bent, limb, stand
from gateleg.apps.mv.drawing.stage import Layer, Moment, Stage, glow, paint, upright

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class _Build:
    """The proportions of a body."""

    limb: float = 0.05
    shoulders: float = 0.11
    hips: float = 0.06
    head: float = 0.062
    boxy: bool = False
    stride: float = 1.0
    arms: str = "swing"


def body(canvas: Any, moment: Moment, colour: Colour, build: _Build) -> tuple[float, float]:
    """A walking or dancing body; returns where its head is."""
    phase = moment.beats * math.pi
    stride = 0.42 * build.stride
    bob = 0.012 * abs(math.sin(phase)) * max(build.stride, 0.5)
    hip, neck = -0.48 - bob, -0.8 - bob
    dim = scale(colour, 0.8)
    for side, tone in ((1, dim), (-1, colour)):
        swing = math.sin(phase + (0 if side > 0 else math.pi))
        knee, foot = bent(side * build.hips * 0.5, hip, swing * stride, -max(0.15 - 0.55 * swing, 0.0) * build.stride, 0.24, 0.24)
        foot = (foot[0], min(foot[1], -0.012))
        limb(canvas, tone, build.limb * 1.25, (side * build.hips * 0.5, hip), knee, foot)
        limb(canvas, tone, build.limb * 0.85, foot, (foot[0] + 0.045, foot[1] + 0.004))
        _arm(canvas, tone, build, side, neck, swing, moment)
    torso = skia.Path()
    torso.moveTo(-build.shoulders, neck + 0.03)
    torso.quadTo(0, neck - 0.035, build.shoulders, neck + 0.03)
    torso.lineTo(build.hips * 1.15, hip + 0.035)
    torso.lineTo(-build.hips * 1.15, hip + 0.035)
    torso.close()
    canvas.drawPath(torso, paint(colour))
    head = (0.008, neck - 0.035 - build.head * 1.15)
    limb(canvas, colour, build.limb * 0.9, (0, neck), (0.004, neck - 0.05))
    if build.boxy:
        canvas.drawRoundRect(
            skia.Rect.MakeXYWH(head[0] - build.head, head[1] - build.head, build.head * 2, build.head * 1.9), 0.02, 0.02, paint(colour)
        )
    else:
        canvas.drawOval(
            skia.Rect.MakeXYWH(head[0] - build.head * 0.82, head[1] - build.head, build.head * 1.64, build.head * 2.1), paint(colour)
        )
    return head


def _arm(canvas: Any, tone: Colour, build: _Build, side: int, neck: float, swing: float, moment: Moment) -> None:
    start = (side * build.shoulders * 0.92, neck + 0.045)
    if build.arms == "up":
        angle = side * (2.6 - 0.35 * moment.beat) + 0.12 * math.sin(moment.beats * math.pi)
        elbow, hand = bent(*start, angle, side * 0.35, 0.17, 0.17)
    elif build.arms == "hold":
        elbow, hand = bent(*start, side * 0.35, -side * 1.7, 0.16, 0.15)
    elif build.arms == "mic":
        elbow, hand = bent(*start, side * 0.5, side * 2.2 if side < 0 else -1.9, 0.16, 0.15)
    else:
        elbow, hand = bent(*start, -swing * 0.45 * build.stride, 0.35, 0.17, 0.16)
    limb(canvas, tone, build.limb, start, elbow, hand)


@element(
    "figure",
    "a man, a person walking, somebody, a stranger, a hero, father, soldier, boxer, knight, sailor, worker, an old man",
    also="king, prince, farmer, baker, cook, driver, doctor, teacher, priest, policeman, thief, gangster, grandfather, uncle, brother, son, husband, boy friend, athlete, football player, goalkeeper, runner, swimmer, surfer, skater, climber, fisherman, hunter, shopkeeper, keeper, clerk, student, writer, painter, carpenter, miner, pilot, captain, guard, judge, monk, traveller, tourist, beggar, he",
)
def walking_person(stage: Stage) -> Sequence[Layer]:
    """Somebody in a coat, walking in time."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        head = body(canvas, moment, colour, _Build())
        coat = skia.Path()
        coat.moveTo(-0.1, -0.77)
        coat.lineTo(0.1, -0.77)
        coat.lineTo(0.11 + 0.015 * math.sin(moment.beats * math.pi), -0.36)
        coat.lineTo(-0.13 - 0.02 * moment.beat, -0.37)
        coat.close()
        canvas.drawPath(coat, paint(colour if outline else mix(colour, stage.palette.accent, 0.25)))
        canvas.drawArc(
            skia.Rect.MakeXYWH(head[0] - 0.06, head[1] - 0.075, 0.12, 0.13),
            170,
            200,
            True,
            paint(colour if outline else scale(colour, 0.6)),
        )

    return stand(stage, sketch)


@element(
    "figure",
    "a woman, a girl, she, mother, a lady in a dress, singer, queen",
    also="nurse, grandmother, aunt, sister, daughter, wife, bride, princess, waitress, actress, witch, ballerina, girlfriend",
)
def woman(stage: Stage) -> Sequence[Layer]:
    """A woman whose dress and hair swing."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        swing = 0.04 * math.sin(moment.beats * math.pi)
        head = body(canvas, moment, colour, _Build(limb=0.042, shoulders=0.085, hips=0.055, head=0.058, stride=0.7))
        dress = skia.Path()
        dress.moveTo(-0.075, -0.76)
        dress.lineTo(0.075, -0.76)
        dress.quadTo(0.045, -0.6, 0.06, -0.54)
        dress.quadTo(0.13, -0.36, 0.19 + swing, -0.2 + 0.02 * moment.low)
        dress.quadTo(0, -0.15, -0.18 + swing, -0.2)
        dress.quadTo(-0.12, -0.36, -0.06, -0.54)
        dress.quadTo(-0.045, -0.6, -0.075, -0.76)
        canvas.drawPath(
            dress,
            paint(colour)
            if outline
            else upright(-0.76, -0.15, mix(stage.palette.accent, colour, 0.15), mix(stage.palette.accent, stage.palette.near, 0.45)),
        )
        hair = skia.Path()
        x, y = head
        hair.moveTo(x + 0.05, y - 0.03)
        hair.cubicTo(x + 0.03, y - 0.1, x - 0.08, y - 0.09, x - 0.065, y + 0.02)
        hair.cubicTo(x - 0.07, y + 0.1, x - 0.13 - swing, y + 0.14, x - 0.1 - swing * 1.5, y + 0.2)
        hair.cubicTo(x - 0.03, y + 0.16, x - 0.02, y + 0.07, x - 0.015, y + 0.0)
        hair.close()
        canvas.drawPath(hair, paint(colour if outline else scale(mix(colour, stage.palette.accent2, 0.2), 0.75)))

    return stand(stage, sketch)


@element("figure", "people dancing, a dancer, dance, party, we dance", also="dancing, gymnasts")
def dancers(stage: Stage) -> Sequence[Layer]:
    """Three dancers with raised arms, each with a step of their own."""
    _x, _foot, _height = stage.spot

    def one(dx: float, size: float, late: float, tint: Colour) -> list[Layer]:
        def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
            canvas.translate(dx, 0)
            canvas.rotate(7 * math.sin((moment.beats + late) * math.pi))
            body(canvas, moment, colour if outline else mix(colour, tint, 0.4), _Build(limb=0.045, arms="up", stride=0.8))

        return stand(stage, sketch, hop=0.06, tall=size)

    return [
        *one(-0.55, 0.85, 0.5, stage.palette.accent2),
        *one(0.55, 0.9, 0.25, stage.palette.accent2),
        *one(0.0, 1.0, 0.0, stage.palette.accent),
    ]


@element(
    "figure",
    "a couple, two lovers, two people together, friends",
    also="we, they, you and I, friends, brothers, sisters, parents, twins, newlyweds, family, neighbours",
)
def couple(stage: Stage) -> Sequence[Layer]:
    """Two people side by side."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        for dx, tint, tall in ((-0.13, stage.palette.accent2, 1.0), (0.14, stage.palette.accent, 0.93)):
            canvas.save()
            canvas.translate(dx, 0)
            canvas.scale(tall, tall)
            body(canvas, moment, colour if outline else mix(colour, tint, 0.28), _Build(stride=0.55))
            canvas.restore()

    return stand(stage, sketch, width=0.6)


@element("figure", "a robot, android, cyborg, machine that walks")
def robot(stage: Stage) -> Sequence[Layer]:
    """A metal body with plates, glowing eyes and a light in its chest."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        metal = colour if outline else mix(colour, (0.75, 0.8, 0.86), 0.45)
        head = body(canvas, moment, metal, _Build(limb=0.062, shoulders=0.145, hips=0.085, head=0.07, boxy=True, stride=0.85))
        if outline:
            return
        plate = skia.Rect.MakeXYWH(-0.115, -0.78, 0.23, 0.2)
        canvas.drawRoundRect(plate, 0.03, 0.03, upright(-0.78, -0.58, (0.93, 0.95, 0.98), mix(metal, stage.palette.near, 0.45)))
        for side in (-1, 1):
            canvas.drawCircle(side * 0.14, -0.755, 0.04, paint(mix(metal, (1.0, 1.0, 1.0), 0.35)))
            eye = head[0] + side * 0.028 + 0.01
            glow(canvas, eye, head[1] - 0.005, 0.06, stage.palette.accent, 0.7 + 0.3 * moment.beat)
            canvas.drawCircle(eye, head[1] - 0.005, 0.014, paint(mix(stage.palette.accent, (1.0, 1.0, 1.0), 0.5)))
        canvas.drawLine(
            head[0], head[1] - 0.07, head[0], head[1] - 0.13, paint(metal, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=0.01)
        )
        glow(canvas, head[0], head[1] - 0.135, 0.04 + 0.02 * moment.beat, stage.palette.accent2, 0.9)
        glow(canvas, 0, -0.68, 0.08 + 0.04 * moment.low, stage.palette.accent, 0.8)
        canvas.drawCircle(0, -0.68, 0.022, paint(mix(stage.palette.accent, (1.0, 1.0, 1.0), 0.4)))

    return stand(stage, sketch)


@element("figure", "an astronaut in a space suit", "space", "outdoors")
def astronaut(stage: Stage) -> Sequence[Layer]:
    """A white suit with a golden visor."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        suit = colour if outline else mix(colour, (0.95, 0.96, 0.98), 0.7)
        canvas.drawRoundRect(skia.Rect.MakeXYWH(-0.17, -0.8, 0.16, 0.3), 0.03, 0.03, paint(suit if outline else scale(suit, 0.7)))
        head = body(canvas, moment, suit, _Build(limb=0.09, shoulders=0.12, hips=0.1, head=0.09, stride=0.5))
        if outline:
            return
        visor = skia.Rect.MakeXYWH(head[0] - 0.035, head[1] - 0.05, 0.115, 0.1)
        canvas.drawOval(
            visor,
            upright(
                head[1] - 0.05,
                head[1] + 0.05,
                mix(stage.palette.light, (1.0, 0.8, 0.35), 0.6),
                mix(stage.palette.near, (0.5, 0.3, 0.05), 0.4),
            ),
        )
        canvas.drawOval(skia.Rect.MakeXYWH(head[0] + 0.0, head[1] - 0.038, 0.03, 0.025), paint((1.0, 1.0, 1.0), 0.85))
        canvas.drawRect(skia.Rect.MakeXYWH(-0.05, -0.68, 0.1, 0.06), paint(mix(suit, stage.palette.accent, 0.3)))
        glow(canvas, 0.02, -0.65, 0.03, stage.palette.accent, 0.8 + 0.2 * moment.beat)

    return stand(stage, sketch, width=0.45, hop=0.08)


@element(
    "figure",
    "a singer with a microphone, a musician, guitarist, rocker, band",
    "stage",
    also="guitar, violin, trumpet, drummer, choir, orchestra",
)
def guitarist(stage: Stage) -> Sequence[Layer]:
    """A player whose instrument swings on the beat."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        canvas.rotate(4 * math.sin(moment.beats * math.pi))
        head = body(canvas, moment, colour, _Build(arms="hold", stride=0.35))
        canvas.drawCircle(head[0] - 0.01, head[1] - 0.015, 0.075, paint(colour if outline else scale(colour, 0.7)))
        canvas.save()
        canvas.translate(0.02, -0.52)
        canvas.rotate(-28 + 5 * moment.beat)
        wood = colour if outline else mix(stage.palette.accent, stage.palette.near, 0.2)
        canvas.drawCircle(-0.09, 0, 0.085, paint(wood))
        canvas.drawCircle(0.02, 0, 0.06, paint(wood))
        canvas.drawRect(skia.Rect.MakeXYWH(0.03, -0.012, 0.33, 0.024), paint(colour if outline else mix(colour, stage.palette.light, 0.35)))
        canvas.drawRect(skia.Rect.MakeXYWH(0.35, -0.022, 0.07, 0.044), paint(colour))
        canvas.restore()

    return stand(stage, sketch)


@element("figure", "a child, a boy, a little girl, kid, baby", also="children, kids, schoolboy, schoolgirl, toddler, son, daughter")
def child(stage: Stage) -> Sequence[Layer]:
    """A small figure with a balloon."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        body(canvas, moment, colour, _Build(limb=0.062, shoulders=0.1, hips=0.08, head=0.1, stride=0.8))
        if outline:
            return
        x, y = 0.26 + 0.03 * math.sin(moment.time), -1.35 - 0.03 * moment.beat
        canvas.drawLine(0.12, -0.55, x, y + 0.15, paint(stage.palette.light, 0.7, Style=skia.Paint.kStroke_Style, StrokeWidth=0.006))
        canvas.drawOval(
            skia.Rect.MakeXYWH(x - 0.13, y - 0.16, 0.26, 0.32),
            upright(
                y - 0.16, y + 0.16, mix(stage.palette.accent, (1.0, 1.0, 1.0), 0.35), mix(stage.palette.accent, stage.palette.near, 0.25)
            ),
        )

    return stand(stage, sketch, tall=0.62)


@element("figure", "a ghost, angel, spirit, death, shadow, demon", also="soul, devil, vampire, memory of somebody, skeleton")
def ghost(stage: Stage) -> Sequence[Layer]:
    """A pale figure that floats."""
    x, foot, height = stage.spot

    def draw(canvas: Any, moment: Moment) -> None:
        canvas.save()
        canvas.translate(x + 0.02 * math.sin(moment.time * 0.7), foot - 0.05 - 0.03 * math.sin(moment.time * 0.9) - 0.02 * moment.beat)
        canvas.scale(height, height)
        glow(canvas, 0, -0.55, 0.8, stage.palette.accent, 0.3 + 0.2 * moment.low)
        path = skia.Path()
        path.moveTo(-0.24, 0.0)
        path.cubicTo(-0.26, -0.4, -0.2, -1.0, 0.0, -1.0)
        path.cubicTo(0.2, -1.0, 0.26, -0.4, 0.24, 0.0)
        for fold in range(6):
            left = 0.24 - fold * 0.08
            path.quadTo(left - 0.02, 0.08 + 0.04 * math.sin(moment.time * 2 + fold), left - 0.08, 0.0)
        path.close()
        pale = mix(stage.palette.light, (1.0, 1.0, 1.0), 0.4)
        canvas.drawPath(path, upright(-1.0, 0.05, (pale, 0.92), (pale, 0.6), (pale, 0.0)))
        for side in (-1, 1):
            canvas.drawOval(skia.Rect.MakeXYWH(side * 0.075 - 0.028, -0.82, 0.056, 0.085), paint(stage.palette.near, 0.85))
        canvas.restore()

    return [Layer(1.0, draw)]
