"""Water: sea, lake, beach, boats, and animals under water."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import mix
from gateleg.apps.mv.drawing.elements.lands import land
from gateleg.apps.mv.drawing.shaders import shade
from gateleg.apps.mv.drawing.stage import Layer, Moment, Stage, glow, paint

if TYPE_CHECKING:
    from collections.abc import Sequence

_SEA = """half4 main(float2 uv) {
  float d = uv.y - horizon; if (d < 0.0) { return half4(0.0); }
  float far = 1.0 / (d + 0.035); float x = (uv.x - size.x * 0.5) * far;
  float swell = sin(far * 1.1 + time * 1.3 + x * 0.15) * 0.5 + 0.5;
  float n = noise(float2(x * 0.9 + time * 0.5, far * 2.0 + time * 1.4)) * 0.6 + noise(float2(x * 2.3 - time * 0.7, far * 4.6 + time * 2.0)) * 0.4;
  float crest = smoothstep(0.56, 0.92, n * 0.8 + swell * 0.25 + low * 0.1);
  half3 deep = mix(c5h, c0, 0.25); half3 c = mix(mix(c2, c1, 0.5), deep, half(smoothstep(0.0, CALM, d)));
  c = mix(c, c2, half(n * n * 0.4 * exp(-d * 2.0)));
  c += c3 * half(crest * 0.24 * (0.6 + 0.6 * low));
  float path = exp(-abs(uv.x - sun.x) * (7.0 - 4.0 * d) ) * smoothstep(0.38, 0.75, n + 0.1 * beat); c += c3 * half(path * (0.75 - 0.3 * d));
  return half4(c, 1.0); }"""


def _sea(stage: Stage, calm: float) -> Layer:
    ground = stage.palette.ground
    deep = f"half3({ground[0]:.4f}, {ground[1]:.4f}, {ground[2]:.4f})"
    return Layer(0.25, shade(stage, _SEA.replace("c5h", deep).replace("CALM", f"{calm:.2f}"), 3, margin=0.09, top=stage.horizon - 0.01))


@element("ground", "the open sea with waves, ocean", "outdoors", also="wave, ship, tide, harbour, storm at sea, horizon, sailor")
def ocean(stage: Stage) -> Sequence[Layer]:
    """Waves to the horizon, with a path of light; the swell rises with the bass."""
    return [_sea(stage, 0.3), *(_wave(stage, row) for row in range(3))]


def _wave(stage: Stage, row: int) -> Layer:
    random = stage.random("wave", row)
    phase = float(random.uniform(0, 9))
    base = stage.horizon + 0.16 + 0.1 * row
    tone = mix(stage.palette.ground, stage.palette.near, 0.25 + 0.22 * row)
    xs = [stage.left + (stage.right - stage.left) * at / 90 for at in range(91)]

    def draw(canvas: Any, moment: Moment) -> None:
        swell = 0.012 + 0.012 * row + 0.016 * moment.low * stage.motion
        ys = [
            base
            + swell * (math.sin(x * 5 + moment.time * (0.9 + 0.3 * row) + phase) + 0.5 * math.sin(x * 11 - moment.time * 1.3 + phase * 2))
            for x in xs
        ]
        path = skia.Path()
        path.moveTo(xs[0], 1.3)
        for x, y in zip(xs, ys, strict=True):
            path.lineTo(x, y)
        path.lineTo(xs[-1], 1.3)
        path.close()
        canvas.drawPath(path, paint(tone, 0.5 + 0.12 * row))
        crest = skia.Path()
        crest.moveTo(xs[0], ys[0])
        for x, y in zip(xs[1:], ys[1:], strict=True):
            crest.lineTo(x, y)
        canvas.drawPath(
            crest,
            paint(
                mix(stage.palette.light, stage.palette.horizon, 0.3),
                0.22 + 0.3 * moment.beat * stage.motion,
                Style=skia.Paint.kStroke_Style,
                StrokeWidth=0.003,
            ),
        )

    return Layer(0.5 + 0.25 * row, draw)


@element("ground", "a still lake or river that reflects the sky", "outdoors", also="pond, stream, canal, swimming pool, waterfall, creek")
def still_lake(stage: Stage) -> Sequence[Layer]:
    """Calm water between banks of reeds."""
    return [_sea(stage, 0.7), land(stage, "bank", 0.98, 0.08, 0.1, 0.95, 1.4, 0.3)]


@element("ground", "a sandy beach at the coast with surf", "outdoors", also="coast, shore, seaside, sand, surfer, island, seashell")
def beach(stage: Stage) -> Sequence[Layer]:
    """Sea, a line of surf that comes and goes, and sand."""
    sand = (
        mix(stage.palette.light, (0.85, 0.68, 0.45), 0.55) if not stage.palette.dark else mix(stage.palette.ground, (0.6, 0.55, 0.5), 0.3)
    )
    shore = land(stage, "shore", stage.horizon + 0.27, 0.035, 0.0, 0.9, 1.2, 0.0, sand)

    def surf(canvas: Any, moment: Moment) -> None:
        reach = stage.horizon + 0.25 + 0.012 * math.sin(moment.beats * math.pi / 4) - 0.01 * moment.low
        for line in range(3):
            path = skia.Path()
            path.moveTo(stage.left, reach - 0.02 * line)
            for at in range(1, 61):
                x = stage.left + (stage.right - stage.left) * at / 60
                path.lineTo(x, reach - 0.02 * line + 0.008 * math.sin(x * 7 + line * 2 + moment.time * 0.6))
            canvas.drawPath(
                path,
                paint(
                    (1.0, 1.0, 1.0),
                    0.6 - 0.17 * line,
                    Style=skia.Paint.kStroke_Style,
                    StrokeWidth=0.012 - 0.003 * line,
                    MaskFilter=skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, 0.003),
                ),
            )

    return [_sea(stage, 0.3), shore, Layer(0.8, surf)]


@element("ground", "the bottom of the sea with corals and seaweed", "water")
def seabed(stage: Stage) -> Sequence[Layer]:
    """Sand, corals, and weed that sways with the bass."""
    random = stage.random("weed")
    layers: list[Layer] = [land(stage, "bed0", 0.82, 0.1, 0.1, 0.35, 1.6, 0.3), land(stage, "bed1", 0.98, 0.1, 0.1, 0.8, 1.6, 0.3)]
    weeds = [
        (float(random.uniform(stage.left, stage.right)), float(random.uniform(0.12, 0.34)), float(random.uniform(0, 6))) for _ in range(26)
    ]

    def draw(canvas: Any, moment: Moment) -> None:
        for number, (x, height, phase) in enumerate(weeds):
            path = skia.Path()
            path.moveTo(x, 1.02)
            for step in range(1, 9):
                share = step / 8
                sway = math.sin(moment.time * 0.9 + phase + share * 3.5) * 0.035 * share * (1 + 0.8 * moment.low)
                path.lineTo(x + sway, 1.02 - height * share)
            colour = mix(stage.palette.near, (stage.palette.accent, stage.palette.accent2, stage.palette.far)[number % 3], 0.45)
            canvas.drawPath(
                path,
                paint(
                    colour,
                    0.95,
                    Style=skia.Paint.kStroke_Style,
                    StrokeWidth=0.012,
                    StrokeCap=skia.Paint.kRound_Cap,
                    StrokeJoin=skia.Paint.kRound_Join,
                ),
            )

    layers.insert(1, Layer(0.7, draw))
    return layers


@element("thing", "fish, a shoal of fish swimming", "water", also="goldfish, salmon, aquarium, trout")
def fish(stage: Stage) -> Sequence[Layer]:
    """A shoal that turns together."""
    random = stage.random("fish")
    shoal = [
        (float(random.normal(0, 0.28)), float(random.normal(0.48, 0.11)), float(random.uniform(0.7, 1.5)), float(random.uniform(0, 6)))
        for _ in range(46)
    ]

    def draw(canvas: Any, moment: Moment) -> None:
        span = stage.right - stage.left + 0.6
        for number, (x, y, size, phase) in enumerate(shoal):
            at = (x + moment.time * 0.11 * size + span) % span - span / 2
            up = y + 0.03 * math.sin(moment.time * 0.8 + phase) + 0.02 * moment.beat * math.sin(phase * 3)
            length = 0.045 * size
            tail = math.sin(moment.time * 9 + phase) * length * 0.25
            path = skia.Path()
            path.moveTo(at + length, up)
            path.quadTo(at, up - length * 0.55, at - length * 0.7, up)
            path.lineTo(at - length * 1.25, up - length * 0.42 + tail)
            path.lineTo(at - length * 1.25, up + length * 0.42 + tail)
            path.lineTo(at - length * 0.7, up)
            path.quadTo(at, up + length * 0.55, at + length, up)
            canvas.drawPath(
                path, paint(mix(stage.palette.accent if number % 3 else stage.palette.accent2, stage.palette.middle, 0.3), 0.92)
            )

    return [Layer(0.75, draw)]


@element("thing", "glowing jellyfish floating", "water")
def jellyfish(stage: Stage) -> Sequence[Layer]:
    """Bells that close on the beat, with long threads."""
    random = stage.random("jelly")
    bells = [
        (
            float(random.uniform(-0.45, 0.45)) * stage.aspect,
            float(random.uniform(0.2, 0.75)),
            float(random.uniform(0.05, 0.12)),
            float(random.uniform(0, 6)),
        )
        for _ in range(7)
    ]

    def draw(canvas: Any, moment: Moment) -> None:
        for number, (x, y, size, phase) in enumerate(bells):
            colour = stage.palette.accent if number % 2 else stage.palette.accent2
            close = 1.0 - 0.22 * moment.beat * ((number + int(moment.beats)) % 2)
            up = y - 0.05 * math.sin(moment.time * 0.4 + phase)
            glow_alpha = 0.25 + 0.25 * moment.low
            glow(canvas, x, up, size * 2.2, colour, glow_alpha)
            bell = skia.Path()
            bell.moveTo(x - size * close, up)
            bell.cubicTo(x - size * close, up - size * 1.4, x + size * close, up - size * 1.4, x + size * close, up)
            bell.quadTo(x, up + size * 0.25, x - size * close, up)
            canvas.drawPath(bell, paint(mix(colour, stage.palette.light, 0.45), 0.6))
            for thread in range(5):
                path = skia.Path()
                start = x + (thread - 2) * size * 0.36 * close
                path.moveTo(start, up)
                for step in range(1, 7):
                    path.lineTo(start + math.sin(moment.time * 1.6 + phase + step * 0.9 + thread) * size * 0.16, up + size * 0.42 * step)
                canvas.drawPath(path, paint(colour, 0.5, Style=skia.Paint.kStroke_Style, StrokeWidth=0.004))

    return [Layer(0.6, draw)]


@element("thing", "a sailing boat or ship on the water", "outdoors", also="ferry, yacht, canoe, vessel, harbour, pirate")
def sailing_boat(stage: Stage) -> Sequence[Layer]:
    """A boat that rocks with the swell."""
    x = float(stage.random("boat").uniform(-0.35, 0.35)) * stage.aspect

    def draw(canvas: Any, moment: Moment) -> None:
        canvas.save()
        canvas.translate(x + moment.time * 0.008, stage.horizon + 0.115 + 0.008 * math.sin(moment.time * 1.2))
        canvas.rotate(3 * math.sin(moment.time * 0.9) + 2 * moment.beat)
        dark = stage.silhouette(0.6)
        hull = skia.Path()
        hull.moveTo(-0.13, -0.03)
        hull.quadTo(0.0, 0.05, 0.12, -0.035)
        hull.close()
        canvas.drawPath(hull, paint(dark))
        canvas.drawLine(0, -0.03, 0, -0.34, paint(dark, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=0.006))
        for side, reach in ((1, 0.12), (-1, 0.09)):
            sail = skia.Path()
            sail.moveTo(side * 0.008, -0.33)
            sail.quadTo(side * reach * 1.3, -0.2, side * reach, -0.05)
            sail.lineTo(side * 0.008, -0.05)
            sail.close()
            canvas.drawPath(sail, paint(mix(stage.palette.light, stage.palette.horizon, 0.25 if side > 0 else 0.5), 0.95))
        canvas.restore()

    return [Layer(0.45, draw)]
