"""Small things, many at a time: crowds, birds, lanterns, hearts, coins, candles, butterflies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import mix
from gateleg.apps.mv.drawing.stage import Layer, Moment, Stage, glow, paint, vertical_gradient

if TYPE_CHECKING:
    from collections.abc import Sequence


@element(
    "front",
    "a crowd of people with raised hands, audience, fans",
    "stage",
    "outdoors",
    also="protest, demonstration, stadium, supporters, spectators",
)
def crowd(stage: Stage) -> Sequence[Layer]:
    """Heads and arms that jump to the beat, in two rows."""
    layers = []
    for row in range(2):
        random = stage.random("crowd", row)
        people = [
            (float(x), float(random.uniform(0.8, 1.25)), int(random.integers(4)), float(random.uniform(0, 1)))
            for x in random.uniform(stage.left, stage.right, 46 - 14 * row)
        ]

        def draw(canvas: Any, moment: Moment, people: Any = people, row: int = row) -> None:
            tone = mix(stage.palette.near, stage.palette.middle, 0.22 * (1 - row))
            size = 0.034 + 0.014 * row
            path = skia.Path()
            for x, tall, arms, phase in people:
                hop = 0.035 * stage.motion * abs(math.sin((moment.beats + phase * 0.15) * math.pi)) * tall
                y = 0.93 + 0.055 * row - 0.05 * tall - hop
                path.addCircle(x, y, size * 0.62)
                path.addRoundRect(skia.Rect.MakeXYWH(x - size, y + size * 0.55, size * 2, 0.4), size * 0.8, size * 0.8)
                if arms < 2:
                    for side in (-1, 1) if arms else (1,):
                        reach = skia.Path()
                        reach.moveTo(x + side * size * 0.7, y + size)
                        reach.lineTo(x + side * size * 1.3, y - size * 1.9 - hop)
                        reach.lineTo(x + side * size * 1.62, y - size * 1.85 - hop)
                        reach.lineTo(x + side * size * 1.15, y + size * 1.2)
                        reach.close()
                        path.addPath(reach)
            canvas.drawPath(path, paint(tone))

        layers.append(Layer(1.15 + 0.25 * row, draw))
    return layers


@element(
    "thing",
    "birds flying in a flock, gulls, freedom",
    "outdoors",
    also="bird, owl, eagle, pigeon, swallow, crow, raven, swan, seagull, dove, hawk, parrot, sparrow, geese",
)
def birds(stage: Stage) -> Sequence[Layer]:
    """A flock whose wings beat in time."""
    random = stage.random("birds")
    flock = [
        (float(random.normal(0, 0.24)), float(random.normal(0.26, 0.07)), float(random.uniform(0.6, 1.3)), float(random.uniform(0, 6)))
        for _ in range(22)
    ]

    def draw(canvas: Any, moment: Moment) -> None:
        for x, y, size, phase in flock:
            at, wing = x + moment.time * 0.045 - 0.15, math.sin(moment.beats * math.pi + phase) * 0.014 * size
            span = 0.025 * size
            path = skia.Path()
            path.moveTo(at - span, y - wing)
            path.quadTo(at - span * 0.4, y - 0.008 * size, at, y)
            path.quadTo(at + span * 0.4, y - 0.008 * size, at + span, y - wing)
            canvas.drawPath(
                path,
                paint(
                    stage.silhouette(0.7), 0.95, Style=skia.Paint.kStroke_Style, StrokeWidth=0.0045 * size, StrokeCap=skia.Paint.kRound_Cap
                ),
            )

    return [Layer(0.35, draw)]


@element(
    "thing", "balloons or paper lanterns rising into the sky, wishes", "outdoors", "room", also="kite, hot-air balloon, airship, zeppelin"
)
def lanterns(stage: Stage) -> Sequence[Layer]:
    """Warm lanterns that drift upwards."""
    random = stage.random("lanterns")
    lights = [
        (
            float(random.uniform(stage.left, stage.right)),
            float(random.uniform(0, 1.2)),
            float(random.uniform(0.012, 0.045)),
            float(random.uniform(0, 6)),
        )
        for _ in range(34)
    ]

    def draw(canvas: Any, moment: Moment) -> None:
        for x, y, size, phase in sorted(lights, key=lambda light: light[2]):
            at = (y - moment.time * 0.5 * size * (0.5 + stage.motion)) % 1.25 - 0.12
            sway = x + 0.02 * math.sin(moment.time * 0.5 + phase)
            glow(canvas, sway, at, size * 3.2, stage.palette.accent, 0.32 + 0.22 * moment.beat)
            body = skia.RRect.MakeRectXY(skia.Rect.MakeXYWH(sway - size * 0.7, at - size, size * 1.4, size * 2), size * 0.5, size * 0.5)
            canvas.drawRRect(
                body,
                vertical_gradient(
                    at - size, at + size, mix(stage.palette.accent, (0.6, 0.2, 0.1), 0.35), mix(stage.palette.accent, (1.0, 1.0, 0.9), 0.5)
                ),
            )

    return [Layer(0.6, draw)]


@element("thing", "a heart, love, two people in love, kiss, tenderness", also="valentine, romance, affection")
def hearts(stage: Stage) -> Sequence[Layer]:
    """Hearts that beat."""
    random = stage.random("hearts")
    places = [
        (
            float(random.uniform(-0.48, 0.48)) * stage.aspect,
            float(random.uniform(0.05, 0.9)),
            float(random.uniform(0.015, 0.06)),
            float(random.uniform(0, 6)),
        )
        for _ in range(24)
    ]

    def draw(canvas: Any, moment: Moment) -> None:
        for number, (x, y, size, phase) in enumerate(places):
            grown = size * (1 + 0.3 * moment.beat * (number % 2 == int(moment.beats) % 2))
            colour = stage.palette.accent if number % 3 else stage.palette.accent2
            up = y - 0.03 * math.sin(moment.time * 0.6 + phase)
            glow(canvas, x, up, grown * 3, colour, 0.22)
            path = skia.Path()
            path.moveTo(x, up + grown)
            path.cubicTo(x - grown * 2, up - grown * 0.3, x - grown * 0.8, up - grown * 1.5, x, up - grown * 0.4)
            path.cubicTo(x + grown * 0.8, up - grown * 1.5, x + grown * 2, up - grown * 0.3, x, up + grown)
            canvas.drawPath(path, paint(colour, 0.85))

    return [Layer(0.7, draw)]


@element("thing", "gold coins, cash, money, treasure, wealth", also="gold, crown, jewel, diamond, casino, riches")
def coins(stage: Stage) -> Sequence[Layer]:
    """Coins that spin as they fall."""
    random = stage.random("coins")
    money = [
        (
            float(random.uniform(stage.left, stage.right)),
            float(random.uniform(0, 1.3)),
            float(random.uniform(0.016, 0.045)),
            float(random.uniform(0, 6)),
        )
        for _ in range(46)
    ]
    gold = (1.0, 0.8, 0.28)

    def draw(canvas: Any, moment: Moment) -> None:
        for x, y, size, phase in money:
            at = (y + moment.time * 0.14 * (0.5 + size * 18) * (0.4 + stage.motion)) % 1.3 - 0.15
            turn = math.cos(moment.time * 3 + phase)
            width = max(abs(turn), 0.08) * size
            body = skia.Rect.MakeXYWH(x - width, at - size, width * 2, size * 2)
            canvas.drawOval(
                body,
                vertical_gradient(
                    at - size, at + size, mix(gold, (1.0, 1.0, 1.0), 0.55 * abs(turn) + 0.2 * moment.high), mix(gold, (0.4, 0.2, 0.0), 0.5)
                ),
            )
            canvas.drawOval(
                skia.Rect.MakeXYWH(x - width * 0.7, at - size * 0.7, width * 1.4, size * 1.4),
                paint(mix(gold, (0.5, 0.28, 0.05), 0.35), 0.8, Style=skia.Paint.kStroke_Style, StrokeWidth=size * 0.1),
            )

    return [Layer(0.85, draw)]


@element("thing", "candles with warm flames, prayer, memorial, dinner", "room", "outdoors", also="altar, birthday cake, vigil")
def candles(stage: Stage) -> Sequence[Layer]:
    """Candles whose flames lean with the music."""
    random = stage.random("candles")
    sticks = [
        (float(x), float(random.uniform(0.08, 0.24)), float(random.uniform(0, 6))) for x in random.uniform(-0.48, 0.48, 13) * stage.aspect
    ]

    def draw(canvas: Any, moment: Moment) -> None:
        for x, height, phase in sorted(sticks, key=lambda stick: -stick[1]):
            base = stage.horizon + 0.3 - height * 0.35
            top = base - height
            glow(canvas, x, top - 0.02, 0.22 + 0.05 * moment.beat, stage.palette.accent, 0.35 + 0.15 * moment.low)
            canvas.drawRect(
                skia.Rect.MakeXYWH(x - 0.014, top, 0.028, height),
                vertical_gradient(
                    top, base, mix(stage.palette.light, (1.0, 1.0, 1.0), 0.2), mix(stage.palette.light, stage.palette.near, 0.6)
                ),
            )
            lean = 0.008 * math.sin(moment.time * 5 + phase) + 0.004 * moment.high
            flame = skia.Path()
            flame.moveTo(x - 0.008, top)
            flame.quadTo(x - 0.012, top - 0.02, x + lean, top - 0.045 - 0.012 * moment.mid)
            flame.quadTo(x + 0.012, top - 0.02, x + 0.008, top)
            flame.close()
            canvas.drawPath(flame, vertical_gradient(top - 0.05, top, (1.0, 0.95, 0.75), stage.palette.accent))

    return [Layer(0.75, draw)]


@element("thing", "butterflies fluttering", "outdoors", also="moth, bee, dragonfly, wasp, insect, ladybug")
def butterflies(stage: Stage) -> Sequence[Layer]:
    """Butterflies whose wings close on the beat."""
    random = stage.random("butterflies")
    swarm = [
        (
            float(random.uniform(-0.45, 0.45)) * stage.aspect,
            float(random.uniform(0.15, 0.8)),
            float(random.uniform(0.014, 0.034)),
            float(random.uniform(0, 6)),
        )
        for _ in range(16)
    ]

    def draw(canvas: Any, moment: Moment) -> None:
        for number, (x, y, size, phase) in enumerate(swarm):
            open_ = 0.35 + 0.65 * abs(math.sin(moment.beats * math.pi + phase))
            canvas.save()
            canvas.translate(x + 0.06 * math.sin(moment.time * 0.7 + phase), y + 0.04 * math.sin(moment.time * 1.1 + phase * 2))
            canvas.rotate(20 * math.sin(moment.time * 0.5 + phase))
            colour = stage.palette.accent if number % 2 else stage.palette.accent2
            for side in (-1, 1):
                canvas.save()
                canvas.scale(side * open_, 1.0)
                wing = skia.Path()
                wing.moveTo(0, 0)
                wing.cubicTo(size * 0.6, -size * 1.5, size * 1.9, -size * 1.1, size * 1.2, 0)
                wing.cubicTo(size * 1.5, size * 0.8, size * 0.6, size * 1.2, 0, 0)
                canvas.drawPath(wing, paint(colour, 0.92))
                canvas.drawCircle(size * 0.9, -size * 0.45, size * 0.22, paint(stage.palette.light, 0.8))
                canvas.restore()
            canvas.drawLine(
                0,
                -size * 0.5,
                0,
                size * 0.5,
                paint(stage.palette.near, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=size * 0.2, StrokeCap=skia.Paint.kRound_Cap),
            )
            canvas.restore()

    return [Layer(0.85, draw)]
