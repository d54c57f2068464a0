"""Prominent objects: a lighthouse, a bonfire, a piano, a great tree, glowing mushrooms, a village."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import Colour, mix, scale
from gateleg.apps.mv.drawing.stage import BOTTOM, Layer, Moment, Stage, argb, glow, paint, vertical_gradient

if TYPE_CHECKING:
    from collections.abc import Sequence

_WHITE: Colour = (1.0, 1.0, 1.0)


def _side(stage: Stage) -> int:
    """The free side of the frame, away from the subject and the light."""
    if abs(stage.spot[0]) > 0.05:
        return -1 if stage.spot[0] > 0 else 1
    return 1 if stage.light[0] < 0 else -1


def _polygon(*points: tuple[float, float]) -> Any:
    path = skia.Path()
    path.moveTo(*points[0])
    for point in points[1:]:
        path.lineTo(*point)
    path.close()
    return path


@element("thing", "a lighthouse on a cliff by the sea, beacon", "outdoors")
def lighthouse(stage: Stage) -> Sequence[Layer]:
    """A striped tower on a rock, whose beam turns with the bars."""
    x, base, top = 0.29 * stage.aspect * _side(stage), stage.horizon + 0.1, stage.horizon - 0.34
    tone = stage.silhouette(0.7)
    bands = [mix(stage.palette.light, _WHITE, 0.4), mix(stage.palette.accent, stage.palette.near, 0.2)]

    def painted(canvas: Any) -> None:
        rock = _polygon((x - 0.34, base + 0.16), (x - 0.2, base + 0.02), (x - 0.07, base - 0.02), (x + 0.12, base), (x + 0.36, base + 0.16))
        canvas.drawPath(rock, vertical_gradient(base - 0.02, base + 0.16, mix(tone, stage.palette.light, 0.12), tone))
        for band in range(6):
            high, low = (top + (base - top) * share / 6 for share in (band, band + 1))
            wide = [0.036 + 0.03 * (y - top) / (base - top) for y in (high, low)]
            colour = mix(bands[band % 2], tone, 0.3)
            canvas.drawPath(_polygon((x - wide[0], high), (x + wide[0], high), (x + wide[1], low), (x - wide[1], low)), paint(colour))
            canvas.drawPath(_polygon((x, high), (x + wide[0], high), (x + wide[1], low), (x, low)), paint(tone, 0.28))
        canvas.drawRect(skia.Rect.MakeXYWH(x - 0.055, top - 0.012, 0.11, 0.014), paint(tone))
        canvas.drawRect(skia.Rect.MakeXYWH(x - 0.03, top - 0.062, 0.06, 0.05), paint(mix(stage.palette.accent, _WHITE, 0.6)))
        canvas.drawPath(_polygon((x - 0.045, top - 0.06), (x, top - 0.105), (x + 0.045, top - 0.06)), paint(tone))

    drawn = stage.picture(painted, top=top - 0.12, bottom=base + 0.17)
    lamp = mix(stage.palette.light, (1.0, 0.92, 0.7), 0.5)

    def draw(canvas: Any, moment: Moment) -> None:
        for way in (0.0, math.pi):
            turn = math.cos(moment.beats * math.pi / 4 + way)
            reach, spread = 1.7 * turn, 0.05 + 0.12 * abs(turn)
            ends = [skia.Point(x, top), skia.Point(x + reach, top)]
            colours = [argb(lamp, 0.4 + 0.15 * moment.low), argb(lamp, 0.15), argb(lamp, 0.0)]
            shader = skia.GradientShader.MakeLinear(ends, colours)
            beam = skia.Paint(AntiAlias=True, Shader=shader, BlendMode=skia.BlendMode.kPlus, Dither=True)
            far = top - 0.035 - 0.04 * turn
            canvas.drawPath(_polygon((x, top - 0.04), (x + reach, far - spread), (x + reach, far + spread), (x, top - 0.03)), beam)
        drawn(canvas)
        glow(canvas, x, top - 0.037, 0.2, lamp, 0.7 + 0.3 * moment.beat)

    return [Layer(0.4, draw)]


@element(
    "thing",
    "a fire, something on fire, burning, bonfire, campfire, flames",
    "outdoors",
    "room",
    "stage",
    also="fireplace, torch, blaze, inferno",
)
def bonfire(stage: Stage) -> Sequence[Layer]:
    """Tongues of fire over logs, that leap with the drums and light the ground."""
    x, foot = 0.2 * stage.aspect * _side(stage), min(stage.horizon + 0.26, 0.94)
    random = stage.random("fire")
    tongues = [(float(random.uniform(-0.11, 0.11)), float(random.uniform(0.7, 1.2)), float(random.uniform(0, 6))) for _ in range(11)]
    hot: tuple[Colour, ...] = ((0.95, 0.25, 0.05), (1.0, 0.55, 0.1), (1.0, 0.9, 0.45))
    wood = paint(mix(stage.palette.near, (0.15, 0.08, 0.04), 0.5), 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=0.028)

    def draw(canvas: Any, moment: Moment) -> None:
        glow(canvas, x, foot - 0.1, 0.75, hot[1], 0.3 + 0.2 * moment.low)
        for slope in (-0.05, 0.05):
            canvas.drawLine(x - 0.14, foot + slope / 2, x + 0.14, foot - slope / 2, wood)
        for layer, colour in enumerate(hot):
            size = 1 - 0.27 * layer
            for dx, tall, phase in tongues:
                high = 0.3 * tall * size * (0.75 + 0.5 * moment.low) * (1 - (dx / 0.2) ** 2)
                lean = 0.03 * math.sin(moment.time * 5 + phase) + 0.02 * math.sin(moment.time * 11 + phase * 2)
                wide, left = 0.045 * size, x + dx * size
                path = skia.Path()
                path.moveTo(left - wide, foot)
                path.cubicTo(
                    left - wide * 1.5, foot - high * 0.5, left + lean - wide * 0.3, foot - high * 0.6, left + lean * 2, foot - high
                )
                path.cubicTo(left + lean + wide * 0.5, foot - high * 0.6, left + wide * 1.5, foot - high * 0.4, left + wide, foot)
                canvas.drawPath(path, paint(colour, 0.55))

    return [Layer(0.8, draw)]


@element("thing", "a grand piano, keyboard of a piano, pianist", also="organ, piano lesson")
def grand_piano(stage: Stage) -> Sequence[Layer]:
    """A grand piano with its lid open; keys go down with the music."""
    x, foot = 0.12 * stage.aspect * _side(stage), min(stage.horizon + 0.3, 0.95)
    black = mix(stage.palette.near, (0.03, 0.03, 0.04), 0.6)
    shine = mix(stage.palette.light, stage.palette.horizon, 0.3)

    def painted(canvas: Any) -> None:
        blur = skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, 0.02)
        canvas.drawOval(skia.Rect.MakeXYWH(x - 0.34, foot - 0.03, 0.7, 0.07), paint((0.0, 0.0, 0.0), 0.5, MaskFilter=blur))
        for leg in (-0.25, 0.0, 0.24):
            canvas.drawPath(
                _polygon((x + leg - 0.016, foot - 0.2), (x + leg + 0.016, foot - 0.2), (x + leg + 0.008, foot), (x + leg - 0.008, foot)),
                paint(black),
            )
        lid = _polygon((x - 0.24, foot - 0.3), (x + 0.3, foot - 0.3), (x + 0.24, foot - 0.56), (x - 0.1, foot - 0.6))
        canvas.drawPath(lid, vertical_gradient(foot - 0.6, foot - 0.3, mix(black, shine, 0.35), black))
        canvas.drawRoundRect(
            skia.Rect.MakeXYWH(x - 0.32, foot - 0.32, 0.64, 0.13),
            0.03,
            0.03,
            vertical_gradient(foot - 0.32, foot - 0.19, mix(black, shine, 0.18), black),
        )
        canvas.drawLine(x + 0.2, foot - 0.3, x + 0.17, foot - 0.52, paint(shine, 0.7, Style=skia.Paint.kStroke_Style, StrokeWidth=0.006))

    drawn = stage.picture(painted, top=foot - 0.62, bottom=foot + 0.06)

    def draw(canvas: Any, moment: Moment) -> None:
        drawn(canvas)
        for key in range(16):
            down = 0.006 if key % 5 == int(moment.beats * 2) % 5 else 0.0
            spot = skia.Rect.MakeXYWH(x - 0.29 + key * 0.036, foot - 0.255 + down, 0.032, 0.035)
            canvas.drawRect(spot, paint(mix(_WHITE, stage.palette.light, 0.3)))
            if key % 7 not in (2, 6):
                canvas.drawRect(skia.Rect.MakeXYWH(spot.right() - 0.008, spot.top(), 0.02, 0.02), paint(black))

    return [Layer(0.85, draw)]


@element("thing", "a great old tree, an oak, a cherry tree in blossom, a treehouse", "outdoors", also="tree, apple tree, willow, branch")
def great_tree(stage: Stage) -> Sequence[Layer]:
    """One tree with a broad crown that sways."""
    x, foot = 0.24 * stage.aspect * _side(stage), stage.horizon + 0.2
    random = stage.random("tree")
    trunk = mix(stage.silhouette(0.8), (0.25, 0.15, 0.1), 0.4)
    leaf = mix(stage.palette.accent, stage.palette.ground, 0.35)
    crown = [
        (float(random.normal(0, 0.14)), float(random.normal(0, 0.08)), float(random.uniform(0.03, 0.075)), float(random.uniform(0, 1)))
        for _ in range(110)
    ]
    crown.sort(key=lambda blob: -blob[1])

    def painted(canvas: Any) -> None:
        wood = skia.Path()
        wood.moveTo(x - 0.065, foot + 0.02)
        wood.cubicTo(x - 0.03, foot - 0.12, x - 0.035, foot - 0.25, x - 0.05, foot - 0.42)
        wood.lineTo(x + 0.05, foot - 0.42)
        wood.cubicTo(x + 0.03, foot - 0.25, x + 0.03, foot - 0.12, x + 0.075, foot + 0.02)
        wood.close()
        canvas.drawPath(wood, paint(trunk))
        thin = paint(trunk, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=0.022)
        for way in (-1, 1):
            canvas.drawLine(x, foot - 0.3, x + way * 0.17, foot - 0.5, thin)

    drawn = stage.picture(painted, top=foot - 0.55, bottom=foot + 0.03)

    def draw(canvas: Any, moment: Moment) -> None:
        drawn(canvas)
        for number, (dx, dy, size, light) in enumerate(crown):
            sway = 0.008 * math.sin(moment.time * 1.1 + number) + 0.004 * moment.low
            tone = mix(scale(leaf, 0.7), mix(leaf, stage.palette.light, 0.45), light * (0.5 - dy * 3))
            canvas.drawCircle(x + dx + sway, foot - 0.52 + dy, size, paint(tone))

    return [Layer(0.6, draw)]


@element("thing", "mushrooms, toadstools that glow in the dark, fungus", "outdoors")
def mushrooms(stage: Stage) -> Sequence[Layer]:
    """Caps of all sizes on the ground, lit from within by the middle of the music."""
    random = stage.random("mushrooms")
    group = sorted(
        (
            float(random.uniform(stage.horizon + 0.08, 0.98)),
            float(random.uniform(-0.5, 0.5)) * stage.aspect,
            float(random.uniform(0.6, 1.3)),
        )
        for _ in range(24)
    )
    stalk = mix(stage.palette.light, stage.palette.ground, 0.35)

    def draw(canvas: Any, moment: Moment) -> None:
        for number, (foot, x, vary) in enumerate(group):
            size = vary * (0.03 + 0.16 * (foot - stage.horizon))
            cap = stage.palette.accent if number % 3 else stage.palette.accent2
            glow(canvas, x, foot - size * 1.3, size * 2.6, cap, 0.35 + 0.3 * moment.mid)
            stem = skia.Rect.MakeXYWH(x - size * 0.16, foot - size * 1.2, size * 0.32, size * 1.2)
            canvas.drawRoundRect(stem, size * 0.1, size * 0.1, paint(stalk))
            dome = skia.Path()
            dome.moveTo(x - size, foot - size * 1.05)
            dome.cubicTo(x - size, foot - size * 2.3, x + size, foot - size * 2.3, x + size, foot - size * 1.05)
            dome.quadTo(x, foot - size * 0.75, x - size, foot - size * 1.05)
            canvas.drawPath(dome, vertical_gradient(foot - size * 2.1, foot - size, mix(cap, _WHITE, 0.45), cap))
            for dx, dy in ((-0.45, 1.45), (0.1, 1.7), (0.5, 1.35)):
                canvas.drawCircle(x + dx * size, foot - dy * size, size * 0.13, paint(_WHITE, 0.8))

    return [Layer(0.75, draw)]


@element(
    "far",
    "a village, small houses, rooftops of an old town, cottages, a church",
    "outdoors",
    also="house, hut, barn, farmhouse, cathedral, school, neighbourhood, suburb",
)
def village(stage: Stage) -> Sequence[Layer]:
    """Gables and a steeple, with lit windows."""
    random = stage.random("village")
    base = stage.horizon + 0.05
    houses = []
    x = stage.left
    while x < stage.right:
        width = float(random.uniform(0.1, 0.17))
        houses.append((x, width, float(random.uniform(0.07, 0.15)), float(random.uniform(-0.12, 0.12)), int(random.integers(4))))
        x += width * float(random.uniform(0.8, 1.25))
    steeple = float(random.uniform(-0.25, 0.25)) * stage.aspect
    wall, lit = stage.silhouette(0.35), mix(stage.palette.accent, stage.palette.light, 0.5)

    def painted(canvas: Any) -> None:
        canvas.drawRect(skia.Rect.MakeXYWH(steeple - 0.035, base - 0.3, 0.07, 0.35), paint(mix(wall, stage.palette.horizon, 0.25)))
        roof = mix(wall, stage.palette.accent, 0.3)
        canvas.drawPath(_polygon((steeple - 0.045, base - 0.3), (steeple, base - 0.48), (steeple + 0.045, base - 0.3)), paint(roof))
        for left, width, height, tone, windows in houses:
            colour = mix(wall, stage.palette.light if tone > 0 else stage.palette.near, abs(tone) + 0.08)
            canvas.drawRect(skia.Rect.MakeLTRB(left, base - height, left + width, BOTTOM), paint(colour))
            peak = base - height - width * 0.42
            canvas.drawPath(
                _polygon((left - 0.01, base - height), (left + width / 2, peak), (left + width + 0.01, base - height)),
                paint(scale(roof, 0.9 + tone)),
            )
            for window in range(windows):
                spot = skia.Rect.MakeXYWH(left + 0.018 + window * 0.032, base - height + 0.025, 0.016, 0.022)
                canvas.drawRect(spot, paint(lit, 0.9))

    drawn = stage.picture(painted, top=base - 0.5)

    def draw(canvas: Any, moment: Moment) -> None:
        drawn(canvas)
        if stage.palette.dark:
            glow(canvas, steeple, base - 0.12, 0.3, lit, 0.12 + 0.1 * moment.mid)

    return [Layer(0.25, draw)]
