"""Land: mountains, dunes, fields, and the surfaces of other worlds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import Colour, mix, scale
from gateleg.apps.mv.drawing.stage import BOTTOM, Layer, Stage, area_below, glow, paint, ridge, vertical_gradient

if TYPE_CHECKING:
    from collections.abc import Sequence


def textured(canvas: Any, path: Any, seed: float, strength: float, stretch: tuple[float, float] = (1.0, 1.0)) -> None:
    """Lay fine noise over an area, so that it looks like matter and not like paper."""
    shader = (
        skia.PerlinNoiseShader.MakeFractalNoise(18.0 * stretch[0], 18.0 * stretch[1], 4, seed, None)
        if hasattr(skia, "PerlinNoiseShader")
        else None
    )
    if shader is None:
        return
    grey = skia.ColorFilters.Matrix([0.5, 0.5, 0, 0, 0, 0.5, 0.5, 0, 0, 0, 0.5, 0.5, 0, 0, 0, 0, 0, 0, 0, 1.0])
    canvas.drawPath(path, skia.Paint(AntiAlias=True, Shader=shader, ColorFilter=grey, BlendMode=skia.BlendMode.kSoftLight, Alphaf=strength))


def land(
    stage: Stage,
    name: str,
    base: float,
    height: float,
    rough: float,
    depth: float,
    peaks: float = 3.0,
    lit: float = 0.25,
    colour: Colour | None = None,
) -> Layer:
    """One line of hills at a depth, lit along its edge, hazy towards its foot."""
    random = stage.random(name)
    line = ridge(random, stage.left, stage.right, base, height, rough, peaks)
    tone = colour or stage.air(depth)

    def painted(canvas: Any) -> None:
        area = area_below(line, BOTTOM)
        foot = mix(tone, stage.palette.horizon, 0.35 * (1 - depth))
        canvas.drawPath(area, vertical_gradient(base - height, base + 0.25, tone, foot))
        textured(canvas, area, float(random.uniform(0, 99)), 0.5, (0.6, 1.2))
        path = skia.Path()
        path.moveTo(*line[0])
        for point in line[1:]:
            path.lineTo(*point)
        edge = paint(
            mix(tone, stage.palette.light, 0.7),
            lit,
            Style=skia.Paint.kStroke_Style,
            StrokeWidth=0.004,
            MaskFilter=skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, 0.002),
        )
        canvas.drawPath(path, edge)

    drawn = stage.picture(painted, top=base - height - 0.02)
    return Layer(0.1 + depth * 0.8, lambda canvas, moment: drawn(canvas))


def haze(stage: Stage, y: float, depth: float, alpha: float = 0.5) -> Layer:
    """A bank of air in the colour of the horizon."""
    band = vertical_gradient(y - 0.12, y + 0.12, (stage.palette.horizon, 0.0), (stage.palette.horizon, alpha), (stage.palette.horizon, 0.0))
    area = skia.Rect.MakeLTRB(stage.left, y - 0.12, stage.right, y + 0.12)
    return Layer(0.1 + depth * 0.8, lambda canvas, moment: canvas.drawRect(area, band))


@element("far", "high rocky mountains, alps, peaks", "outdoors", also="summit, cliff, ridge")
def mountains(stage: Stage) -> Sequence[Layer]:
    """Three ranges, each bluer than the one before it."""
    base = stage.horizon + 0.03
    return [
        land(stage, "m1", base, 0.42, 0.9, 0.12, 2.0, 0.5),
        haze(stage, base - 0.02, 0.2),
        land(stage, "m2", base + 0.02, 0.28, 0.8, 0.3, 3.0, 0.35),
        land(stage, "m3", base + 0.05, 0.15, 0.6, 0.45, 4.0, 0.2),
    ]


@element("far", "mountains covered with snow and ice, winter peaks, glacier", "outdoors")
def snowy_peaks(stage: Stage) -> Sequence[Layer]:
    """White peaks with blue shadows."""
    base = stage.horizon + 0.04
    white = mix(stage.palette.light, (1.0, 1.0, 1.0), 0.5)
    return [
        land(stage, "s1", base, 0.46, 0.95, 0.15, 1.8, 0.9, mix(stage.palette.far, white, 0.55)),
        haze(stage, base, 0.2),
        land(stage, "s2", base + 0.03, 0.26, 0.8, 0.35, 2.8, 0.7, mix(stage.palette.far, white, 0.35)),
    ]


@element("far", "rolling green hills in the country", "outdoors", also="valley, countryside, slope")
def hills(stage: Stage) -> Sequence[Layer]:
    """Soft lines of hills."""
    base = stage.horizon + 0.05
    return [land(stage, f"h{at}", base + 0.03 * at, 0.2 - 0.03 * at, 0.1, 0.15 + 0.17 * at, 1.6 + at, 0.4) for at in range(3)]


@element("far", "canyon with red rock mesas, wild west", "outdoors")
def mesas(stage: Stage) -> Sequence[Layer]:
    """Flat-topped rocks with steep walls and layers of stone."""
    random = stage.random("mesas")
    layers: list[Layer] = []
    for depth in (0.15, 0.35, 0.5):
        rocks = [
            (
                float(random.uniform(stage.left, stage.right)),
                float(random.uniform(0.1, 0.34)),
                float(random.uniform(0.1, 0.3)) * (0.6 + depth),
            )
            for _ in range(4)
        ]

        def painted(canvas: Any, rocks: list[tuple[float, float, float]] = rocks, depth: float = depth) -> None:
            tone = stage.air(depth)
            base = stage.horizon + 0.03 + 0.05 * depth
            for x, width, height in rocks:
                path = skia.Path()
                path.moveTo(x - width * 0.75, base + 0.1)
                path.lineTo(x - width * 0.55, base - height * 0.45)
                path.lineTo(x - width * 0.45, base - height * 0.5)
                path.lineTo(x - width * 0.4, base - height)
                path.lineTo(x + width * 0.38, base - height * 0.97)
                path.lineTo(x + width * 0.46, base - height * 0.5)
                path.lineTo(x + width * 0.75, base + 0.1)
                path.close()
                canvas.drawPath(path, vertical_gradient(base - height, base + 0.05, mix(tone, stage.palette.light, 0.2), tone))
                canvas.save()
                canvas.clipPath(path, skia.ClipOp.kIntersect, True)
                for stratum in range(7):
                    y = base - height * stratum / 7
                    canvas.drawRect(skia.Rect.MakeXYWH(x - width, y, width * 2, 0.006), paint(scale(tone, 0.7), 0.5))
                canvas.restore()

        drawn = stage.picture(painted, top=stage.horizon - 0.5, bottom=stage.horizon + 0.2)
        layers.append(Layer(0.1 + depth * 0.8, lambda canvas, moment, drawn=drawn: drawn(canvas)))  # type: ignore[misc]
    return layers


@element("far", "a volcano with glowing lava and smoke", "outdoors", also="eruption, magma")
def volcano(stage: Stage) -> Sequence[Layer]:
    """A cone whose crater glows with the drums."""
    x = float(stage.random("volcano").uniform(-0.3, 0.3)) * stage.aspect
    top, base = stage.horizon - 0.36, stage.horizon + 0.05

    def draw(canvas: Any, moment: Any) -> None:
        for puff in range(7):
            rise = (moment.time * 0.06 + puff / 7) % 1.0
            canvas.drawCircle(
                x + 0.05 * math.sin(puff * 2.1 + moment.time * 0.3) + rise * 0.1,
                top - rise * 0.4,
                0.04 + rise * 0.12,
                paint(stage.air(0.3), 0.35 * (1 - rise), MaskFilter=skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, 0.03)),
            )
        glow(canvas, x, top, 0.35 + 0.1 * moment.beat, stage.palette.accent, 0.5 + 0.4 * moment.low)
        path = skia.Path()
        path.moveTo(x - 0.7, base)
        path.cubicTo(x - 0.3, base - 0.05, x - 0.15, top + 0.1, x - 0.07, top)
        path.lineTo(x + 0.07, top)
        path.cubicTo(x + 0.15, top + 0.1, x + 0.3, base - 0.05, x + 0.7, base)
        path.close()
        canvas.drawPath(path, vertical_gradient(top, base, mix(stage.air(0.4), stage.palette.accent, 0.25), stage.air(0.3)))
        for stream in range(3):
            lava = skia.Path()
            lava.moveTo(x + (stream - 1) * 0.04, top)
            lava.cubicTo(x + (stream - 1) * 0.12, top + 0.12, x + (stream - 1) * 0.1, top + 0.2, x + (stream - 1) * 0.24, base - 0.05)
            canvas.drawPath(lava, paint(stage.palette.accent, 0.6 + 0.4 * moment.low, Style=skia.Paint.kStroke_Style, StrokeWidth=0.008))

    return [Layer(0.25, draw), haze(stage, base, 0.3, 0.4)]


@element("far", "the pyramids of Egypt, ancient tombs", "outdoors")
def pyramids(stage: Stage) -> Sequence[Layer]:
    """Three pyramids with a bright and a dark side."""

    def painted(canvas: Any) -> None:
        base = stage.horizon + 0.06
        for x, height in ((-0.42, 0.26), (0.12, 0.34), (0.55, 0.18)):
            tone = stage.air(0.45)
            bright = stage.light[0] > x
            for side, edge in ((-1, -1.2), (1, 1.2)):
                path = skia.Path()
                path.moveTo(x, base - height)
                path.lineTo(x + edge * height, base)
                path.lineTo(x + 0.25 * height, base)
                path.close()
                shade = mix(tone, stage.palette.light, 0.35) if (side > 0) == bright else scale(tone, 0.7)
                canvas.drawPath(path, paint(shade))
                textured(canvas, path, 3.0, 0.5, (1.0, 4.0))

    drawn = stage.picture(painted, top=stage.horizon - 0.35, bottom=stage.horizon + 0.1)
    return [Layer(0.3, lambda canvas, moment: drawn(canvas))]


@element("ground", "sand dunes in a hot dry desert", "outdoors")
def dunes(stage: Stage) -> Sequence[Layer]:
    """Dunes with sharp crests: one side in the sun, one in shadow, ripples of wind."""
    layers = [haze(stage, stage.horizon, 0.2, 0.5)]
    for number in range(4):
        depth = 0.35 + 0.2 * number
        base = stage.horizon + 0.04 + 0.13 * number**1.25
        layers.append(_dune(stage, number, base, depth))
    return layers


def _dune(stage: Stage, number: int, base: float, depth: float) -> Layer:
    random = stage.random("dune", number)
    tone = stage.air(min(depth, 1.0))
    line = ridge(random, stage.left, stage.right, base, 0.1 + 0.03 * number, 0.0, 2.4 - 0.3 * number)

    def painted(canvas: Any) -> None:
        area = area_below(line, BOTTOM)
        canvas.drawPath(area, vertical_gradient(base - 0.14, base + 0.22, mix(tone, stage.palette.light, 0.25), tone, scale(tone, 0.8)))
        shadow = skia.Path()
        way = -1 if stage.light[0] > 0 else 1
        tops = [at for at in range(4, len(line) - 4) if line[at][1] <= min(line[at - 4][1], line[at + 4][1])]
        for top in tops:
            x, y = line[top]
            shadow.moveTo(x, y)
            shadow.quadTo(x + way * 0.12, y + 0.05, x + way * 0.3, y + 0.17)
            shadow.quadTo(x + way * 0.04, y + 0.11, x - way * 0.12, y + 0.24)
            shadow.quadTo(x - way * 0.06, y + 0.1, x, y)
            shadow.close()
        canvas.save()
        canvas.clipPath(area, skia.ClipOp.kIntersect, True)
        canvas.drawPath(
            shadow,
            paint(
                mix(scale(tone, 0.55), stage.palette.near, 0.35), 0.7, MaskFilter=skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, 0.006)
            ),
        )
        canvas.restore()
        textured(canvas, area, number + 2.0, 0.55, (0.5, 5.0))

    drawn = stage.picture(painted, top=base - 0.2)
    return Layer(0.1 + depth * 0.8, lambda canvas, moment: drawn(canvas))


@element(
    "ground",
    "a field of grass or wheat on a farm, prairie, meadow",
    "outdoors",
    also="cornfield, savanna, harvest, lawn, football pitch, pasture, farm, plain, goalkeeper, golf",
)
def grass_field(stage: Stage) -> Sequence[Layer]:
    """Rows of blades that bend in the wind and nod on the beat."""
    layers = [land(stage, "field", stage.horizon + 0.05, 0.04, 0.0, 0.5, 1.5, 0.3)]
    return [*layers, *(_blades(stage, row) for row in range(4))]


def _blades(stage: Stage, row: int) -> Layer:
    random = stage.random("blades", row)
    depth = 0.55 + row * 0.2
    base = stage.horizon + 0.1 + 0.11 * row**1.25
    height = 0.045 + 0.035 * row
    count = 240 - 30 * row
    tone = mix(stage.air(min(depth, 1.0)), stage.palette.near, 0.12 * row)
    places = [
        (float(x), float(random.uniform(0.6, 1.3)), float(random.uniform(-1, 1))) for x in random.uniform(stage.left, stage.right, count)
    ]
    slope = paint(tone, 1.0)

    def draw(canvas: Any, moment: Any) -> None:
        wind = math.sin(moment.time * 1.1 + row) * 0.5 + 0.35 * moment.beat * stage.motion
        canvas.drawRect(skia.Rect.MakeLTRB(stage.left, base, stage.right, BOTTOM), slope)
        path = skia.Path()
        for x, tall, lean in places:
            tip = x + height * tall * (0.25 * lean + 0.35 * wind + 0.2 * math.sin(x * 5 + moment.time * 1.7))
            path.moveTo(x - 0.004, base + 0.005)
            path.quadTo(x, base - height * tall * 0.6, tip, base - height * tall)
            path.quadTo(x + 0.006, base - height * tall * 0.5, x + 0.006, base + 0.005)
        canvas.drawPath(path, vertical_gradient(base - height, base, mix(tone, stage.palette.light, 0.4), tone))

    return Layer(0.1 + depth * 0.8, draw)


@element("ground", "a wide field of snow, a frozen plain, ice", "outdoors", also="arctic, ski, tundra, winter, north pole")
def snowfield(stage: Stage) -> Sequence[Layer]:
    """Drifts of snow with blue hollows."""
    white = mix(stage.palette.ground, (1.0, 1.0, 1.0), 0.35 if not stage.palette.dark else 0.12)
    return [
        land(
            stage,
            f"snow{at}",
            stage.horizon + 0.04 + 0.13 * at,
            0.06 + 0.02 * at,
            0.0,
            0.4 + 0.25 * at,
            1.8,
            0.6,
            mix(white, stage.air(0.4), 0.5 - 0.2 * at),
        )
        for at in range(3)
    ]


@element("ground", "the surface of the moon or another planet, craters, alien world", "space", also="Mars, lunar landscape, asteroid")
def craters(stage: Stage) -> Sequence[Layer]:
    """Grey ground full of craters, lit from one side."""
    random = stage.random("craters")
    base = stage.horizon + 0.12
    line = ridge(random, stage.left, stage.right, base, 0.06, 0.3, 2.0)
    tone = mix(stage.palette.ground, stage.palette.light, 0.18)

    def painted(canvas: Any) -> None:
        area = area_below(line, BOTTOM)
        canvas.drawPath(area, vertical_gradient(base - 0.06, 1.0, mix(tone, stage.palette.light, 0.3), scale(tone, 0.6)))
        textured(canvas, area, 5.0, 0.7)
        canvas.save()
        canvas.clipPath(area, skia.ClipOp.kIntersect, True)
        for _ in range(60):
            y = base + float(random.uniform(0.0, 1.0)) ** 1.5 * 0.4
            size = 0.008 + (y - base + 0.02) * float(random.uniform(0.05, 0.35))
            x = float(random.uniform(stage.left, stage.right))
            canvas.drawOval(skia.Rect.MakeXYWH(x - size, y - size * 0.32, size * 2, size * 0.64), paint(scale(tone, 0.45), 0.8))
            canvas.drawOval(
                skia.Rect.MakeXYWH(x - size * 0.95, y - size * 0.2, size * 1.9, size * 0.56),
                paint(mix(tone, stage.palette.light, 0.35), 0.55),
            )
        canvas.restore()

    drawn = stage.picture(painted, top=base - 0.1)
    return [Layer(0.8, lambda canvas, moment: drawn(canvas))]


@element("far", "a huge planet with rings rising over the horizon", "space")
def ringed_planet(stage: Stage) -> Sequence[Layer]:
    """A planet with bands, a dark side and a ring."""
    random = stage.random("planet")
    x, y, radius = float(random.uniform(-0.35, 0.35)) * stage.aspect, 0.38, 0.24
    colours = stage.palette

    def painted(canvas: Any) -> None:
        disc = skia.Path()
        disc.addCircle(x, y, radius)
        canvas.save()
        canvas.clipPath(disc, skia.ClipOp.kIntersect, True)
        for band in range(14):
            tone = mix(mix(colours.horizon, colours.accent2, float(random.uniform(0, 0.7))), colours.light, float(random.uniform(0, 0.4)))
            top = y - radius + band * radius / 7
            canvas.drawRect(skia.Rect.MakeXYWH(x - radius, top, radius * 2, radius / 7 + 0.01), paint(tone))
        canvas.drawPaint(
            skia.Paint(
                Shader=skia.GradientShader.MakeRadial(
                    skia.Point(x - radius * 0.5, y - radius * 0.45), radius * 1.7, [0x00000000, 0x00000000, 0xE0000010], [0.0, 0.4, 1.0]
                )
            )
        )
        canvas.restore()
        canvas.save()
        canvas.translate(x, y)
        canvas.rotate(-16)
        canvas.scale(1.0, 0.2)
        for number in range(7):
            arc = paint(
                mix(colours.light, colours.accent, number / 7), 0.5 - 0.04 * number, Style=skia.Paint.kStroke_Style, StrokeWidth=0.014
            )
            size = radius * (1.35 + 0.1 * number)
            canvas.drawArc(skia.Rect.MakeXYWH(-size, -size, size * 2, size * 2), -14, 208, False, arc)
        canvas.restore()

    drawn = stage.picture(painted)

    def draw(canvas: Any, moment: Any) -> None:
        glow(canvas, x, y, radius * 2.2, colours.accent2, 0.2 + 0.15 * moment.low)
        drawn(canvas)

    return [Layer(0.12, draw)]
