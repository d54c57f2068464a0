"""Figures of people, robots and ghosts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import Colour, mix, scale
from gateleg.apps.mv.drawing.elements.figures import bent, stand, tapered
from gateleg.apps.mv.drawing.stage import Layer, Moment, Stage, glow, paint, vertical_gradient

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class _Build:
    """The proportions and the movement of a body."""

    limb: float = 0.05
    shoulders: float = 0.11
    hips: float = 0.06
    head: float = 0.062
    boxy: bool = False
    stride: float = 1.0
    arms: str = "swing"


@dataclass(frozen=True, slots=True)
class _Clothes:
    """The colours of a body from head to foot."""

    skin: Colour
    hair: Colour
    top: Colour
    bottom: Colour
    shoes: Colour
    #: whether the sleeves are long
    sleeves: bool = True
    #: the hair style
    style: str = "short"

    @classmethod
    def plain(cls, colour: Colour) -> _Clothes:
        """One colour from head to foot: an outline, or metal."""
        return cls(colour, colour, colour, colour, colour, style="")


#: colours of skin and of hair, which go together in any way
_SKINS: tuple[Colour, ...] = ((0.95, 0.76, 0.65), (0.87, 0.64, 0.5), (0.72, 0.49, 0.36), (0.52, 0.34, 0.25), (0.38, 0.25, 0.19))
_HAIRS: tuple[Colour, ...] = ((0.1, 0.08, 0.09), (0.26, 0.16, 0.11), (0.45, 0.28, 0.15), (0.13, 0.11, 0.12), (0.72, 0.52, 0.28))


def _dressed(
    stage: Stage, colour: Colour, number: int, top: Colour, bottom: Colour, *, sleeves: bool = True, style: str = "short"
) -> _Clothes:
    """Clothes in the light of the scene. Skin and hair depend on the stage's `cast` and on `number`."""
    who = stage.cast + number * 3

    def lit(own: Colour, share: float = 0.42) -> Colour:
        return mix(mix(own, stage.palette.light, 0.12), colour, share)

    return _Clothes(
        skin=lit(_SKINS[who % len(_SKINS)], 0.35),
        hair=lit(_HAIRS[(who + who // 5) % len(_HAIRS)], 0.3),
        top=top,
        bottom=bottom,
        shoes=scale(mix(bottom, stage.palette.near, 0.4), 0.75),
        sleeves=sleeves,
        style=style,
    )


def body(canvas: Any, moment: Moment, build: _Build, worn: _Clothes) -> tuple[float, float]:
    """Draw a walking or dancing body, seen half from the side, and return the position of its head."""
    phase = moment.beats * math.pi
    stride = 0.42 * build.stride
    bob = 0.012 * abs(math.sin(phase)) * max(build.stride, 0.5)
    hip, neck = -0.48 - bob, -0.8 - bob
    for side, tone in ((1, 0.8), (-1, 1.0)):
        swing = math.sin(phase + (0 if side > 0 else math.pi))
        _leg(canvas, worn, build, side, hip, swing, stride, tone)
        if side > 0:
            _arm(canvas, worn, build, side, neck, swing, moment, tone)
    _torso(canvas, worn, build, hip, neck)
    head = (0.008, neck - 0.035 - build.head * 1.15)
    tapered(canvas, scale(worn.skin, 0.86), (build.limb * 0.95, build.limb * 0.8), (0.0, neck + 0.01), (0.004, neck - 0.05))
    _head(canvas, worn, build, head)
    _arm(canvas, worn, build, -1, neck, math.sin(phase + math.pi), moment, 1.0)
    return head


def _leg(canvas: Any, worn: _Clothes, build: _Build, side: int, hip: float, swing: float, stride: float, tone: float) -> None:
    start = (side * build.hips * 0.5, hip)
    knee, foot = bent(*start, swing * stride, -max(0.15 - 0.55 * swing, 0.0) * build.stride, 0.24, 0.24)
    foot = (foot[0], min(foot[1], -0.014))
    wide = build.limb
    tapered(canvas, scale(worn.bottom, tone), (wide * 1.55, wide * 1.1, wide * 0.78), start, knee, foot)
    tapered(canvas, scale(worn.shoes, tone), (wide * 0.9, wide * 0.55), foot, (foot[0] + 0.055, foot[1] + 0.006))


def _torso(canvas: Any, worn: _Clothes, build: _Build, hip: float, neck: float) -> None:
    wide, narrow = build.shoulders, build.hips * 1.2
    waist = neck + 0.62 * (hip - neck)
    torso = skia.Path()
    torso.moveTo(-0.028, neck - 0.022)
    torso.cubicTo(-wide * 0.7, neck - 0.012, -wide * 1.04, neck + 0.01, -wide, neck + 0.07)
    torso.cubicTo(-wide * 0.9, waist - 0.08, -narrow * 0.98, waist - 0.02, -narrow * 1.08, hip + 0.035)
    torso.lineTo(narrow * 1.08, hip + 0.035)
    torso.cubicTo(narrow * 0.98, waist - 0.02, wide * 0.9, waist - 0.08, wide, neck + 0.07)
    torso.cubicTo(wide * 1.04, neck + 0.01, wide * 0.7, neck - 0.012, 0.028, neck - 0.022)
    torso.close()
    canvas.drawPath(torso, paint(worn.top))


def _head(canvas: Any, worn: _Clothes, build: _Build, head: tuple[float, float]) -> None:
    (x, y), size = head, build.head
    if build.boxy:
        canvas.drawRoundRect(skia.Rect.MakeXYWH(x - size, y - size, size * 2, size * 1.9), 0.02, 0.02, paint(worn.skin))
        return
    face = skia.Path()
    face.moveTo(x - size * 0.8, y - size * 0.25)
    face.cubicTo(x - size * 0.85, y - size * 1.25, x + size * 0.85, y - size * 1.25, x + size * 0.8, y - size * 0.2)
    face.cubicTo(x + size * 0.82, y + size * 0.55, x + size * 0.4, y + size * 1.08, x + size * 0.08, y + size * 1.1)
    face.cubicTo(x - size * 0.4, y + size * 1.08, x - size * 0.78, y + size * 0.5, x - size * 0.8, y - size * 0.25)
    if worn.style == "long":
        _long_hair(canvas, worn, head, size)
    canvas.drawPath(face, paint(worn.skin))
    if worn.style:
        _features(canvas, worn, head, size)
        _hair(canvas, worn, head, size)


def _features(canvas: Any, worn: _Clothes, head: tuple[float, float], size: float) -> None:
    """Eyes, nose and mouth of a face that looks ahead and slightly to the side."""
    x, y = head
    dark, line = scale(worn.skin, 0.28), {"Style": skia.Paint.kStroke_Style, "StrokeCap": skia.Paint.kRound_Cap}
    for dx in (-0.12, 0.48):
        canvas.drawOval(skia.Rect.MakeXYWH(x + (dx - 0.09) * size, y - 0.08 * size, 0.18 * size, 0.22 * size), paint(dark))
        canvas.drawLine(
            x + (dx - 0.17) * size,
            y - 0.3 * size,
            x + (dx + 0.17) * size,
            y - 0.33 * size,
            paint(worn.hair, 0.9, StrokeWidth=0.07 * size, **line),
        )
    nose = skia.Path()
    nose.moveTo(x + 0.24 * size, y + 0.05 * size)
    nose.quadTo(x + 0.36 * size, y + 0.3 * size, x + 0.2 * size, y + 0.36 * size)
    canvas.drawPath(nose, paint(scale(worn.skin, 0.72), 1.0, StrokeWidth=0.07 * size, **line))
    mouth = skia.Path()
    mouth.moveTo(x + 0.02 * size, y + 0.62 * size)
    mouth.quadTo(x + 0.2 * size, y + 0.74 * size, x + 0.4 * size, y + 0.6 * size)
    canvas.drawPath(mouth, paint(mix(scale(worn.skin, 0.6), (0.6, 0.1, 0.12), 0.35), 1.0, StrokeWidth=0.09 * size, **line))
    canvas.drawOval(skia.Rect.MakeXYWH(x - 0.92 * size, y - 0.12 * size, 0.26 * size, 0.42 * size), paint(scale(worn.skin, 0.88)))


def _hair(canvas: Any, worn: _Clothes, head: tuple[float, float], size: float) -> None:
    """Hair over the forehead and behind the ear."""
    x, y = head
    hair = skia.Path()
    hair.moveTo(x - size * 0.72, y + size * 0.12)
    hair.cubicTo(x - size * 1.2, y - size * 0.5, x - size * 0.8, y - size * 1.45, x + size * 0.1, y - size * 1.36)
    hair.cubicTo(x + size * 0.85, y - size * 1.32, x + size * 1.05, y - size * 0.7, x + size * 0.84, y - size * 0.32)
    hair.cubicTo(x + size * 0.7, y - size * 0.62, x + size * 0.35, y - size * 0.7, x - size * 0.05, y - size * 0.66)
    hair.cubicTo(x - size * 0.4, y - size * 0.6, x - size * 0.52, y - size * 0.4, x - size * 0.6, y - size * 0.1)
    hair.close()
    canvas.drawPath(hair, paint(worn.hair))


def _long_hair(canvas: Any, worn: _Clothes, head: tuple[float, float], size: float) -> None:
    """The hair over the shoulders, behind the face."""
    x, y = head
    hair = skia.Path()
    hair.moveTo(x + size * 0.7, y - size * 0.9)
    hair.cubicTo(x - size * 0.6, y - size * 1.7, x - size * 1.5, y - size * 0.6, x - size * 1.12, y + size * 0.6)
    hair.cubicTo(x - size * 1.3, y + size * 1.5, x - size * 1.6, y + size * 2.0, x - size * 1.25, y + size * 2.7)
    hair.cubicTo(x - size * 0.4, y + size * 2.6, x + size * 0.2, y + size * 1.9, x + size * 0.55, y + size * 0.9)
    hair.close()
    canvas.drawPath(hair, paint(scale(worn.hair, 0.85)))


def _arm(canvas: Any, worn: _Clothes, build: _Build, side: int, neck: float, swing: float, moment: Moment, tone: float) -> None:
    start = (side * build.shoulders * 0.86, neck + 0.05)
    if build.arms == "up":
        angle = side * (2.6 - 0.35 * moment.beat) + 0.12 * math.sin(moment.beats * math.pi)
        elbow, hand = bent(*start, angle, side * 0.35, 0.17, 0.17)
    elif build.arms == "hold":
        elbow, hand = bent(*start, side * 0.35, -side * 1.7, 0.16, 0.15)
    elif build.arms == "mic":
        elbow, hand = bent(*start, side * 0.5, side * 2.2 if side < 0 else -1.9, 0.16, 0.15)
    elif build.arms == "hang":
        elbow, hand = bent(*start, side * 0.12 - 0.03 * swing, 0.08 * side, 0.17, 0.16)
    else:
        elbow, hand = bent(*start, -swing * 0.45 * build.stride, 0.35, 0.17, 0.16)
    wide, skin, top = build.limb, scale(worn.skin, tone), scale(worn.top, tone * 0.92)
    tapered(canvas, top if worn.sleeves else skin, (wide * 0.92, wide * 0.7), elbow, hand)
    tapered(canvas, top, (wide * 1.2, wide * 0.95), start, elbow)
    if worn.sleeves:
        canvas.drawCircle(*hand, wide * 0.5, paint(skin))
    else:
        canvas.drawCircle(*hand, wide * 0.46, paint(skin))


@element(
    "figure",
    "a man, a person walking, somebody, a stranger, a hero, father, soldier, boxer, knight, sailor, worker, an old man",
    also="king, prince, farmer, baker, cook, driver, doctor, teacher, priest, policeman, thief, gangster, grandfather, uncle, brother, son, husband, boy friend, athlete, football player, goalkeeper, runner, swimmer, surfer, skater, climber, fisherman, hunter, shopkeeper, keeper, clerk, student, writer, painter, carpenter, miner, pilot, captain, guard, judge, monk, traveller, tourist, beggar, he",
)
def walking_person(stage: Stage) -> Sequence[Layer]:
    """Somebody in a coat, walking in time."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        cloth = mix(colour, stage.palette.accent, 0.3)
        worn = _Clothes.plain(colour) if outline else _dressed(stage, colour, 0, cloth, scale(mix(colour, stage.palette.near, 0.35), 0.8))
        body(canvas, moment, _Build(), worn)
        coat = skia.Path()
        sway = 0.015 * math.sin(moment.beats * math.pi)
        coat.moveTo(-0.074, -0.6)
        coat.lineTo(0.074, -0.6)
        coat.quadTo(0.1, -0.48, 0.108 + sway, -0.34)
        coat.quadTo(0.0, -0.325, -0.125 - 0.02 * moment.beat, -0.35)
        coat.quadTo(-0.1, -0.48, -0.074, -0.6)
        canvas.drawPath(coat, paint(worn.top))
        if outline:
            return
        seam = scale(worn.top, 0.7)
        canvas.drawLine(0.018, -0.76, 0.022 + sway, -0.35, paint(seam, 0.9, Style=skia.Paint.kStroke_Style, StrokeWidth=0.006))
        collar = skia.Path()
        collar.moveTo(-0.045, -0.815)
        collar.lineTo(0.02, -0.735)
        collar.lineTo(0.06, -0.815)
        collar.close()
        canvas.drawPath(collar, paint(scale(worn.top, 1.25)))
        _arm(canvas, worn, _Build(), -1, -0.8, math.sin(moment.beats * math.pi + math.pi), moment, 1.0)

    return stand(stage, sketch)


@element(
    "figure",
    "a woman, a girl, she, mother, a lady in a dress, singer, queen",
    also="nurse, grandmother, aunt, sister, daughter, wife, bride, princess, waitress, actress, witch, ballerina, girlfriend",
)
def woman(stage: Stage) -> Sequence[Layer]:
    """A woman whose dress swings."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        build = _Build(limb=0.04, shoulders=0.08, hips=0.055, head=0.058, stride=0.7)
        _in_a_dress(canvas, moment, stage, colour, outline, build, 0, stage.palette.accent)

    return stand(stage, sketch)


def _in_a_dress(
    canvas: Any, moment: Moment, stage: Stage, colour: Colour, outline: bool, build: _Build, number: int, cloth: Colour
) -> None:
    swing = 0.04 * math.sin(moment.beats * math.pi)
    dyed = mix(cloth, colour, 0.2)
    worn = _Clothes.plain(colour) if outline else _dressed(stage, colour, number, dyed, dyed, sleeves=False, style="long")
    legs = worn if outline else replace(worn, bottom=worn.skin)
    body(canvas, moment, build, legs)
    dress = skia.Path()
    dress.moveTo(-0.062, -0.68)
    dress.lineTo(0.062, -0.68)
    dress.quadTo(0.045, -0.6, 0.06, -0.54)
    dress.quadTo(0.13, -0.36, 0.19 + swing, -0.2 + 0.02 * moment.low)
    dress.quadTo(0, -0.15, -0.18 + swing, -0.2)
    dress.quadTo(-0.12, -0.36, -0.06, -0.54)
    dress.quadTo(-0.045, -0.6, -0.062, -0.68)
    canvas.drawPath(dress, paint(colour) if outline else vertical_gradient(-0.7, -0.15, dyed, mix(dyed, stage.palette.near, 0.4)))
    if build.arms == "swing":
        _arm(canvas, worn, build, -1, -0.8, math.sin(moment.beats * math.pi + math.pi), moment, 1.0)


@element("figure", "people dancing, a dancer, dance, party, we dance", also="dancing, gymnasts")
def dancers(stage: Stage) -> Sequence[Layer]:
    """Three dancers with raised arms, each with a step of their own."""

    def one(number: int, dx: float, size: float, late: float, tint: Colour) -> list[Layer]:
        def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
            canvas.translate(dx, 0)
            canvas.rotate(7 * math.sin((moment.beats + late) * math.pi))
            build = _Build(limb=0.042, shoulders=0.09, arms="up", stride=0.8)
            if number == 0:
                _in_a_dress(canvas, moment, stage, colour, outline, build, number, tint)
                return
            dark = scale(mix(colour, stage.palette.near, 0.35), 0.85)
            worn = _Clothes.plain(colour) if outline else _dressed(stage, colour, number, mix(colour, tint, 0.45), dark, sleeves=False)
            body(canvas, moment, build, worn)

        return stand(stage, sketch, hop=0.06, tall=size)

    return [
        *one(1, -0.55, 0.85, 0.5, stage.palette.accent2),
        *one(2, 0.55, 0.9, 0.25, stage.palette.light),
        *one(0, 0.0, 1.0, 0.0, stage.palette.accent),
    ]


@element(
    "figure",
    "a couple, two lovers, two people together, friends",
    also="we, they, you and I, friends, brothers, sisters, parents, twins, newlyweds, family, neighbours",
)
def couple(stage: Stage) -> Sequence[Layer]:
    """Two people side by side, hand in hand."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        dark = scale(mix(colour, stage.palette.near, 0.35), 0.85)
        worn = _Clothes.plain(colour) if outline else _dressed(stage, colour, 1, mix(colour, stage.palette.accent2, 0.35), dark)
        canvas.save()
        canvas.translate(-0.13, 0)
        body(canvas, moment, _Build(stride=0.45, arms="hang"), worn)
        canvas.restore()
        canvas.save()
        canvas.translate(0.13, 0)
        canvas.scale(0.93, 0.93)
        build = _Build(limb=0.04, shoulders=0.08, hips=0.055, head=0.06, stride=0.45, arms="hang")
        _in_a_dress(canvas, moment, stage, colour, outline, build, 0, stage.palette.accent)
        canvas.restore()

    return stand(stage, sketch, width=0.6)


@element("figure", "a robot, android, cyborg, machine that walks")
def robot(stage: Stage) -> Sequence[Layer]:
    """A metal body with plates, glowing eyes and a light in its chest."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        metal = colour if outline else mix(colour, (0.75, 0.8, 0.86), 0.45)
        build = _Build(limb=0.062, shoulders=0.145, hips=0.085, head=0.07, boxy=True, stride=0.85)
        head = body(canvas, moment, build, _Clothes.plain(metal))
        if outline:
            return
        plate = skia.Rect.MakeXYWH(-0.115, -0.78, 0.23, 0.2)
        canvas.drawRoundRect(plate, 0.03, 0.03, vertical_gradient(-0.78, -0.58, (0.93, 0.95, 0.98), mix(metal, stage.palette.near, 0.45)))
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
        head = body(canvas, moment, _Build(limb=0.09, shoulders=0.12, hips=0.1, head=0.09, stride=0.5), _Clothes.plain(suit))
        if outline:
            return
        visor = skia.Rect.MakeXYWH(head[0] - 0.035, head[1] - 0.05, 0.115, 0.1)
        canvas.drawOval(
            visor,
            vertical_gradient(
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
        dark = scale(mix(colour, stage.palette.near, 0.35), 0.8)
        worn = (
            _Clothes.plain(colour) if outline else _dressed(stage, colour, 2, mix(colour, stage.palette.accent2, 0.3), dark, style="long")
        )
        body(canvas, moment, _Build(arms="hold", stride=0.35), worn)
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
        blue = mix(colour, stage.palette.accent2, 0.4)
        shirt = mix(colour, stage.palette.accent, 0.45)
        worn = _Clothes.plain(colour) if outline else _dressed(stage, colour, 1, shirt, blue, sleeves=False)
        body(canvas, moment, _Build(limb=0.058, shoulders=0.095, hips=0.08, head=0.1, stride=0.8), worn)
        if outline:
            return
        x, y = 0.26 + 0.03 * math.sin(moment.time), -1.35 - 0.03 * moment.beat
        canvas.drawLine(0.12, -0.55, x, y + 0.15, paint(stage.palette.light, 0.7, Style=skia.Paint.kStroke_Style, StrokeWidth=0.006))
        canvas.drawOval(
            skia.Rect.MakeXYWH(x - 0.13, y - 0.16, 0.26, 0.32),
            vertical_gradient(
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
        canvas.drawPath(path, vertical_gradient(-1.0, 0.05, (pale, 0.92), (pale, 0.6), (pale, 0.0)))
        for side in (-1, 1):
            canvas.drawOval(skia.Rect.MakeXYWH(side * 0.075 - 0.028, -0.82, 0.056, 0.085), paint(stage.palette.near, 0.85))
        canvas.restore()

    return [Layer(1.0, draw)]
