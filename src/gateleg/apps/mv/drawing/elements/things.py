"""Things: in rooms, on stages, in the air."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import mix, scale
from gateleg.apps.mv.drawing.shaders import shade
from gateleg.apps.mv.drawing.stage import MARGIN, Layer, Moment, Stage, four, glow, paint, upright

if TYPE_CHECKING:
    from collections.abc import Sequence

_BOTTOM = 1.0 + MARGIN


@element("ground", "a wooden floor in a room with a table and furniture, home", "room")
def room_floor(stage: Stage) -> Sequence[Layer]:
    """Boards in perspective, a table, a lamp that swings a little."""
    random = stage.random("room")
    wood = mix(stage.palette.ground, stage.palette.far, 0.3)
    table_x = float(random.choice([-0.3, 0.3])) * stage.aspect

    def painted(canvas: Any) -> None:
        top = stage.horizon
        canvas.drawRect(skia.Rect.MakeLTRB(stage.left, top, stage.right, _BOTTOM), upright(top, 1.0, scale(wood, 0.75), wood))
        for board in range(-26, 27):
            canvas.drawLine(
                board * 0.09,
                top,
                board * 0.28,
                _BOTTOM + 0.1,
                paint(scale(wood, 0.6), 0.5, Style=skia.Paint.kStroke_Style, StrokeWidth=0.003),
            )
        dark = scale(wood, 0.5)
        canvas.drawOval(
            skia.Rect.MakeXYWH(table_x - 0.3, top + 0.2, 0.6, 0.07),
            paint((0.0, 0.0, 0.0), 0.35, MaskFilter=skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, 0.02)),
        )
        for leg in (-0.22, 0.2):
            canvas.drawRect(skia.Rect.MakeXYWH(table_x + leg, top - 0.02, 0.02, 0.25), paint(dark))
        canvas.drawRoundRect(
            skia.Rect.MakeXYWH(table_x - 0.28, top - 0.05, 0.56, 0.04),
            0.01,
            0.01,
            upright(top - 0.05, top, mix(wood, stage.palette.light, 0.35), dark),
        )
        cup = paint(mix(stage.palette.accent, stage.palette.light, 0.3))
        canvas.drawRoundRect(skia.Rect.MakeXYWH(table_x - 0.08, top - 0.1, 0.045, 0.05), 0.006, 0.006, cup)

    drawn = stage.picture(painted, top=stage.horizon - 0.12)

    def lamp(canvas: Any, moment: Moment) -> None:
        swing = 0.02 * math.sin(moment.beats * math.pi / 2)
        canvas.drawLine(
            table_x, -0.1, table_x + swing, 0.2, paint(stage.palette.near, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=0.004)
        )
        glow(canvas, table_x + swing, 0.26, 0.6, stage.palette.accent, 0.4 + 0.2 * moment.low)
        shade_ = skia.Path()
        shade_.moveTo(table_x + swing - 0.02, 0.2)
        shade_.lineTo(table_x + swing + 0.02, 0.2)
        shade_.lineTo(table_x + swing + 0.09, 0.27)
        shade_.lineTo(table_x + swing - 0.09, 0.27)
        shade_.close()
        canvas.drawPath(shade_, paint(mix(stage.palette.accent, stage.palette.near, 0.35)))

    return [Layer(0.6, lambda canvas, moment: drawn(canvas)), Layer(0.65, lamp)]


@element("ground", "the floor of a concert stage or a club, dance floor", "stage")
def stage_floor(stage: Stage) -> Sequence[Layer]:
    """A dark floor with tiles that light up on the beat."""
    source = """half4 main(float2 uv) {
      float d = uv.y - horizon; if (d < 0.0) { return half4(0.0); }
      float far = 1.0 / (d + 0.06); float2 q = float2((uv.x - size.x * 0.5) * far * 1.5, far * 1.1); float id = hash(floor(q) + floor(seed)); float2 f = fract(q);
      float tile = smoothstep(0.0, 0.06, f.x) * smoothstep(1.0, 0.94, f.x) * smoothstep(0.0, 0.06, f.y) * smoothstep(1.0, 0.94, f.y);
      float on = step(0.6, fract(id + floor(time * 1.0) * 0.37)); half3 c = mix(c0, c1, half(exp(-d * 3.0))) * 0.8; c += mix(c4, c5, half(id)) * half(tile * on * (0.18 + 0.38 * beat) * exp(-d * 0.6)); c += c2 * half(exp(-d * 9.0) * 0.5);
      return half4(c, 1.0); }"""
    return [Layer(0.35, shade(stage, source, 2, margin=0.09))]


@element("ground", "a smooth empty floor with reflections, studio, void")
def plain_floor(stage: Stage) -> Sequence[Layer]:
    """A floor that the light pools on."""
    top = stage.horizon
    area = skia.Rect.MakeLTRB(stage.left, top, stage.right, _BOTTOM)
    brush = upright(top, 1.05, stage.palette.horizon, stage.palette.ground, scale(stage.palette.near, 1.1))

    def draw(canvas: Any, moment: Moment) -> None:
        canvas.drawRect(area, brush)
        canvas.save()
        canvas.translate(stage.light[0] * 0.4, top + 0.2)
        canvas.scale(1.0, 0.22)
        glow(canvas, 0, 0, 0.9, stage.palette.light, 0.3 + 0.2 * moment.low)
        canvas.restore()

    return [Layer(0.35, draw)]


@element("front", "a crowd of people with raised hands, audience, fans", "stage", "outdoors")
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


@element("thing", "birds flying in a flock, gulls, freedom", "outdoors")
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


@element("thing", "balloons or paper lanterns rising into the sky, wishes", "outdoors", "room")
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
                upright(
                    at - size, at + size, mix(stage.palette.accent, (0.6, 0.2, 0.1), 0.35), mix(stage.palette.accent, (1.0, 1.0, 0.9), 0.5)
                ),
            )

    return [Layer(0.6, draw)]


@element("thing", "a heart, love, two people in love, kiss, tenderness")
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


@element("thing", "gold coins, cash, money, treasure, wealth")
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
                upright(
                    at - size, at + size, mix(gold, (1.0, 1.0, 1.0), 0.55 * abs(turn) + 0.2 * moment.high), mix(gold, (0.4, 0.2, 0.0), 0.5)
                ),
            )
            canvas.drawOval(
                skia.Rect.MakeXYWH(x - width * 0.7, at - size * 0.7, width * 1.4, size * 1.4),
                paint(mix(gold, (0.5, 0.28, 0.05), 0.35), 0.8, Style=skia.Paint.kStroke_Style, StrokeWidth=size * 0.1),
            )

    return [Layer(0.85, draw)]


@element("thing", "a big clock face, a watch that ticks, time passing")
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


@element("thing", "candles with warm flames, prayer, memorial, dinner", "room", "outdoors")
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
                upright(top, base, mix(stage.palette.light, (1.0, 1.0, 1.0), 0.2), mix(stage.palette.light, stage.palette.near, 0.6)),
            )
            lean = 0.008 * math.sin(moment.time * 5 + phase) + 0.004 * moment.high
            flame = skia.Path()
            flame.moveTo(x - 0.008, top)
            flame.quadTo(x - 0.012, top - 0.02, x + lean, top - 0.045 - 0.012 * moment.mid)
            flame.quadTo(x + 0.012, top - 0.02, x + 0.008, top)
            flame.close()
            canvas.drawPath(flame, upright(top - 0.05, top, (1.0, 0.95, 0.75), stage.palette.accent))

    return [Layer(0.75, draw)]


@element("thing", "a mirror ball, disco, dance party, nightclub", "stage", "room")
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


@element("thing", "butterflies fluttering", "outdoors")
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


@element("thing", "television screens, computers, phones, social media, internet")
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
            canvas.drawRect(inner, upright(y, y + 0.19, mix(colour, (1.0, 1.0, 1.0), 0.15), mix(colour, stage.palette.near, 0.5)))
            for bar in range(9):
                tall = 0.02 + 0.1 * abs(math.sin(bar * 1.7 + phase + moment.time)) * (0.3 + moment.mid)
                canvas.drawRect(
                    skia.Rect.MakeXYWH(x - 0.105 + bar * 0.024, y + 0.174 - tall, 0.016, tall), paint(stage.palette.light, 0.55)
                )
            canvas.restore()

    return [Layer(0.5, draw)]


@element("thing", "ruins, broken columns, ancient temple, war, destruction", "outdoors")
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
                [skia.Point(x - width, 0), skia.Point(x + width, 0)], [four(mix(tone, stage.palette.light, 0.3)), four(scale(tone, 0.55))]
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


@element("thing", "a castle or palace with towers, king and queen, fairy tale", "outdoors")
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
                upright(base - height, base, mix(tone, stage.palette.light, 0.15), tone),
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


@element("thing", "a rocket or spaceship, satellite, launch", "space")
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
        canvas.drawPath(flame, upright(0.1, 0.1 + length, (1.0, 0.95, 0.8), stage.palette.accent))
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
                    [skia.Point(-0.05, 0), skia.Point(0.05, 0)], [four((0.95, 0.95, 0.97)), four(stage.palette.far)]
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
