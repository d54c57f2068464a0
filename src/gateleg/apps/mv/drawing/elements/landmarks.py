"""Single large things: clocks, mirror balls, screens, ruins, castles, rockets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import mix, scale
from gateleg.apps.mv.drawing.stage import Layer, Moment, Stage, argb, glow, paint, vertical_gradient

if TYPE_CHECKING:
    from collections.abc import Sequence


@element("thing", "a big clock face, a watch that ticks, time passing", also="hour, alarm, deadline, calendar")
def clock(stage: Stage) -> Sequence[Layer]:
    """A dial whose hand moves on the beat."""
    x, y, radius = 0.26 * stage.aspect * (1 if stage.light[0] < 0 else -1), 0.36, 0.2

    def draw(canvas: Any, moment: Moment) -> None:
        line = stage.palette.light
        glow(canvas, x, y, radius * 1.8, stage.palette.accent, 0.2 + 0.15 * moment.beat)
        canvas.drawCircle(x, y, radius, paint(mix(stage.palette.near, stage.palette.middle, 0.4), 0.75))
        canvas.drawCircle(x, y, radius, paint(line, 0.9, Style=skia.Paint.kStroke_Style, StrokeWidth=0.008))
        for mark in range(12):
            angle = mark * math.tau / 12
            canvas.drawLine(
                x + math.cos(angle) * radius * 0.85,
                y + math.sin(angle) * radius * 0.85,
                x + math.cos(angle) * radius * 0.95,
                y + math.sin(angle) * radius * 0.95,
                paint(line, 0.9, Style=skia.Paint.kStroke_Style, StrokeWidth=0.008),
            )
        hand = (int(moment.beats) + (1 - moment.beat) ** 3) * math.tau / 60 * 5
        for angle, length, width in ((hand, 0.75, 0.006), (hand / 12 + 2, 0.5, 0.011)):
            canvas.drawLine(
                x,
                y,
                x + math.sin(angle) * radius * length,
                y - math.cos(angle) * radius * length,
                paint(
                    stage.palette.accent if length > 0.6 else line,
                    1.0,
                    Style=skia.Paint.kStroke_Style,
                    StrokeWidth=width,
                    StrokeCap=skia.Paint.kRound_Cap,
                ),
            )

    return [Layer(0.4, draw)]


@element("thing", "a mirror ball, disco, dance party, nightclub", "stage", "room", also="nightlife, discotheque")
def mirror_ball(stage: Stage) -> Sequence[Layer]:
    """A ball that throws spots of light around the room."""
    random = stage.random("spots")
    spots = [
        (
            float(random.uniform(stage.left, stage.right)),
            float(random.uniform(0, 1)),
            float(random.uniform(0.01, 0.03)),
            int(random.integers(3)),
        )
        for _ in range(60)
    ]

    def draw(canvas: Any, moment: Moment) -> None:
        colours = (stage.palette.accent, stage.palette.accent2, stage.palette.light)
        span = stage.right - stage.left
        for x, y, size, tone in spots:
            at = (x - stage.left + moment.beats * 0.06) % span + stage.left
            canvas.save()
            canvas.translate(at, y)
            canvas.rotate(-20)
            canvas.drawOval(
                skia.Rect.MakeXYWH(-size, -size * 0.5, size * 2, size),
                paint(colours[tone], 0.22 + 0.3 * moment.beat * (tone == int(moment.beats) % 3), BlendMode=skia.BlendMode.kPlus),
            )
            canvas.restore()
        y, radius = 0.2, 0.1
        canvas.drawLine(0, -0.1, 0, y - radius, paint(stage.palette.near, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=0.004))
        glow(canvas, 0, y, 0.4, stage.palette.light, 0.3 + 0.2 * moment.low)
        for line in range(-6, 7):
            latitude = line / 6.5 * math.pi / 2
            ring = math.cos(latitude) * radius
            for tile in range(-8, 9):
                longitude = tile / 8.5 * math.pi / 2
                bright = 0.5 + 0.5 * math.sin(line * 3.1 + (tile + int(moment.beats * 2)) * 2.7)
                colour = mix(
                    mix(stage.palette.middle, stage.palette.near, 0.3),
                    mix(colours[(line + tile) % 3], (1.0, 1.0, 1.0), 0.5),
                    bright * math.cos(longitude),
                )
                canvas.drawRect(
                    skia.Rect.MakeXYWH(
                        math.sin(longitude) * ring - 0.006 * math.cos(longitude),
                        y + math.sin(latitude) * radius - 0.006,
                        0.0125 * math.cos(longitude) + 0.001,
                        0.0125,
                    ),
                    paint(colour),
                )

    return [Layer(0.4, draw)]


@element(
    "thing",
    "television screens, computers, phones, social media, internet",
    also="television, laptop, camera, news, video, message, selfie",
)
def screens(stage: Stage) -> Sequence[Layer]:
    """A wall of screens that change on the beat."""
    random = stage.random("screens")
    panels = [(column * 0.3 - 0.9, line * 0.23 + 0.06, float(random.uniform(0, 9))) for column in range(7) for line in range(3)]

    def draw(canvas: Any, moment: Moment) -> None:
        for x, y, phase in panels:
            number = int(phase * 10 + int(moment.beats / 2 + phase)) % 5
            frame = skia.Rect.MakeXYWH(x - 0.13, y, 0.26, 0.19)
            canvas.drawRoundRect(frame, 0.014, 0.014, paint(stage.palette.near))
            inner = skia.Rect.MakeXYWH(x - 0.115, y + 0.014, 0.23, 0.16)
            colour = (stage.palette.accent, stage.palette.accent2, stage.palette.middle, stage.palette.horizon, stage.palette.light)[number]
            canvas.save()
            canvas.clipRect(inner)
            canvas.drawRect(inner, vertical_gradient(y, y + 0.19, mix(colour, (1.0, 1.0, 1.0), 0.15), mix(colour, stage.palette.near, 0.5)))
            for bar in range(9):
                tall = 0.02 + 0.1 * abs(math.sin(bar * 1.7 + phase + moment.time)) * (0.3 + moment.mid)
                canvas.drawRect(
                    skia.Rect.MakeXYWH(x - 0.105 + bar * 0.024, y + 0.174 - tall, 0.016, tall), paint(stage.palette.light, 0.55)
                )
            canvas.restore()

    return [Layer(0.5, draw)]


@element(
    "thing",
    "ruins, broken columns, ancient temple, war, destruction",
    "outdoors",
    also="graveyard, grave, tombstone, cemetery, battlefield, rubble",
)
def ruins(stage: Stage) -> Sequence[Layer]:
    """Columns, some of them broken."""
    random = stage.random("ruins")
    columns = [
        (float(x), float(random.uniform(0.14, 0.42)), bool(random.random() < 0.6))
        for x in sorted(random.uniform(-0.5, 0.5, 9) * stage.aspect)
    ]

    def painted(canvas: Any) -> None:
        for x, height, broken in columns:
            base = stage.horizon + 0.17
            tone = mix(stage.silhouette(0.4), stage.palette.light, 0.15)
            width = 0.035
            path = skia.Path()
            path.moveTo(x - width, base)
            path.lineTo(x - width, base - height)
            path.lineTo(x, base - height + (0.04 if broken else 0.0))
            path.lineTo(x + width, base - height - (0.02 if broken else 0.0))
            path.lineTo(x + width, base)
            path.close()
            side = skia.GradientShader.MakeLinear(
                [skia.Point(x - width, 0), skia.Point(x + width, 0)], [argb(mix(tone, stage.palette.light, 0.3)), argb(scale(tone, 0.55))]
            )
            canvas.drawPath(path, skia.Paint(AntiAlias=True, Shader=side))
            for flute in range(-2, 3):
                canvas.drawLine(
                    x + flute * 0.013,
                    base,
                    x + flute * 0.013,
                    base - height + 0.045,
                    paint(scale(tone, 0.6), 0.5, Style=skia.Paint.kStroke_Style, StrokeWidth=0.003),
                )
            canvas.drawRect(skia.Rect.MakeXYWH(x - width * 1.3, base - 0.02, width * 2.6, 0.03), paint(tone))
            if not broken:
                canvas.drawRect(skia.Rect.MakeXYWH(x - width * 1.35, base - height - 0.025, width * 2.7, 0.03), paint(tone))

    drawn = stage.picture(painted, top=stage.horizon - 0.35)
    return [Layer(0.55, lambda canvas, moment: drawn(canvas))]


@element("thing", "a castle or palace with towers, king and queen, fairy tale", "outdoors", also="fortress, tower, kingdom, dragon")
def castle(stage: Stage) -> Sequence[Layer]:
    """Towers with pointed roofs and a few lit windows."""
    x = 0.2 * stage.aspect * (1 if stage.light[0] < 0 else -1)
    parts = [(-0.2, 0.3, 0.05), (-0.09, 0.44, 0.06), (0.05, 0.36, 0.05), (0.17, 0.25, 0.045)]

    def painted(canvas: Any) -> None:
        base, tone = stage.horizon + 0.06, stage.silhouette(0.35)
        canvas.drawRect(skia.Rect.MakeXYWH(x - 0.24, base - 0.16, 0.46, 0.25), paint(tone))
        for tooth in range(12):
            canvas.drawRect(skia.Rect.MakeXYWH(x - 0.24 + tooth * 0.04, base - 0.18, 0.02, 0.03), paint(tone))
        for dx, height, width in parts:
            canvas.drawRect(
                skia.Rect.MakeXYWH(x + dx - width / 2, base - height, width, height),
                vertical_gradient(base - height, base, mix(tone, stage.palette.light, 0.15), tone),
            )
            roof = skia.Path()
            roof.moveTo(x + dx - width * 0.75, base - height)
            roof.lineTo(x + dx, base - height - width * 2.1)
            roof.lineTo(x + dx + width * 0.75, base - height)
            roof.close()
            canvas.drawPath(roof, paint(mix(tone, stage.palette.accent, 0.25)))

    drawn = stage.picture(painted, top=stage.horizon - 0.6)

    def draw(canvas: Any, moment: Moment) -> None:
        drawn(canvas)
        for dx, height, _ in parts:
            glow(canvas, x + dx, stage.horizon + 0.12 - height, 0.035, stage.palette.accent, 0.7 + 0.3 * moment.mid)

    return [Layer(0.3, draw)]


@element("thing", "a rocket or spaceship, satellite, launch", "space", also="ufo, alien, comet, missile, spacecraft")
def rocket(stage: Stage) -> Sequence[Layer]:
    """A rocket with a flame that follows the drums."""

    def draw(canvas: Any, moment: Moment) -> None:
        canvas.save()
        canvas.translate(-0.25 * stage.aspect + moment.time * 0.03, 0.42 - moment.time * 0.014)
        canvas.rotate(58)
        length = 0.12 + 0.07 * moment.low + 0.05 * moment.beat
        glow(canvas, 0, 0.16, 0.26, stage.palette.accent, 0.5 + 0.3 * moment.beat)
        flame = skia.Path()
        flame.moveTo(-0.025, 0.1)
        flame.quadTo(0, 0.1 + length * 2, 0.025, 0.1)
        canvas.drawPath(flame, vertical_gradient(0.1, 0.1 + length, (1.0, 0.95, 0.8), stage.palette.accent))
        body = skia.Path()
        body.moveTo(0, -0.14)
        body.cubicTo(0.055, -0.06, 0.045, 0.05, 0.03, 0.1)
        body.lineTo(-0.03, 0.1)
        body.cubicTo(-0.045, 0.05, -0.055, -0.06, 0, -0.14)
        canvas.drawPath(
            body,
            skia.Paint(
                AntiAlias=True,
                Shader=skia.GradientShader.MakeLinear(
                    [skia.Point(-0.05, 0), skia.Point(0.05, 0)], [argb((0.95, 0.95, 0.97)), argb(stage.palette.far)]
                ),
            ),
        )
        for side in (-1, 1):
            fin = skia.Path()
            fin.moveTo(side * 0.035, 0.03)
            fin.lineTo(side * 0.085, 0.12)
            fin.lineTo(side * 0.03, 0.1)
            canvas.drawPath(fin, paint(stage.palette.accent2))
        canvas.drawCircle(0, -0.04, 0.02, paint(stage.palette.zenith))
        canvas.drawCircle(0, -0.04, 0.02, paint(stage.palette.accent2, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=0.006))
        canvas.restore()

    return [Layer(0.6, draw)]
