"""Figures of farm animals and pets: horses, cattle, sheep, dogs and cats."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import Colour, mix, scale
from gateleg.apps.mv.drawing.elements.figures import stand, tapered
from gateleg.apps.mv.drawing.elements.quadrupeds import DARK, WHITE, Anatomy, blob, coat_of, draw_animal, lit, polygon, smooth, stroke
from gateleg.apps.mv.drawing.stage import Layer, Moment, Stage, glow, paint

if TYPE_CHECKING:
    from collections.abc import Sequence

_HORSE = Anatomy(
    pelt=(0.4, 0.24, 0.14),
    trunk=(
        *((-0.46, -0.68), (-0.4, -0.82), (-0.18, -0.81), (0.05, -0.8), (0.26, -0.87), (0.38, -0.74)),
        *((0.3, -0.52), (0.05, -0.51), (-0.18, -0.55), (-0.4, -0.52)),
    ),
    head=(
        *((0.1, -0.82), (0.26, -1.0), (0.38, -1.17), (0.49, -1.24), (0.57, -1.2), (0.68, -1.06), (0.77, -0.95)),
        *((0.75, -0.88), (0.67, -0.88), (0.57, -0.96), (0.49, -1.0), (0.44, -0.88), (0.38, -0.68), (0.24, -0.62)),
    ),
    neck=(0.26, -0.76),
    eye=(0.575, -1.115),
    hip=(-0.34, -0.66),
    shoulder=(0.26, -0.66),
    leg=(0.2, 0.085, 0.055, 0.05),
    stride=0.5,
    nod=3.0,
    hooves=True,
)


@element("figure", "a horse running, wild horses, rider, cowboy", also="pony, donkey, mule, unicorn, zebra, knight on a horse")
def horse(stage: Stage) -> Sequence[Layer]:
    """A horse with a flying mane and tail."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        pelt = coat_of(stage, _HORSE.pelt, colour, outline=outline)
        mane = pelt if outline else scale(mix(pelt, DARK, 0.55), 0.9)

        def tail() -> None:
            for strand in range(5):
                wave = 0.04 * math.sin(moment.time * 3 + strand)
                start = (-0.43, -0.76 + 0.02 * strand)
                tapered(
                    canvas,
                    mane,
                    (0.05, 0.075, 0.02),
                    start,
                    (-0.62, -0.74 + 0.05 * strand + wave),
                    (-0.82 + 0.04 * strand, -0.56 + 0.07 * strand + wave),
                )

        def face() -> None:
            for at in range(9):
                x, y = 0.47 - 0.045 * at, -1.21 + 0.05 * at
                wave = 0.03 * math.sin(moment.time * 4 + at)
                tapered(canvas, mane, (0.06, 0.05, 0.01), (x, y), (x - 0.09, y + 0.01 + wave), (x - 0.18, y + 0.05 + wave))
            for x in (0.46, 0.51):
                polygon(canvas, pelt, (x - 0.03, -1.21), (x, -1.34), (x + 0.04, -1.21))
            if not outline:
                canvas.drawCircle(0.735, -0.935, 0.014, paint(DARK))
                stroke(canvas, scale(pelt, 0.6), 0.008, (0.74, -0.895), (0.7, -0.9), (0.67, -0.92))

        draw_animal(canvas, moment, _HORSE, pelt, outline=outline, behind=tail, face=face)

    return stand(stage, sketch, width=0.9, hop=0.05, tall=0.88)


_COW = Anatomy(
    pelt=(0.9, 0.88, 0.84),
    trunk=(
        *((-0.54, -0.6), (-0.5, -0.8), (-0.25, -0.81), (0.1, -0.8), (0.32, -0.84), (0.42, -0.66)),
        *((0.34, -0.42), (0.05, -0.38), (-0.28, -0.38), (-0.5, -0.44)),
    ),
    head=(
        *((0.2, -0.82), (0.36, -0.88), (0.48, -0.98), (0.58, -0.99), (0.66, -0.9), (0.76, -0.77), (0.79, -0.69)),
        *((0.74, -0.63), (0.64, -0.66), (0.52, -0.74), (0.44, -0.6), (0.3, -0.54)),
    ),
    neck=(0.32, -0.74),
    eye=(0.615, -0.865),
    hip=(-0.4, -0.56),
    shoulder=(0.28, -0.56),
    leg=(0.2, 0.1, 0.07, 0.068),
    stride=0.28,
    hooves=True,
)


@element("figure", "a cow, bull, ox, cattle", also="buffalo, bison, calf, pig")
def cow(stage: Stage) -> Sequence[Layer]:
    """A cow with patches, horns and an udder."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        pelt = coat_of(stage, _COW.pelt, colour, outline=outline)
        patch, pink, horn = (lit(stage, own, pelt, outline=outline) for own in ((0.16, 0.12, 0.11), (0.88, 0.6, 0.56), (0.82, 0.76, 0.6)))

        def behind() -> None:
            wave = 0.05 * math.sin(moment.beats * math.pi)
            stroke(canvas, pelt, 0.03, (-0.51, -0.76), (-0.6, -0.66), (-0.6 + wave, -0.42))
            tapered(canvas, patch, (0.02, 0.06, 0.01), (-0.6 + wave, -0.42), (-0.6 + wave, -0.34), (-0.6 + wave, -0.26))
            blob(canvas, pink, (-0.34, -0.42), (-0.12, -0.42), (-0.16, -0.3), (-0.28, -0.3))

        def markings() -> None:
            blob(canvas, patch, (-0.56, -0.82), (-0.36, -0.84), (-0.28, -0.68), (-0.4, -0.54), (-0.56, -0.58))
            blob(canvas, patch, (-0.1, -0.84), (0.14, -0.84), (0.16, -0.62), (0.04, -0.52), (-0.12, -0.62))
            blob(canvas, patch, (0.28, -0.62), (0.42, -0.68), (0.42, -0.5), (0.3, -0.48))

        def face() -> None:
            blob(canvas, patch, (0.47, -0.96), (0.58, -0.98), (0.66, -0.88), (0.62, -0.8), (0.52, -0.78), (0.46, -0.84))
            stroke(canvas, horn, 0.035, (0.52, -0.97), (0.55, -1.06), (0.64, -1.1))
            stroke(canvas, horn, 0.035, (0.49, -0.97), (0.47, -1.07), (0.53, -1.14))
            blob(canvas, patch, (0.48, -0.93), (0.4, -0.98), (0.32, -0.95), (0.36, -0.89), (0.45, -0.88))
            blob(canvas, pink, (0.7, -0.78), (0.78, -0.74), (0.8, -0.67), (0.74, -0.62), (0.67, -0.66))
            if not outline:
                canvas.drawCircle(0.755, -0.71, 0.013, paint(DARK))
                canvas.drawCircle(0.615, -0.865, 0.024, paint(WHITE))

        draw_animal(canvas, moment, _COW, pelt, outline=outline, behind=behind, markings=markings, face=face)

    return stand(stage, sketch, width=1.05, hop=0.01, tall=0.9)


@element("figure", "a sheep, lamb, ram", also="goat, flock of sheep")
def sheep(stage: Stage) -> Sequence[Layer]:
    """A woolly sheep with a dark face."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        wool = coat_of(stage, (0.93, 0.91, 0.86), colour, outline=outline)
        skin = lit(stage, (0.17, 0.14, 0.14), wool, outline=outline)
        phase = moment.beats * math.pi
        for number, x in enumerate((-0.26, -0.16, 0.16, 0.26)):
            swing = 0.05 * math.sin(phase + number * math.pi)
            tapered(canvas, skin, (0.075, 0.06, 0.065), (x, -0.4), (x + swing * 0.4, -0.2), (x + swing, -0.02))
        ring = []
        for at in range(34):
            turn = math.tau * at / 34
            reach = 1.0 if at % 2 else 0.88
            ring.append((0.44 * reach * math.cos(turn) - 0.02, -0.54 + 0.27 * reach * math.sin(turn)))
        blob(canvas, wool, *ring)
        canvas.drawCircle(-0.46, -0.6, 0.07, paint(wool))
        if not outline:
            curl = paint(scale(wool, 0.82), 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=0.014, StrokeCap=skia.Paint.kRound_Cap)
            for x, y in ((-0.26, -0.62), (-0.06, -0.66), (0.14, -0.62), (-0.16, -0.48), (0.04, -0.48), (-0.32, -0.46), (0.2, -0.44)):
                canvas.drawArc(skia.Rect.MakeXYWH(x - 0.055, y - 0.05, 0.11, 0.1), 20, 200, False, curl)
        canvas.save()
        canvas.rotate(3 * math.sin(phase), 0.36, -0.62)
        for dx, tone in ((-0.02, scale(skin, 0.8)), (0.0, skin)):
            blob(
                canvas,
                skin if outline else tone,
                (0.4 + dx, -0.75),
                (0.31 + dx, -0.72),
                (0.25 + dx, -0.65),
                (0.33 + dx, -0.64),
                (0.41 + dx, -0.69),
            )
        blob(
            canvas,
            skin,
            (0.36, -0.76),
            (0.48, -0.8),
            (0.57, -0.72),
            (0.64, -0.6),
            (0.64, -0.53),
            (0.56, -0.52),
            (0.45, -0.58),
            (0.37, -0.66),
        )
        for x, y in ((0.38, -0.8), (0.46, -0.83), (0.42, -0.76)):
            canvas.drawCircle(x, y, 0.062, paint(wool))
        if not outline:
            canvas.drawCircle(0.52, -0.68, 0.02, paint(WHITE))
            canvas.drawCircle(0.525, -0.68, 0.011, paint(DARK))
        canvas.restore()

    return stand(stage, sketch, width=0.9, tall=0.72)


_DOG = Anatomy(
    pelt=(0.68, 0.47, 0.26),
    trunk=(
        *((-0.4, -0.54), (-0.36, -0.64), (-0.12, -0.63), (0.1, -0.63), (0.26, -0.68), (0.35, -0.56)),
        *((0.28, -0.36), (0.05, -0.4), (-0.15, -0.46), (-0.34, -0.42)),
    ),
    head=(
        *((0.1, -0.64), (0.22, -0.78), (0.3, -0.9), (0.42, -0.94), (0.51, -0.88), (0.56, -0.8), (0.7, -0.77), (0.73, -0.71)),
        *((0.68, -0.66), (0.54, -0.65), (0.44, -0.64), (0.36, -0.5), (0.24, -0.48)),
    ),
    neck=(0.24, -0.6),
    eye=(0.5, -0.83),
    hip=(-0.3, -0.52),
    shoulder=(0.23, -0.52),
    leg=(0.17, 0.08, 0.056, 0.056),
    stride=0.5,
)


@element("figure", "a dog, puppy, hound", also="terrier, poodle, retriever, pet")
def dog(stage: Stage) -> Sequence[Layer]:
    """A dog with hanging ears, a collar and a tail that wags."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        pelt = coat_of(stage, _DOG.pelt, colour, outline=outline)
        ear, pale, black, collar = (
            lit(stage, own, pelt, outline=outline) for own in ((0.36, 0.21, 0.1), (0.9, 0.8, 0.66), DARK, stage.palette.accent)
        )

        def tail() -> None:
            wag = 0.09 * math.sin(moment.beats * math.tau)
            tapered(canvas, pelt, (0.08, 0.06, 0.03), (-0.37, -0.6), (-0.5, -0.72), (-0.54 + wag, -0.9))

        def chest() -> None:
            blob(canvas, pale, (0.38, -0.56), (0.24, -0.5), (0.1, -0.42), (0.2, -0.32), (0.36, -0.38))

        def face() -> None:
            polygon(canvas, collar, (0.14, -0.68), (0.2, -0.74), (0.41, -0.58), (0.37, -0.52))
            blob(canvas, pale, (0.7, -0.76), (0.58, -0.78), (0.53, -0.72), (0.56, -0.65), (0.68, -0.66))
            flap = 0.02 * math.sin(moment.beats * math.pi)
            blob(canvas, ear, (0.31, -0.92), (0.41, -0.92), (0.43, -0.8), (0.4 + flap, -0.64), (0.32 + flap, -0.62), (0.27, -0.74))
            canvas.drawOval(skia.Rect.MakeXYWH(0.68, -0.795, 0.065, 0.05), paint(black))
            if not outline:
                blob(canvas, (0.86, 0.4, 0.42), (0.6, -0.66), (0.66, -0.66), (0.66, -0.58), (0.62, -0.57))
                canvas.drawCircle(0.4, -0.53, 0.03, paint((0.95, 0.8, 0.3)))

        draw_animal(canvas, moment, _DOG, pelt, outline=outline, behind=tail, markings=chest, face=face)

    return stand(stage, sketch, width=0.85, tall=0.62)


_CAT = Anatomy(
    pelt=(0.3, 0.28, 0.28),
    trunk=(
        *((-0.42, -0.44), (-0.37, -0.55), (-0.12, -0.52), (0.1, -0.51), (0.26, -0.54), (0.32, -0.44)),
        *((0.26, -0.29), (0.04, -0.31), (-0.16, -0.33), (-0.36, -0.29)),
    ),
    head=(
        *((0.14, -0.5), (0.24, -0.58), (0.26, -0.7), (0.35, -0.77), (0.46, -0.77), (0.56, -0.7), (0.57, -0.59)),
        *((0.48, -0.52), (0.38, -0.5), (0.3, -0.4)),
    ),
    neck=(0.26, -0.5),
    eye=(0.5, -0.655),
    hip=(-0.31, -0.4),
    shoulder=(0.22, -0.4),
    leg=(0.15, 0.075, 0.052, 0.054),
    stride=0.42,
    eye_size=0.0,
)


@element("figure", "a cat, kitten", also="lynx")
def cat(stage: Stage) -> Sequence[Layer]:
    """A cat with bright eyes, whiskers and a tail that keeps time."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        pelt = coat_of(stage, _CAT.pelt, colour, outline=outline)
        pink = lit(stage, (0.85, 0.55, 0.55), pelt, outline=outline)
        iris = mix(stage.palette.accent, (0.75, 0.95, 0.3), 0.6)

        def tail() -> None:
            wave = 0.1 * math.sin(moment.beats * math.pi / 2)
            points = ((-0.38, -0.48), (-0.56, -0.48), (-0.63, -0.68), (-0.58 + wave, -0.86), (-0.66 + wave, -0.98))
            line = paint(pelt, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=0.065, StrokeCap=skia.Paint.kRound_Cap)
            canvas.drawPath(smooth(points, closed=False), line)

        def face() -> None:
            for x, lean in ((0.31, -0.02), (0.49, 0.03)):
                polygon(canvas, pelt, (x - 0.06, -0.72), (x + lean, -0.92), (x + 0.07, -0.73))
                if not outline:
                    polygon(canvas, pink, (x - 0.025, -0.76), (x + lean, -0.87), (x + 0.035, -0.76))
            if outline:
                return
            for x in (0.38, 0.5):
                glow(canvas, x, -0.655, 0.05, iris, 0.5)
                canvas.drawOval(skia.Rect.MakeXYWH(x - 0.028, -0.68, 0.056, 0.052), paint(iris))
                canvas.drawOval(skia.Rect.MakeXYWH(x - 0.008, -0.68, 0.016, 0.052), paint(DARK))
            polygon(canvas, pink, (0.43, -0.6), (0.47, -0.6), (0.45, -0.575))
            for side in (-1, 1):
                for lift in (-0.035, 0.0, 0.035):
                    stroke(canvas, WHITE, 0.005, (0.45 + side * 0.04, -0.58), (0.45 + side * 0.2, -0.585 + lift))

        draw_animal(canvas, moment, _CAT, pelt, outline=outline, behind=tail, face=face)

    return stand(stage, sketch, width=0.85, tall=0.58)
