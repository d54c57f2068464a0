"""Things in the air, such as rain, snow, sparks, petals and confetti. All of them move with the music."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import mix
from gateleg.apps.mv.drawing.shaders import shade
from gateleg.apps.mv.drawing.stage import Layer, Moment, Stage, glow, paint

if TYPE_CHECKING:
    from collections.abc import Sequence


def _fall(stage: Stage, name: str, count: int) -> list[tuple[float, float, float, float]]:
    """Places, sizes and phases of things in the air."""
    random = stage.random(name)
    return [
        (
            float(random.uniform(stage.left, stage.right)),
            float(random.uniform(0, 1.3)),
            float(random.uniform(0.5, 1.5)),
            float(random.uniform(0, math.tau)),
        )
        for _ in range(count)
    ]


@element("weather", "falling rain, wet, tears, monsoon", "outdoors", also="umbrella, puddle, storm, downpour, thunder, November")
def rain(stage: Stage) -> Sequence[Layer]:
    """Streaks of rain, heavier with energy, and rings where they land."""
    drops = _fall(stage, "rain", int(220 + 260 * stage.energy))
    colour = mix(stage.palette.light, stage.palette.horizon, 0.35)

    def draw(canvas: Any, moment: Moment) -> None:
        for group in range(2):
            points = []
            for x, y, size, _ in drops[group::2]:
                at = (y + moment.time * 1.5 * size) % 1.3 - 0.15
                points += [skia.Point(x + at * 0.06, at), skia.Point(x + at * 0.06 + 0.003, at + 0.05 * size)]
            canvas.drawPoints(
                skia.Canvas.kLines_PointMode,
                points,
                paint(colour, 0.22 + 0.22 * group + 0.15 * moment.high, StrokeWidth=0.0015 + 0.0012 * group),
            )
        for number, (x, y, size, phase) in enumerate(drops[:40]):
            age = (moment.time * 1.4 + phase) % 1.0
            floor = stage.horizon + 0.12 + 0.25 * (y / 1.3)
            ring = skia.Rect.MakeXYWH(x - 0.03 * age * size, floor - 0.008 * age * size, 0.06 * age * size, 0.016 * age * size)
            if number % 2:
                canvas.drawOval(ring, paint(colour, 0.4 * (1 - age), Style=skia.Paint.kStroke_Style, StrokeWidth=0.0018))

    return [Layer(0.9, draw)]


@element("weather", "snowflakes falling in winter, blizzard", "outdoors", also="winter, December, Christmas, snowstorm, snowfall")
def snow(stage: Stage) -> Sequence[Layer]:
    """Flakes at three distances; the near ones are out of focus."""
    layers = []
    for row, (count, size, depth) in enumerate(((260, 0.004, 0.4), (120, 0.008, 0.8), (26, 0.022, 1.4))):
        flakes = _fall(stage, f"snow{row}", count)

        def draw(canvas: Any, moment: Moment, flakes: Any = flakes, size: float = size, row: int = row) -> None:
            points = []
            for x, y, speed, phase in flakes:
                at = (y + moment.time * (0.06 + 0.05 * row) * speed * (0.6 + stage.motion)) % 1.3 - 0.15
                points.append(skia.Point(x + 0.03 * math.sin(moment.time * 0.7 + phase) + 0.01 * moment.beat, at))
            blur = {"MaskFilter": skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, 0.006)} if row == 2 else {}
            canvas.drawPoints(
                skia.Canvas.kPoints_PointMode,
                points,
                paint((1.0, 1.0, 1.0), 0.85 - 0.22 * row, StrokeWidth=size, StrokeCap=skia.Paint.kRound_Cap, **blur),
            )

        layers.append(Layer(depth, draw))
    return layers


def _floating(stage: Stage, name: str, count: int, rise: float, size: float, glowing: bool) -> Layer:
    """Points of light that rise or sink, flicker with the treble and jump on the beat."""
    specks = _fall(stage, name, count)
    colours = (stage.palette.accent, stage.palette.light, stage.palette.accent2)

    def draw(canvas: Any, moment: Moment) -> None:
        for number, (x, y, speed, phase) in enumerate(specks):
            at = (y - moment.time * rise * speed * (0.5 + stage.motion)) % 1.3 - 0.15
            sway = x + 0.05 * math.sin(moment.time * 0.8 * speed + phase) + 0.012 * moment.beat * math.sin(phase * 5)
            alpha = 0.35 + 0.35 * math.sin(moment.time * 2.3 * speed + phase) + 0.3 * moment.high
            colour = colours[number % 3] if number % 4 else colours[0]
            if glowing:
                glow(canvas, sway, at, size * 4.5 * speed, colour, alpha * 0.6)
            canvas.drawCircle(sway, at, size * speed * 0.5, paint(mix(colour, (1.0, 1.0, 1.0), 0.4), alpha))

    return Layer(1.0, draw)


@element("weather", "embers and sparks rising from a fire, ash", "outdoors", "stage", also="cinders, forge")
def embers(stage: Stage) -> Sequence[Layer]:
    """Sparks on their way up."""
    return [_floating(stage, "embers", int(50 + 70 * stage.energy), 0.22, 0.006, True)]


@element("weather", "fireflies and lights dancing in the dark, magic dust, fairy", "outdoors", "room")
def fireflies(stage: Stage) -> Sequence[Layer]:
    """Slow lights that wander."""
    return [_floating(stage, "fireflies", 44, 0.03, 0.009, True)]


@element("weather", "dust and sand blown by the wind, haze in sunlight", "outdoors", "room", also="wind, breeze, sandstorm, drought")
def dust(stage: Stage) -> Sequence[Layer]:
    """Grains in the air, and a veil of dust near the ground."""
    source = """half4 main(float2 uv) {
      float d = fbm(float2(uv.x * 1.6 - time * 0.5, uv.y * 5.0)); float a = clamp(d * d * 0.6 * smoothstep(horizon - 0.25, horizon + 0.15, uv.y) * (0.5 + 0.5 * low), 0.0, 0.35);
      return half4(mix(c2, c3, 0.4) * half(a), half(a)); }"""
    return [Layer(0.8, shade(stage, source, 6, margin=0.09)), _floating(stage, "dust", 70, -0.02, 0.0035, False)]


@element("weather", "bubbles rising under water", "water", also="soap, champagne, foam")
def bubbles(stage: Stage) -> Sequence[Layer]:
    """Bubbles with a bright rim."""
    specks = _fall(stage, "bubbles", 60)

    def draw(canvas: Any, moment: Moment) -> None:
        for x, y, size, phase in specks:
            at = 1.15 - (y + moment.time * 0.12 * size * (0.5 + stage.motion)) % 1.3
            sway = x + 0.015 * math.sin(moment.time * 2 + phase)
            radius = 0.004 + 0.009 * (size - 0.5) ** 2 + 0.002 * moment.beat
            canvas.drawCircle(sway, at, radius, paint(stage.palette.light, 0.55, Style=skia.Paint.kStroke_Style, StrokeWidth=0.002))
            canvas.drawCircle(sway - radius * 0.3, at - radius * 0.3, radius * 0.25, paint((1.0, 1.0, 1.0), 0.8))

    return [Layer(0.9, draw)]


def _flakes(stage: Stage, name: str, count: int, size: float, colours: tuple[Any, ...], round_: bool, speed: float) -> Layer:
    """Thin things that tumble as they fall."""
    things = _fall(stage, name, count)

    def draw(canvas: Any, moment: Moment) -> None:
        for number, (x, y, pace, phase) in enumerate(things):
            at = (y + moment.time * speed * pace * (0.5 + stage.motion) - 0.02 * moment.beat) % 1.3 - 0.15
            canvas.save()
            canvas.translate(x + 0.06 * math.sin(moment.time * 0.9 * pace + phase), at)
            canvas.rotate(math.degrees(phase + moment.time * 1.4 * pace))
            canvas.scale(1.0, abs(math.cos(moment.time * 2.2 * pace + phase)) * 0.85 + 0.15)
            area = skia.Rect.MakeXYWH(-size * pace, -size * pace * 0.5, size * 2 * pace, size * pace)
            brush = paint(colours[number % len(colours)], 0.92)
            if round_:
                canvas.drawOval(area, brush)
            else:
                canvas.drawRect(area, brush)
            canvas.restore()

    return Layer(1.05, draw)


@element("weather", "flower petals floating in the air, cherry blossom", "outdoors", "room", also="rose, bouquet, wedding")
def petals(stage: Stage) -> Sequence[Layer]:
    """Petals in the accent colours."""
    return [
        _flakes(
            stage,
            "petals",
            60,
            0.013,
            (stage.palette.accent, mix(stage.palette.accent, (1.0, 1.0, 1.0), 0.4), stage.palette.accent2),
            True,
            0.07,
        )
    ]


@element("weather", "autumn leaves falling from the trees", "outdoors", also="autumn, October, November")
def falling_leaves(stage: Stage) -> Sequence[Layer]:
    """Leaves in warm tones."""
    return [
        _flakes(
            stage,
            "leaves",
            54,
            0.016,
            (stage.palette.accent, stage.palette.accent2, mix(stage.palette.accent, stage.palette.near, 0.35)),
            True,
            0.09,
        )
    ]


@element(
    "weather",
    "confetti at a party, celebration, winning",
    "stage",
    "room",
    "outdoors",
    also="birthday, carnival, victory, parade, wedding, champion",
)
def confetti(stage: Stage) -> Sequence[Layer]:
    """Strips of bright paper."""
    colours = (stage.palette.accent, stage.palette.accent2, stage.palette.light, mix(stage.palette.accent, stage.palette.accent2, 0.5))
    return [_flakes(stage, "confetti", int(70 + 90 * stage.energy), 0.011, colours, False, 0.16)]


@element("weather", "smoke and haze drifting through the air", "stage", "room", "outdoors", also="cigarette, incense, steam")
def smoke(stage: Stage) -> Sequence[Layer]:
    """Slow smoke lit by the accents."""
    source = """half4 main(float2 uv) {
      float2 w = float2(fbm(uv * 1.7 + time * 0.1), fbm(uv * 1.7 + 5.0 - time * 0.08)); float d = fbm4(uv * 1.9 + w * 1.6 + float2(time * 0.07, time * -0.12));
      float a = smoothstep(0.38, 0.85, d) * 0.55 * smoothstep(0.0, 0.7, uv.y) * (0.75 + 0.35 * low); half3 c = mix(c2, mix(c3, c4, 0.4), half(d));
      return half4(c * half(a), half(a)); }"""
    return [Layer(0.6, shade(stage, source, 6, margin=0.09))]


@element("weather", "fireworks in the night sky, new year", "outdoors", also="celebration, new year's eve, explosion")
def fireworks(stage: Stage) -> Sequence[Layer]:
    """A rocket bursts on every second beat."""
    random = stage.random("fireworks")
    bursts = [
        (float(random.uniform(-0.42, 0.42)) * stage.aspect, float(random.uniform(0.1, 0.4)), float(random.uniform(0.12, 0.24)))
        for _ in range(16)
    ]

    def draw(canvas: Any, moment: Moment) -> None:
        for back in range(3):
            number = int(moment.beats // 2) - back
            age = moment.beats / 2 - number
            if age > 2.4 or number < 0:
                continue
            x, y, size = bursts[number % len(bursts)]
            colour = (stage.palette.accent, stage.palette.accent2, stage.palette.light)[number % 3]
            reach, fade = size * (1 - math.exp(-2.4 * age)), max(1 - age / 2.2, 0.0)
            glow(canvas, x, y, size * 1.6, colour, 0.35 * fade * fade)
            for ray in range(30):
                angle = ray * math.tau / 30 + number
                length = reach * (0.75 + 0.25 * math.sin(ray * 7.3))
                drop = 0.06 * age * age
                px, py = x + math.cos(angle) * length, y + math.sin(angle) * length + drop
                canvas.drawLine(
                    x + math.cos(angle) * length * 0.72,
                    y + math.sin(angle) * length * 0.72 + drop * 0.7,
                    px,
                    py,
                    paint(colour, 0.6 * fade, Style=skia.Paint.kStroke_Style, StrokeWidth=0.0025),
                )
                canvas.drawCircle(px, py, 0.0045, paint(mix(colour, (1.0, 1.0, 1.0), 0.6), fade))

    return [Layer(0.1, draw)]
