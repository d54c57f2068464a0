"""Towns: skylines, streets, roads, rails, and the machines in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import mix, scale
from gateleg.apps.mv.drawing.shaders import shade
from gateleg.apps.mv.drawing.stage import BOTTOM, Layer, Moment, Stage, glow, paint, vertical_gradient

if TYPE_CHECKING:
    from collections.abc import Sequence


def _towers(stage: Stage, row: int, base: float, tallest: float, depth: float) -> Layer:
    """A row of buildings, whose windows follow the middle band of the music."""
    random = stage.random("towers", row)
    tone = stage.silhouette(depth * 0.6)
    x, blocks = stage.left, []
    while x < stage.right:
        width = float(random.uniform(0.05, 0.13)) * (0.7 + depth)
        middle = 1.0 - 0.45 * min(abs(x) / (stage.aspect / 2), 1.0)
        blocks.append((x, width, tallest * float(random.uniform(0.35, 1.0)) * middle, int(random.integers(5))))
        x += width * float(random.uniform(0.95, 1.15))
    lit = mix(stage.palette.accent, stage.palette.light, 0.5)
    chance = 0.5 if stage.palette.dark else 0.2

    def painted(canvas: Any) -> None:
        for left, width, height, kind in blocks:
            canvas.drawRect(
                skia.Rect.MakeLTRB(left, base - height, left + width, BOTTOM),
                vertical_gradient(base - height, base, tone, mix(tone, stage.palette.horizon, 0.3 * (1 - depth))),
            )
            if kind == 0:
                canvas.drawRect(skia.Rect.MakeXYWH(left + width * 0.46, base - height - 0.07, width * 0.08, 0.07), paint(tone))
            elif kind == 1:
                canvas.drawRect(skia.Rect.MakeXYWH(left + width * 0.2, base - height - 0.03, width * 0.6, 0.03), paint(tone))
            elif kind == 2:
                path = skia.Path()
                path.moveTo(left, base - height)
                path.lineTo(left + width / 2, base - height - width * 0.7)
                path.lineTo(left + width, base - height)
                canvas.drawPath(path, paint(tone))

    groups: list[list[Any]] = [[], [], []]
    step = 0.014 + 0.008 * depth
    for left, width, height, _ in blocks:
        for column in range(int(width / step) - 1):
            for line in range(int(height / (step * 1.35)) - 1):
                if random.random() < chance:
                    spot = skia.Rect.MakeXYWH(
                        left + step * (column + 0.7), base - height + step * 1.35 * (line + 0.8), step * 0.5, step * 0.65
                    )
                    groups[int(random.integers(3))].append(spot)
    paths = []
    for group in groups:
        path = skia.Path()
        for spot in group:
            path.addRect(spot)
        paths.append(path)
    drawn = stage.picture(painted, top=base - tallest - 0.1)

    def draw(canvas: Any, moment: Moment) -> None:
        drawn(canvas)
        for number, path in enumerate(paths):
            alpha = (0.45 + 0.35 * (moment.mid if number == 0 else moment.beat if number == 1 else 0.5)) * (0.4 + 0.6 * depth)
            canvas.drawPath(path, paint(lit if number else stage.palette.accent2, alpha if stage.palette.dark else alpha * 0.5))

    return Layer(0.1 + depth * 0.8, draw)


@element(
    "far",
    "a city skyline with tall buildings and lit windows, skyscrapers, downtown",
    "outdoors",
    also="city, metropolis, office, apartment, harbour city, roof",
)
def skyline(stage: Stage) -> Sequence[Layer]:
    """Three rows of towers in haze."""
    base = stage.horizon + 0.1

    def mist(canvas: Any, moment: Moment) -> None:
        glow(canvas, 0, base, 1.0, stage.palette.horizon, 0.25 + 0.1 * moment.low)

    return [
        _towers(stage, 0, base, 0.52, 0.12),
        Layer(0.2, mist),
        _towers(stage, 1, base + 0.02, 0.4, 0.35),
        _towers(stage, 2, base + 0.05, 0.24, 0.6),
    ]


@element(
    "ground",
    "a street in a town at night, wet asphalt, lamps, houses",
    "outdoors",
    also="shop, market, corner, pavement, alley, city, playground, square, neighbourhood, traffic light, bus stop",
)
def street(stage: Stage) -> Sequence[Layer]:
    """Houses on both sides, lamps, and asphalt that mirrors them."""
    source = """half4 main(float2 uv) {
      float d = uv.y - horizon; if (d < 0.0) { return half4(0.0); }
      float far = 1.0 / (d + 0.04); float x = (uv.x - size.x * 0.5) * far; float wet = noise(float2(x * 3.0, far * 1.5));
      half3 c = mix(c1 * 0.5, c0 * 0.45, half(smoothstep(0.0, 0.4, d)));
      float lane = step(abs(x), 0.07) * step(0.5, fract(far * 0.55 + time * 0.0)) * 0.35; c += c3 * half(lane * exp(-d));
      float2 q = float2(abs(uv.x - size.x * 0.5) - 0.35 - d * 0.9, 0.0); float g = exp(-abs(q.x) * 5.0) * (0.5 + wet) * (0.6 + 0.5 * low);
      c += c4 * half(g * 0.3 * step(size.x * 0.5, uv.x)) + c5 * half(g * 0.3 * step(uv.x, size.x * 0.5)); c += c2 * half(wet * 0.18 * exp(-d * 3.0));
      return half4(c, 1.0); }"""
    return [Layer(0.3, shade(stage, source, 3, margin=0.09, top=stage.horizon - 0.01)), *_houses(stage)]


def _houses(stage: Stage) -> list[Layer]:
    """House fronts that run towards the vanishing point, on both sides."""
    random = stage.random("houses")
    layers: list[Layer] = []
    for side in (-1, 1):
        lights: list[tuple[Any, int]] = []

        def painted(canvas: Any, side: int = side, lights: list[tuple[Any, int]] = lights) -> None:
            tone = stage.silhouette(0.55)
            edges = [0.16, 0.24, 0.36, 0.54, 0.8, 1.2, 1.8]
            for number, (near, far) in enumerate(zip(edges[1:], edges[:-1], strict=True)):
                height = float(random.uniform(0.55, 1.0))
                corners = [(side * x, stage.horizon + up * x) for x, up in ((far, 0.22), (far, -height), (near, -height), (near, 0.22))]
                wall = skia.Path()
                wall.moveTo(*corners[0])
                for corner in corners[1:]:
                    wall.lineTo(*corner)
                wall.close()
                shade_of = mix(mix(tone, stage.palette.horizon, 0.45), tone, min(number / 4, 1.0))
                canvas.drawPath(wall, paint(scale(shade_of, float(random.uniform(0.85, 1.15)))))
                for column in range(3):
                    for line in range(4):
                        x0, x1 = (far + (near - far) * (column + share) / 3 for share in (0.28, 0.72))
                        top, bottom = -height + height * 1.05 * (line + 0.35) / 4, -height + height * 1.05 * (line + 0.75) / 4
                        window = skia.Path()
                        window.moveTo(side * x0, stage.horizon + top * x0)
                        window.lineTo(side * x1, stage.horizon + top * x1)
                        window.lineTo(side * x1, stage.horizon + bottom * x1)
                        window.lineTo(side * x0, stage.horizon + bottom * x0)
                        window.close()
                        if random.random() < 0.5:
                            lights.append((window, int(random.integers(3))))
                        else:
                            canvas.drawPath(window, paint(scale(shade_of, 0.6)))

        drawn = stage.picture(painted)

        def draw(canvas: Any, moment: Moment, drawn: Any = drawn, lights: Any = lights, side: int = side) -> None:
            drawn(canvas)
            lamp = mix(stage.palette.accent if side > 0 else stage.palette.accent2, stage.palette.light, 0.45)
            for path, group in lights:
                canvas.drawPath(path, paint(lamp, (0.5, 0.35 + 0.6 * moment.mid, 0.3 + 0.6 * moment.beat)[group]))
            for distance in (0.3, 0.62, 1.25):
                x, y = side * distance * 0.8, stage.horizon - 0.3 * distance
                canvas.drawLine(
                    x,
                    stage.horizon + 0.2 * distance,
                    x,
                    y,
                    paint(stage.palette.near, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=0.012 * distance),
                )
                glow(canvas, x, y, 0.3 * distance, lamp, 0.7 + 0.25 * moment.low)

        layers.append(Layer(0.55, draw))
    return layers


@element(
    "ground",
    "a long road to the horizon seen from a moving car, highway, driving",
    "outdoors",
    also="motorway, journey, lane, bridge, route",
)
def road(stage: Stage) -> Sequence[Layer]:
    """Asphalt that runs under the camera in time with the song."""
    ground = stage.palette.ground
    side = f"half3({ground[0]:.4f}, {ground[1]:.4f}, {ground[2]:.4f})"
    source = """half4 main(float2 uv) {
      float d = uv.y - horizon; if (d < 0.0) { return half4(0.0); }
      float far = 1.0 / (d + 0.012); float x = (uv.x - size.x * 0.5) * far; float run = far * 0.6 + time * 5.0;
      half3 g = mix(SIDE, c2, half(exp(-d * 9.0) * 0.7)) * half(0.85 + 0.25 * noise(float2(x * 4.0, run * 3.0)));
      half3 a = mix(c0 * 0.35 + 0.06, c2, half(exp(-d * 12.0) * 0.7)) * half(0.9 + 0.15 * noise(float2(x * 30.0, run * 12.0)));
      half3 c = mix(a, g, half(smoothstep(0.98, 1.02, abs(x)))); c = mix(c, c3, half(step(abs(abs(x) - 0.9), 0.025) * 0.8));
      c = mix(c, mix(c3, c4, 0.5), half(step(abs(x), 0.03) * step(0.5, fract(run * 0.25)) * 0.9));
      return half4(c, 1.0); }""".replace("SIDE", side)
    random = stage.random("poles")
    start = float(random.uniform(0, 1))

    def poles(canvas: Any, moment: Moment) -> None:
        for number in range(7):
            for way in (-1, 1):
                depth = ((number / 7 + start - moment.time * 0.16 * (0.4 + 0.9 * stage.motion)) % 1.0) ** 2 * 6 + 0.35
                x, foot, top = way * 1.25 / depth, stage.horizon + 0.5 / depth * 0.9, stage.horizon - 0.42 / depth
                fade = min(1.0, 2.2 / depth)
                canvas.drawLine(x, foot, x, top, paint(stage.palette.near, fade, Style=skia.Paint.kStroke_Style, StrokeWidth=0.014 / depth))
                if stage.palette.dark:
                    glow(canvas, x, top, 0.16 / depth, stage.palette.accent, fade * (0.6 + 0.4 * moment.beat))

    return [Layer(0.25, shade(stage, source, 2, margin=0.09, top=stage.horizon - 0.01)), Layer(0.35, poles)]


@element("ground", "rails of a railway, train tracks at a station", "outdoors", also="subway, tram, platform, metro")
def rails(stage: Stage) -> Sequence[Layer]:
    """Two rails and sleepers that run towards the horizon."""

    def draw(canvas: Any, moment: Moment) -> None:
        top = stage.horizon + 0.01
        canvas.drawRect(
            skia.Rect.MakeLTRB(stage.left, top, stage.right, BOTTOM),
            vertical_gradient(top, 1.0, stage.air(0.4), scale(stage.palette.ground, 0.7)),
        )
        for number in range(16):
            depth = ((number / 16 - moment.time * 0.12 * stage.motion) % 1.0) ** 2 * 14 + 0.55
            y = top + 0.4 / depth
            canvas.drawLine(
                -0.42 / depth,
                y,
                0.42 / depth,
                y,
                paint(scale(stage.palette.near, 1.4), min(1.0, 3 / depth), Style=skia.Paint.kStroke_Style, StrokeWidth=0.03 / depth),
            )
        for side in (-1, 1):
            rail = skia.Path()
            rail.moveTo(0, top)
            rail.lineTo(side * 0.36, BOTTOM + 0.05)
            rail.lineTo(side * 0.33, BOTTOM + 0.05)
            rail.close()
            canvas.drawPath(rail, paint(mix(stage.palette.light, stage.palette.middle, 0.35), 0.75 + 0.25 * moment.beat))

    return [Layer(0.4, draw)]


@element("ground", "a glowing neon grid floor, retro computer game", "stage", "space", "outdoors")
def neon_grid(stage: Stage) -> Sequence[Layer]:
    """Lines of light that run towards the camera and swell on the beat."""
    source = """half4 main(float2 uv) {
      float d = uv.y - horizon; if (d < 0.0) { return half4(0.0); }
      float far = 1.0 / (d + 0.02); float2 q = float2((uv.x - size.x * 0.5) * far * 1.4, far * 0.9 + time * 1.6); float2 g = abs(fract(q) - 0.5);
      float w = 0.03 + 0.012 * far * 0.2; float line = max(smoothstep(0.5 - w - 0.05, 0.5 - w * 0.2, g.x), smoothstep(0.5 - w - 0.05, 0.5 - w * 0.2, g.y));
      half3 c = mix(c0, c1, half(exp(-d * 5.0))) * 0.8; c += mix(c4, c5, half(clamp(d * 2.2, 0.0, 1.0))) * half(line * (0.55 + 0.45 * beat) * exp(-far * 0.045)); c += c2 * half(exp(-d * 16.0) * 0.8);
      return half4(c, 1.0); }"""
    return [Layer(0.2, shade(stage, source, 2, margin=0.09, top=stage.horizon - 0.01))]


@element("thing", "a train passing by, railway, station", "outdoors", also="subway, tram, locomotive, metro")
def train(stage: Stage) -> Sequence[Layer]:
    """Carriages with lit windows that cross the frame."""

    def draw(canvas: Any, moment: Moment) -> None:
        y, height = stage.horizon + 0.12, 0.15
        length = 0.62
        head = -stage.aspect / 2 - 0.3 + moment.time * 0.5 * (0.5 + stage.motion)
        span = length * 7
        for car in range(6):
            x = (head - car * length + span) % span - span / 2
            body = skia.RRect.MakeRectXY(skia.Rect.MakeXYWH(x, y - height, length * 0.96, height), 0.02, 0.02)
            canvas.drawRRect(
                body, vertical_gradient(y - height, y, mix(stage.silhouette(0.6), stage.palette.accent, 0.25), stage.silhouette(0.8))
            )
            for window in range(6):
                spot = skia.Rect.MakeXYWH(x + 0.035 + window * 0.092, y - height * 0.78, 0.066, height * 0.34)
                canvas.drawRect(spot, paint(mix(stage.palette.light, stage.palette.accent, 0.2), 0.65 + 0.3 * moment.mid))
            for wheel in (0.1, 0.2, 0.4, 0.5):
                canvas.drawCircle(x + wheel, y + 0.005, 0.02, paint(stage.palette.near))

    return [Layer(0.55, draw)]


@element("thing", "gears, machinery, engine, clockwork, factory", "room", "stage", "outdoors", also="workshop, mill, mechanism")
def gears(stage: Stage) -> Sequence[Layer]:
    """Cogwheels that turn one tooth on every beat."""
    random = stage.random("gears")
    wheels = [
        (
            float(random.uniform(-0.5, 0.5)) * stage.aspect,
            float(random.uniform(0.1, 0.8)),
            float(random.uniform(0.08, 0.22)),
            int(random.choice([-1, 1])),
        )
        for _ in range(9)
    ]

    def draw(canvas: Any, moment: Moment) -> None:
        for number, (x, y, radius, way) in enumerate(wheels):
            teeth = int(radius * 110)
            turn = way * (int(moment.beats) + (1 - moment.beat) ** 0.5) * 360 / teeth
            tone = mix(stage.silhouette(0.3 + 0.07 * number), stage.palette.light, 0.12)
            canvas.save()
            canvas.translate(x, y)
            canvas.rotate(turn)
            for _ in range(teeth):
                canvas.rotate(360 / teeth)
                canvas.drawRect(skia.Rect.MakeXYWH(-0.012, -radius - 0.018, 0.024, 0.04), paint(tone))
            ring = paint(tone, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=radius * 0.3)
            canvas.drawCircle(0, 0, radius * 0.85, ring)
            for _spoke in range(5):
                canvas.rotate(72)
                canvas.drawLine(0, 0, 0, radius * 0.8, paint(tone, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=radius * 0.12))
            canvas.drawCircle(0, 0, radius * 0.2, paint(mix(stage.palette.accent, tone, 0.4), 0.9))
            canvas.drawCircle(0, 0, radius * 0.98, paint(stage.palette.light, 0.25, Style=skia.Paint.kStroke_Style, StrokeWidth=0.003))
            canvas.restore()

    return [Layer(0.5, draw)]


@element(
    "thing", "neon signs and glowing lights in the dark, bar, motel", "outdoors", "stage", "room", also="neon, nightlife, advertisement"
)
def neon_signs(stage: Stage) -> Sequence[Layer]:
    """Tubes of light in simple shapes that flicker with the treble."""
    random = stage.random("neon")
    # The signs stand on posts along both sides, smaller towards the horizon.
    signs = []
    for side in (-1, 1):
        for depth in (0.0, 0.45, 1.0):
            x = side * (0.13 + 0.3 * depth + float(random.uniform(-0.03, 0.03))) * stage.aspect
            y = stage.horizon - 0.05 - 0.24 * depth - float(random.uniform(0.0, 0.06))
            signs.append((x, y, 0.03 + 0.055 * depth, int(random.integers(5)), stage.horizon + 0.02 + 0.28 * depth))

    def outline(kind: int, size: float) -> Any:
        path = skia.Path()
        if kind == 0:
            path.addRoundRect(skia.Rect.MakeXYWH(-size, -size * 0.5, size * 2, size), size * 0.2, size * 0.2)
        elif kind == 1:
            path.addCircle(0, 0, size * 0.8)
        elif kind == 2:
            path.moveTo(-size, -size * 0.2)
            path.lineTo(size * 0.6, -size * 0.2)
            path.lineTo(size * 0.6, -size * 0.5)
            path.lineTo(size * 1.2, 0)
            path.lineTo(size * 0.6, size * 0.5)
            path.lineTo(size * 0.6, size * 0.2)
            path.lineTo(-size, size * 0.2)
            path.close()
        elif kind == 3:
            path.moveTo(0, size * 0.8)
            path.cubicTo(-size * 1.6, -size * 0.3, -size * 0.6, -size * 1.1, 0, -size * 0.3)
            path.cubicTo(size * 0.6, -size * 1.1, size * 1.6, -size * 0.3, 0, size * 0.8)
        else:
            path.moveTo(size * 0.2, -size)
            path.lineTo(-size * 0.5, size * 0.1)
            path.lineTo(0, size * 0.1)
            path.lineTo(-size * 0.2, size)
            path.lineTo(size * 0.5, -size * 0.1)
            path.lineTo(0, -size * 0.1)
            path.close()
        return path

    paths = [outline(kind, size) for _, _, size, kind, _ in signs]
    board = stage.silhouette(0.9)

    def draw(canvas: Any, moment: Moment) -> None:
        for number, (x, y, size, _, base) in enumerate(signs):
            colour = (stage.palette.accent, stage.palette.accent2, stage.palette.light)[number % 3]
            lit = 0.55 + 0.4 * (moment.beat if (number + int(moment.beats)) % 3 == 0 else moment.high)
            canvas.drawRect(skia.Rect.MakeXYWH(x - size * 0.08, y, size * 0.16, base - y), paint(board))
            canvas.save()
            canvas.translate(x, y)
            panel = skia.Rect.MakeXYWH(-size * 1.45, -size * 1.15, size * 2.9, size * 2.3)
            canvas.drawRoundRect(panel, size * 0.2, size * 0.2, paint(board, 0.92))
            glow(canvas, 0, 0, size * 2.6, colour, 0.35 * lit)
            canvas.drawPath(
                paths[number],
                paint(
                    colour,
                    lit * 0.5,
                    Style=skia.Paint.kStroke_Style,
                    StrokeWidth=0.018,
                    MaskFilter=skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, 0.008),
                ),
            )
            canvas.drawPath(paths[number], paint(mix(colour, (1.0, 1.0, 1.0), 0.6), lit, Style=skia.Paint.kStroke_Style, StrokeWidth=0.006))
            canvas.restore()

    return [Layer(0.45, draw)]


@element("far", "smoking chimneys of a factory, industry, pollution", "outdoors", also="power plant, refinery")
def chimneys(stage: Stage) -> Sequence[Layer]:
    """Chimneys whose smoke puffs on the beat."""
    random = stage.random("chimneys")
    stacks = [
        (float(x), float(random.uniform(0.2, 0.42)), float(random.uniform(0.02, 0.035)))
        for x in random.uniform(-0.48, 0.48, 6) * stage.aspect
    ]

    def draw(canvas: Any, moment: Moment) -> None:
        base = stage.horizon + 0.08
        tone = stage.silhouette(0.35)
        for number, (x, height, width) in enumerate(stacks):
            for puff in range(6):
                rise = (moment.time * 0.08 + puff / 6 + number * 0.17) % 1.0
                size = 0.02 + 0.09 * rise + 0.012 * moment.beat
                canvas.drawCircle(
                    x + rise * 0.18,
                    base - height - rise * 0.32,
                    size,
                    paint(
                        mix(stage.palette.middle, stage.palette.near, 0.4),
                        0.4 * (1 - rise),
                        MaskFilter=skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, 0.02),
                    ),
                )
            canvas.drawRect(
                skia.Rect.MakeLTRB(x - width, base - height, x + width, base + 0.1),
                vertical_gradient(base - height, base, mix(tone, stage.palette.light, 0.15), tone),
            )
            glow(canvas, x, base - height, 0.05, stage.palette.accent, 0.5 * moment.beat)
        canvas.drawRect(skia.Rect.MakeLTRB(stage.left, base - 0.06, stage.right, BOTTOM), paint(tone))

    return [Layer(0.3, draw)]
