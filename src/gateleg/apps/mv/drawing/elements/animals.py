"""Figures of wild animals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import Colour, mix, scale
from gateleg.apps.mv.drawing.elements.figures import stand, tapered
from gateleg.apps.mv.drawing.elements.quadrupeds import DARK, WHITE, Anatomy, blob, coat_of, draw_animal, lit, polygon, stroke
from gateleg.apps.mv.drawing.stage import Layer, Moment, Stage, glow, paint, vertical_gradient

if TYPE_CHECKING:
    from collections.abc import Sequence

_FOX = Anatomy(
    pelt=(0.83, 0.38, 0.11),
    trunk=(
        *((-0.42, -0.47), (-0.36, -0.56), (-0.12, -0.55), (0.12, -0.57), (0.3, -0.59), (0.37, -0.49)),
        *((0.3, -0.35), (0.05, -0.37), (-0.18, -0.41), (-0.36, -0.35)),
    ),
    head=(
        *((0.16, -0.54), (0.28, -0.7), (0.36, -0.8), (0.47, -0.83), (0.54, -0.77), (0.62, -0.71), (0.735, -0.665)),
        *((0.73, -0.635), (0.6, -0.61), (0.5, -0.59), (0.42, -0.56), (0.36, -0.42), (0.27, -0.42)),
    ),
    neck=(0.26, -0.52),
    eye=(0.53, -0.735),
    hip=(-0.31, -0.44),
    shoulder=(0.24, -0.44),
    leg=(0.17, 0.075, 0.048, 0.044),
    socks=(0.14, 0.09, 0.08),
    stride=0.5,
)


@element("figure", "a fox, red fox, vixen")
def fox(stage: Stage) -> Sequence[Layer]:
    """A fox with a bushy tail, white at its tip."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        pelt = coat_of(stage, _FOX.pelt, colour, outline=outline)
        white, black = (lit(stage, own, pelt, outline=outline) for own in (WHITE, DARK))

        def tail() -> None:
            wave = 0.04 * math.sin(moment.beats * math.pi)
            points = ((-0.38, -0.5), (-0.55, -0.47), (-0.72, -0.4 + wave), (-0.88, -0.36 + wave * 1.6), (-1.02, -0.4 + wave * 2))
            tapered(canvas, pelt, (0.07, 0.17, 0.23, 0.19, 0.02), *points)
            tapered(canvas, white, (0.17, 0.1, 0.015), points[3], (-0.95, -0.37 + wave * 1.8), points[4])

        def face() -> None:
            blob(
                canvas,
                white,
                (0.73, -0.645),
                (0.62, -0.66),
                (0.52, -0.65),
                (0.44, -0.65),
                (0.4, -0.55),
                (0.43, -0.5),
                (0.5, -0.58),
                (0.6, -0.6),
            )
            for x in (0.4, 0.47):
                polygon(canvas, pelt, (x - 0.06, -0.79), (x - 0.015, -1.0), (x + 0.07, -0.79))
                polygon(canvas, black, (x - 0.03, -0.9), (x - 0.015, -1.0), (x + 0.025, -0.9))
            canvas.drawCircle(0.735, -0.652, 0.022, paint(black))

        def chest() -> None:
            blob(canvas, white, (0.42, -0.5), (0.3, -0.46), (0.1, -0.38), (0.12, -0.3), (0.4, -0.3))

        draw_animal(canvas, moment, _FOX, pelt, outline=outline, behind=tail, markings=chest, face=face)

    return stand(stage, sketch, width=0.9, hop=0.05, tall=0.68)


_WOLF = Anatomy(
    pelt=(0.42, 0.42, 0.44),
    trunk=(
        *((-0.46, -0.62), (-0.4, -0.73), (-0.15, -0.72), (0.1, -0.76), (0.3, -0.81), (0.4, -0.68)),
        *((0.33, -0.46), (0.1, -0.47), (-0.16, -0.53), (-0.4, -0.46)),
    ),
    head=(
        *((0.1, -0.76), (0.26, -0.9), (0.38, -0.99), (0.5, -1.0), (0.57, -0.94), (0.7, -0.9), (0.83, -0.86)),
        *((0.83, -0.81), (0.7, -0.78), (0.58, -0.77), (0.48, -0.72), (0.4, -0.56), (0.26, -0.56)),
    ),
    neck=(0.28, -0.68),
    eye=(0.57, -0.915),
    hip=(-0.34, -0.58),
    shoulder=(0.26, -0.58),
    leg=(0.2, 0.1, 0.065, 0.06),
)


@element("figure", "a wolf, coyote, jackal", also="husky, hyena, animal, beast")
def wolf(stage: Stage) -> Sequence[Layer]:
    """A grey wolf, trotting, with bright eyes."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        pelt = coat_of(stage, _WOLF.pelt, colour, outline=outline)
        pale, black = (lit(stage, own, pelt, outline=outline) for own in ((0.78, 0.77, 0.74), DARK))
        saddle = scale(pelt, 0.62)

        def tail() -> None:
            wave = 0.03 * math.sin(moment.beats * math.pi)
            tapered(canvas, pelt, (0.09, 0.15, 0.17, 0.03), (-0.43, -0.65), (-0.56, -0.54), (-0.64 + wave, -0.38), (-0.66 + wave, -0.2))

        def markings() -> None:
            blob(canvas, saddle, (-0.5, -0.8), (0.4, -0.86), (0.3, -0.72), (0.0, -0.64), (-0.3, -0.63), (-0.46, -0.68))
            blob(canvas, pale, (0.36, -0.56), (0.1, -0.5), (-0.2, -0.55), (-0.1, -0.4), (0.3, -0.4))

        def face() -> None:
            if not outline:
                # Tufts of the ruff break the line of the neck.
                for x, y in ((0.3, -0.6), (0.36, -0.66), (0.42, -0.72)):
                    polygon(canvas, pale, (x - 0.09, y - 0.1), (x + 0.06, y - 0.06), (x - 0.02, y + 0.06))
            blob(canvas, pale, (0.82, -0.82), (0.7, -0.86), (0.58, -0.86), (0.5, -0.84), (0.46, -0.76), (0.54, -0.74), (0.68, -0.78))
            for x in (0.4, 0.47):
                polygon(canvas, pelt, (x - 0.05, -0.97), (x, -1.14), (x + 0.07, -0.96))
                if not outline:
                    polygon(canvas, saddle, (x - 0.01, -1.0), (x + 0.005, -1.09), (x + 0.04, -0.98))
            canvas.drawCircle(0.83, -0.85, 0.026, paint(black))
            if not outline:
                glow(canvas, 0.57, -0.915, 0.05, (1.0, 0.75, 0.2), 0.7)

        draw_animal(canvas, moment, _WOLF, pelt, outline=outline, behind=tail, markings=markings, face=face)

    return stand(stage, sketch, width=0.9, tall=0.8)


_BEAR = Anatomy(
    pelt=(0.34, 0.22, 0.13),
    trunk=(
        *((-0.56, -0.5), (-0.52, -0.7), (-0.3, -0.82), (0.0, -0.83), (0.2, -0.9), (0.38, -0.86), (0.48, -0.66)),
        *((0.42, -0.38), (0.15, -0.34), (-0.2, -0.34), (-0.48, -0.32)),
    ),
    head=(
        *((0.24, -0.88), (0.42, -0.9), (0.54, -0.93), (0.66, -0.88), (0.72, -0.79), (0.83, -0.74), (0.86, -0.67)),
        *((0.79, -0.62), (0.66, -0.59), (0.52, -0.52), (0.36, -0.5)),
    ),
    neck=(0.36, -0.72),
    eye=(0.7, -0.79),
    hip=(-0.4, -0.5),
    shoulder=(0.3, -0.5),
    leg=(0.34, 0.24, 0.19, 0.17),
    stride=0.3,
)


@element("figure", "a bear, grizzly bear, polar bear, panda", also="badger, gorilla, monkey, raccoon")
def bear(stage: Stage) -> Sequence[Layer]:
    """A heavy bear with a hump and round ears."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        pelt = coat_of(stage, _BEAR.pelt, colour, outline=outline)
        muzzle, black = (lit(stage, own, pelt, outline=outline) for own in ((0.62, 0.46, 0.3), DARK))

        def tail() -> None:
            canvas.drawCircle(-0.56, -0.62, 0.06, paint(pelt))

        def face() -> None:
            for x in (0.47, 0.6):
                canvas.drawCircle(x, -0.93, 0.075, paint(pelt))
                if not outline:
                    canvas.drawCircle(x + 0.01, -0.925, 0.042, paint(scale(pelt, 0.6)))
            blob(canvas, muzzle, (0.72, -0.75), (0.83, -0.745), (0.87, -0.67), (0.79, -0.62), (0.7, -0.64), (0.68, -0.7))
            canvas.drawOval(skia.Rect.MakeXYWH(0.815, -0.745, 0.07, 0.055), paint(black))

        draw_animal(canvas, moment, _BEAR, pelt, outline=outline, behind=tail, face=face)

    return stand(stage, sketch, width=1.1, hop=0.01, tall=0.95)


_DEER = Anatomy(
    pelt=(0.6, 0.4, 0.23),
    trunk=(
        *((-0.36, -0.68), (-0.33, -0.78), (-0.12, -0.76), (0.08, -0.77), (0.22, -0.8), (0.29, -0.7)),
        *((0.22, -0.54), (0.02, -0.54), (-0.15, -0.59), (-0.3, -0.55)),
    ),
    head=(
        *((0.08, -0.77), (0.18, -0.94), (0.24, -1.09), (0.31, -1.17), (0.38, -1.15), (0.46, -1.08), (0.52, -1.03)),
        *((0.5, -0.98), (0.42, -0.99), (0.35, -1.0), (0.33, -0.88), (0.29, -0.72), (0.2, -0.62)),
    ),
    neck=(0.2, -0.74),
    eye=(0.375, -1.095),
    hip=(-0.26, -0.66),
    shoulder=(0.18, -0.66),
    leg=(0.14, 0.055, 0.034, 0.032),
    stride=0.42,
    hooves=True,
)


@element("figure", "a deer, stag, reindeer, elk, moose", also="antelope, gazelle, fawn, doe, roe, impala")
def deer(stage: Stage) -> Sequence[Layer]:
    """A stag with antlers and a white tail."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        pelt = coat_of(stage, _DEER.pelt, colour, outline=outline)
        white, black, bone = (lit(stage, own, pelt, outline=outline) for own in (WHITE, DARK, (0.8, 0.7, 0.55)))

        def tail() -> None:
            tapered(canvas, white, (0.05, 0.07, 0.02), (-0.34, -0.73), (-0.41, -0.7), (-0.42, -0.62))

        def markings() -> None:
            blob(canvas, white, (-0.4, -0.72), (-0.3, -0.7), (-0.29, -0.58), (-0.4, -0.55))
            for at in range(9):
                x = -0.22 + 0.05 * at
                canvas.drawCircle(x, -0.7 - 0.018 * (at % 3), 0.011, paint(white, 0.75))

        def antlers() -> None:
            for lean, tone in ((0.06, scale(bone, 0.8)), (0.0, bone)):
                x = 0.29 + lean * 0.6
                stroke(
                    canvas,
                    bone if outline else tone,
                    0.026,
                    (x, -1.15),
                    (x - 0.06 + lean, -1.28),
                    (x - 0.05 + lean, -1.42),
                    (x + 0.05 + lean, -1.54),
                )
                for y, reach in ((-1.24, 0.14), (-1.34, 0.16), (-1.45, 0.12)):
                    stroke(
                        canvas,
                        bone if outline else tone,
                        0.02,
                        (x - 0.055 + lean, y),
                        (x + reach * 0.5 + lean, y - 0.03),
                        (x + reach + lean, y - 0.12),
                    )

        def face() -> None:
            antlers()
            blob(canvas, pelt, (0.27, -1.13), (0.2, -1.18), (0.12, -1.19), (0.16, -1.12), (0.24, -1.08))
            canvas.drawCircle(0.505, -1.015, 0.022, paint(black))

        draw_animal(canvas, moment, _DEER, pelt, outline=outline, behind=tail, markings=markings, face=face)

    return stand(stage, sketch, width=0.75, hop=0.05, tall=0.78)


@element("figure", "a rabbit, hare, bunny", also="squirrel, mouse, hamster")
def rabbit(stage: Stage) -> Sequence[Layer]:
    """A hopping rabbit with long ears and a round tail."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        pelt = coat_of(stage, (0.6, 0.5, 0.42), colour, outline=outline)
        white, black, pink = (lit(stage, own, pelt, outline=outline) for own in (WHITE, DARK, (0.9, 0.62, 0.6)))
        hop = abs(math.sin(moment.beats * math.pi / 2))
        dark = pelt if outline else scale(pelt, 0.78)
        canvas.translate(0, -0.16 * hop)
        canvas.drawCircle(-0.46, -0.3, 0.12, paint(white))
        tapered(canvas, dark, (0.16, 0.09, 0.07), (0.2, -0.26), (0.27 + 0.08 * hop, -0.12), (0.33 + 0.1 * hop, -0.03))
        blob(
            canvas,
            pelt,
            (-0.46, -0.2),
            (-0.46, -0.44),
            (-0.28, -0.58),
            (0.0, -0.56),
            (0.24, -0.46),
            (0.3, -0.26),
            (0.1, -0.1),
            (-0.25, -0.07),
        )
        blob(canvas, dark, (-0.42, -0.24), (-0.3, -0.38), (-0.12, -0.34), (-0.08, -0.18), (-0.2, -0.07), (-0.36, -0.09))
        tapered(canvas, pelt, (0.13, 0.1), (-0.3, -0.06 + 0.08 * hop), (0.02 - 0.1 * hop, -0.05 + 0.12 * hop))
        for x, lean, tone in ((0.36, 0.1, dark), (0.28, -0.05, pelt)):
            back = lean - 0.1 * hop
            blob(
                canvas,
                tone,
                (x - 0.05, -0.6),
                (x - 0.07 + back * 0.6, -0.82),
                (x + back, -1.02),
                (x + 0.06 + back * 0.7, -0.82),
                (x + 0.05, -0.6),
            )
            if not outline:
                blob(canvas, pink, (x - 0.02, -0.64), (x - 0.03 + back * 0.6, -0.8), (x + back, -0.94), (x + 0.03 + back * 0.7, -0.8))
        blob(
            canvas, pelt, (0.14, -0.46), (0.2, -0.62), (0.34, -0.67), (0.48, -0.6), (0.55, -0.48), (0.5, -0.39), (0.36, -0.34), (0.2, -0.34)
        )
        if outline:
            return
        blob(canvas, white, (0.5, -0.46), (0.55, -0.46), (0.52, -0.39), (0.4, -0.36), (0.42, -0.42))
        canvas.drawCircle(0.555, -0.485, 0.022, paint(pink))
        canvas.drawCircle(0.41, -0.53, 0.032, paint(black))
        canvas.drawCircle(0.42, -0.542, 0.01, paint(white))
        for lift in (-0.05, 0.0, 0.05):
            stroke(canvas, white, 0.006, (0.5, -0.43), (0.6, -0.43 + lift * 0.6), (0.68, -0.42 + lift))

    return stand(stage, sketch, width=0.85, hop=0.0, tall=0.5)


_ELEPHANT = Anatomy(
    pelt=(0.46, 0.46, 0.49),
    trunk=(
        *((-0.58, -0.6), (-0.52, -0.86), (-0.25, -0.98), (0.05, -0.95), (0.32, -0.99), (0.42, -0.75)),
        *((0.34, -0.46), (0.0, -0.4), (-0.3, -0.42), (-0.54, -0.4)),
    ),
    head=(
        *((0.2, -0.94), (0.34, -1.08), (0.5, -1.1), (0.64, -1.0), (0.7, -0.82), (0.72, -0.62), (0.7, -0.4), (0.72, -0.22), (0.8, -0.17)),
        *((0.78, -0.1), (0.66, -0.13), (0.6, -0.28), (0.59, -0.48), (0.55, -0.62), (0.44, -0.64), (0.3, -0.62)),
    ),
    neck=(0.36, -0.84),
    eye=(0.58, -0.85),
    hip=(-0.38, -0.62),
    shoulder=(0.22, -0.62),
    leg=(0.3, 0.22, 0.19, 0.19),
    stride=0.22,
    nod=1.8,
)


@element("figure", "an elephant with a trunk and tusks, mammoth", also="rhinoceros, hippopotamus")
def elephant(stage: Stage) -> Sequence[Layer]:
    """An elephant whose ear fans on the beat."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        pelt = coat_of(stage, _ELEPHANT.pelt, colour, outline=outline)
        ivory = lit(stage, (0.97, 0.94, 0.84), pelt, outline=outline)

        def tail() -> None:
            wave = 0.04 * math.sin(moment.beats * math.pi)
            tapered(canvas, pelt, (0.06, 0.03, 0.02, 0.06), (-0.54, -0.78), (-0.64, -0.62), (-0.66 + wave, -0.46), (-0.66 + wave, -0.38))

        def face() -> None:
            tapered(canvas, ivory, (0.07, 0.06, 0.015), (0.6, -0.6), (0.72, -0.5), (0.86, -0.54))
            fan = 0.04 * math.sin(moment.beats * math.pi)
            ear = pelt if outline else scale(pelt, 0.84)
            blob(
                canvas,
                ear,
                (0.4, -1.02),
                (0.22 - fan, -1.1),
                (0.02 - fan, -0.98),
                (0.0 - fan, -0.74),
                (0.16, -0.55),
                (0.32, -0.62),
                (0.44, -0.82),
            )
            if not outline:
                for y in (-0.5, -0.42, -0.34):
                    stroke(canvas, scale(pelt, 0.75), 0.008, (0.6, y), (0.65, y + 0.015), (0.7, y))

        draw_animal(canvas, moment, _ELEPHANT, pelt, outline=outline, behind=tail, face=face)

    return stand(stage, sketch, width=1.15, hop=0.0, tall=1.12)


_GIRAFFE = Anatomy(
    pelt=(0.86, 0.68, 0.38),
    trunk=(*((-0.3, -0.62), (-0.26, -0.7), (-0.05, -0.74), (0.14, -0.82), (0.22, -0.72)), *((0.17, -0.52), (0.0, -0.5), (-0.24, -0.53))),
    head=(
        *((0.06, -0.78), (0.2, -1.05), (0.31, -1.34), (0.38, -1.42), (0.46, -1.4), (0.56, -1.3), (0.6, -1.25)),
        *((0.56, -1.22), (0.46, -1.26), (0.4, -1.26), (0.33, -1.05), (0.22, -0.7), (0.12, -0.62)),
    ),
    neck=(0.14, -0.74),
    eye=(0.45, -1.345),
    hip=(-0.21, -0.6),
    shoulder=(0.12, -0.62),
    leg=(0.11, 0.05, 0.034, 0.034),
    stride=0.35,
    nod=1.5,
    hooves=True,
)


@element("figure", "a giraffe with a long neck", also="camel, llama, alpaca")
def giraffe(stage: Stage) -> Sequence[Layer]:
    """A giraffe with brown patches."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        pelt = coat_of(stage, _GIRAFFE.pelt, colour, outline=outline)
        brown, black = (lit(stage, own, pelt, outline=outline) for own in ((0.5, 0.27, 0.1), DARK))
        random = stage.random("giraffe")
        spots = [tuple(random.uniform(-0.012, 0.012, 2).tolist()) for _ in range(40)]

        def patch(x: float, y: float, size: float, number: int) -> None:
            dx, dy = spots[number % len(spots)]
            corners = [
                (x + dx + size * math.cos(turn + dx * 30), y + dy + size * 0.85 * math.sin(turn)) for turn in (0.2, 1.4, 2.6, 3.9, 5.2)
            ]
            polygon(canvas, brown, *corners)

        def tail() -> None:
            tapered(canvas, pelt, (0.03, 0.02), (-0.28, -0.64), (-0.34, -0.44))
            tapered(canvas, black, (0.02, 0.045, 0.01), (-0.34, -0.44), (-0.345, -0.38), (-0.34, -0.32))

        def markings() -> None:
            for number in range(20):
                patch(-0.28 + 0.1 * (number % 5) + 0.04 * (number // 5 % 2), -0.76 + 0.075 * (number // 5), 0.038, number)

        def face() -> None:
            for x in (0.38, 0.42):
                tapered(canvas, pelt, (0.022, 0.02), (x, -1.39), (x - 0.02, -1.49))
                canvas.drawCircle(x - 0.02, -1.49, 0.022, paint(black))
            blob(canvas, pelt, (0.36, -1.37), (0.28, -1.42), (0.24, -1.4), (0.3, -1.34))
            if outline:
                return
            stroke(canvas, brown, 0.03, (0.06, -0.8), (0.18, -1.06), (0.29, -1.34))
            for number, (x, y) in enumerate(
                ((0.3, -1.2), (0.33, -1.29), (0.26, -1.1), (0.3, -1.02), (0.2, -0.98), (0.25, -0.9), (0.14, -0.88), (0.19, -0.78))
            ):
                patch(x, y, 0.032, number + 20)
            canvas.drawCircle(0.58, -1.255, 0.012, paint(black))

        draw_animal(canvas, moment, _GIRAFFE, pelt, outline=outline, behind=tail, markings=markings, face=face)

    return stand(stage, sketch, width=0.6, hop=0.01, tall=0.82)


_CAT_TRUNK = (
    *((-0.5, -0.52), (-0.45, -0.66), (-0.2, -0.66), (0.08, -0.66), (0.32, -0.72), (0.42, -0.58)),
    *((0.34, -0.38), (0.08, -0.4), (-0.2, -0.44), (-0.44, -0.38)),
)
_CAT_HEAD = (
    *((0.16, -0.68), (0.32, -0.82), (0.42, -0.92), (0.56, -0.94), (0.66, -0.88), (0.74, -0.8), (0.78, -0.73)),
    *((0.74, -0.66), (0.6, -0.63), (0.46, -0.58), (0.3, -0.52)),
)
_LION = Anatomy(
    (0.78, 0.55, 0.27), _CAT_TRUNK, _CAT_HEAD, (0.3, -0.64), (0.65, -0.8), (-0.38, -0.5), (0.28, -0.5), (0.22, 0.12, 0.085, 0.085)
)
_TIGER = Anatomy(
    (0.9, 0.52, 0.14), _CAT_TRUNK, _CAT_HEAD, (0.3, -0.64), (0.65, -0.8), (-0.38, -0.5), (0.28, -0.5), (0.22, 0.12, 0.085, 0.085)
)


@element("figure", "a lion with a mane, lioness")
def lion(stage: Stage) -> Sequence[Layer]:
    """A lion whose mane moves in the wind."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        pelt = coat_of(stage, _LION.pelt, colour, outline=outline)
        mane, pale, black = (lit(stage, own, pelt, outline=outline) for own in ((0.4, 0.2, 0.07), (0.93, 0.82, 0.62), DARK))

        def tail() -> None:
            wave = 0.05 * math.sin(moment.beats * math.pi)
            stroke(canvas, pelt, 0.045, (-0.46, -0.58), (-0.66, -0.5), (-0.76, -0.34 + wave), (-0.88, -0.36 + wave))
            canvas.drawOval(skia.Rect.MakeXYWH(-0.98, -0.43 + wave, 0.14, 0.1), paint(mane))

        def face() -> None:
            ring = []
            for at in range(26):
                turn = math.tau * at / 26
                reach = (0.33 if at % 2 else 0.27) + 0.012 * math.sin(moment.time * 3 + at)
                ring.append((0.45 + reach * math.cos(turn), -0.73 + reach * 1.05 * math.sin(turn)))
            blob(canvas, mane, *ring)
            blob(
                canvas,
                pelt,
                (0.46, -0.92),
                (0.58, -0.94),
                (0.68, -0.87),
                (0.77, -0.78),
                (0.79, -0.7),
                (0.73, -0.63),
                (0.58, -0.6),
                (0.46, -0.66),
                (0.42, -0.8),
            )
            canvas.drawCircle(0.44, -0.94, 0.055, paint(pelt))
            blob(canvas, pale, (0.78, -0.72), (0.68, -0.74), (0.62, -0.67), (0.66, -0.6), (0.75, -0.62))
            polygon(canvas, black, (0.76, -0.78), (0.81, -0.76), (0.78, -0.72))

        draw_animal(canvas, moment, _LION, pelt, outline=outline, behind=tail, face=face)

    return stand(stage, sketch, width=0.95, tall=0.85)


@element("figure", "a tiger with stripes, leopard, panther, jaguar", also="puma, cheetah, cougar")
def tiger(stage: Stage) -> Sequence[Layer]:
    """A tiger with black stripes."""

    def sketch(canvas: Any, moment: Moment, colour: Colour, outline: bool) -> None:
        pelt = coat_of(stage, _TIGER.pelt, colour, outline=outline)
        white, black = (lit(stage, own, pelt, outline=outline) for own in (WHITE, DARK))

        def tail() -> None:
            wave = 0.05 * math.sin(moment.beats * math.pi)
            points = ((-0.46, -0.58), (-0.64, -0.46), (-0.8, -0.4 + wave), (-0.94, -0.48 + wave))
            stroke(canvas, pelt, 0.06, *points)
            if not outline:
                for x, y in ((-0.66, -0.455), (-0.76, -0.415 + wave), (-0.86, -0.43 + wave), (-0.93, -0.475 + wave)):
                    stroke(canvas, black, 0.03, (x, y - 0.03), (x, y + 0.03))

        def markings() -> None:
            blob(canvas, white, (0.36, -0.44), (0.1, -0.43), (-0.2, -0.47), (-0.2, -0.3), (0.3, -0.3))
            for at in range(10):
                x = -0.44 + 0.085 * at
                polygon(canvas, black, (x, -0.76), (x + 0.035, -0.76), (x + 0.02, -0.46 - 0.04 * (at % 2)))

        def face() -> None:
            for x in (0.44, 0.55):
                canvas.drawCircle(x, -0.945, 0.06, paint(pelt))
                if not outline:
                    canvas.drawCircle(x + 0.008, -0.94, 0.03, paint(black))
            if outline:
                return
            blob(canvas, white, (0.78, -0.72), (0.7, -0.76), (0.6, -0.73), (0.5, -0.68), (0.5, -0.6), (0.62, -0.62), (0.75, -0.64))
            for x, y in ((0.52, -0.93), (0.58, -0.92), (0.46, -0.84), (0.44, -0.76), (0.5, -0.74), (0.3, -0.74), (0.24, -0.66)):
                polygon(canvas, black, (x, y), (x + 0.035, y + 0.01), (x + 0.045, y + 0.09))
            polygon(canvas, (0.75, 0.4, 0.4), (0.75, -0.77), (0.805, -0.745), (0.765, -0.715))

        draw_animal(canvas, moment, _TIGER, pelt, outline=outline, behind=tail, markings=markings, face=face)

    return stand(stage, sketch, width=0.95, tall=0.8)


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
            path, vertical_gradient(-0.2, 0.2, mix(stage.palette.coat or stage.palette.far, stage.palette.light, 0.25), stage.palette.near)
        )
        fin = skia.Path()
        fin.moveTo(0.2, 0.1)
        fin.quadTo(0.05, 0.3 + tail, -0.1, 0.34 + tail)
        fin.quadTo(0.0, 0.2, 0.05, 0.12)
        canvas.drawPath(fin, paint(stage.palette.near))
        canvas.drawCircle(0.44, -0.02, 0.014, paint(stage.palette.light))
        canvas.restore()

    return [Layer(0.7, draw)]
