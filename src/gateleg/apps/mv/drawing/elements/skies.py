"""Skies, and backgrounds under water, in rooms and on stages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import luminance, mix, scale
from gateleg.apps.mv.drawing.shaders import shade
from gateleg.apps.mv.drawing.stage import MARGIN, NEAREST, Layer, Moment, Stage, glow, halo, paint, vertical_gradient

if TYPE_CHECKING:
    from collections.abc import Sequence

#: how far skies extend below the horizon; the ground covers the rest at any camera position
_HIDDEN = 0.2


def backdrop(stage: Stage) -> Layer:
    """The plain gradient of the air, from zenith to horizon."""
    colours = stage.palette
    filled = vertical_gradient(-0.05, stage.horizon + 0.05, colours.zenith, colours.middle, colours.horizon)
    drawn = stage.picture_of(lambda canvas: canvas.drawPaint(filled), -stage.aspect / 2, 0.0, stage.aspect / 2, 1.0, NEAREST)
    return Layer(0.0, lambda canvas, moment: drawn(canvas))


def _stars(stage: Stage, count: int, bottom: float) -> Layer:
    random = stage.random("stars")
    places = [(float(random.uniform(stage.left, stage.right)), float(random.uniform(-0.1, bottom) ** 1.0)) for _ in range(count)]
    sizes = random.pareto(2.6, count) * 0.0007 + 0.0008
    groups = [[skia.Point(*places[at]) for at in range(count) if at % 5 == group] for group in range(5)]
    colour = mix(stage.palette.light, (1.0, 1.0, 1.0), 0.6)
    big = [(places[at], min(float(sizes[at]), 0.006)) for at in range(count) if sizes[at] > 0.0026]

    def draw(canvas: Any, moment: Moment) -> None:
        for group, points in enumerate(groups):
            twinkle = 0.5 + 0.5 * math.sin(moment.time * (1.3 + 0.4 * group) + group * 1.9)
            alpha = 0.35 + 0.4 * twinkle + 0.25 * moment.high
            width = 0.0018 + 0.0006 * group * (0.6 + 0.4 * moment.high)
            canvas.drawPoints(
                skia.Canvas.kPoints_PointMode, points, paint(colour, alpha, StrokeWidth=width, StrokeCap=skia.Paint.kRound_Cap)
            )
        for (x, y), size in big:
            glow(canvas, x, y, size * (6 + 4 * moment.high), colour, 0.8)

    return Layer(0.03, draw)


def sun(stage: Stage, radius: float, low: bool) -> Layer:
    """The disc of the sun, its halo breathing with the drums."""
    x, y = stage.light
    colour = stage.palette.light
    # A halo in front of a bright sky would turn everything white.
    room = 1.15 - luminance(stage.palette.horizon)

    def draw(canvas: Any, moment: Moment) -> None:
        glow(canvas, x, y, 1.1, mix(colour, stage.palette.horizon, 0.5), (0.30 + 0.05 * moment.low) * room)
        glow(canvas, x, y, radius * (3.4 + 0.7 * moment.beat * stage.motion), colour, 0.55 * min(room, 1.0))
        canvas.drawCircle(x, y, radius * (1 + 0.03 * moment.beat), paint(mix(colour, (1.0, 1.0, 1.0), 0.15 if low else 0.9), 0.96))

    return Layer(0.05, draw)


@element("sky", "a clear bright sky at noon with a hot high sun", "outdoors", also="heat, summer, midday, afternoon, sunshine, daylight")
def noon_sun(stage: Stage) -> Sequence[Layer]:
    """A small, high sun with rays of haze."""
    stage.light = (stage.light[0] * 0.7, 0.16)
    return [backdrop(stage), sun(stage, 0.05, low=False)]


@element("sky", "the sun setting on the horizon, sunset, dusk, evening glow", "outdoors", also="evening, twilight, sundown")
def sunset(stage: Stage) -> Sequence[Layer]:
    """A large, low sun and bands of cloud before it."""
    stage.light = (stage.light[0] * 0.5, stage.horizon - 0.1)
    random = stage.random("bands")
    streaks = [
        (
            float(random.uniform(-1, 1)) * stage.aspect * 0.6,
            stage.horizon - float(random.uniform(0.03, 0.42)),
            float(random.uniform(0.15, 0.6)),
            float(random.uniform(0.004, 0.016)),
        )
        for _ in range(16)
    ]
    tint = mix(stage.palette.middle, stage.palette.far, 0.35)

    def clouds(canvas: Any, moment: Moment) -> None:
        for number, (x, y, length, height) in enumerate(streaks):
            drift = x + 0.01 * moment.time * (1 + number % 3)
            oval = skia.Rect.MakeXYWH(drift - length / 2, y - height / 2, length, height)
            canvas.drawOval(
                oval,
                paint(
                    mix(tint, stage.palette.light, 0.5 * (number % 2)),
                    0.55,
                    MaskFilter=skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, height * 0.6),
                ),
            )

    return [backdrop(stage), sun(stage, 0.15, low=True), Layer(0.08, clouds)]


@element("sky", "pale early morning sun in mist, dawn, sunrise", "outdoors", also="morning, daybreak, breakfast")
def dawn(stage: Stage) -> Sequence[Layer]:
    """A veiled sun low over bands of mist."""
    stage.light = (stage.light[0], stage.horizon - 0.16)
    source = """half4 main(float2 uv) {
      float m = fbm(float2(uv.x * 1.3 + time * 0.03, uv.y * 6.0)); float band = exp(-abs(uv.y - horizon + 0.06) * 5.0);
      float a = clamp(m * band * 1.5, 0.0, 0.8); return half4(half3(mix(c2, c3, half(m))) * half(a), half(a)); }"""
    return [backdrop(stage), sun(stage, 0.07, low=True), Layer(0.06, shade(stage, source, 4, bottom=stage.horizon + _HIDDEN))]


@element("sky", "a night sky full of stars", "outdoors", also="stars, constellation")
def starry_night(stage: Stage) -> Sequence[Layer]:
    """Stars of all sizes, with a faint band of the Milky Way."""
    source = """half4 main(float2 uv) {
      float2 q = spin(uv - float2(size.x * 0.5, 0.3), 0.5); float band = exp(-q.y * q.y * 16.0);
      float d = fbm4(q * 3.0 + 4.0) * band; half3 c = mix(c1, c3, half(0.35)) * half(d * 0.85 + low * 0.05 * band);
      return half4(c, 1.0); }"""
    return [
        backdrop(stage),
        Layer(0.02, shade(stage, source, 5, mode=skia.BlendMode.kPlus, bottom=stage.horizon + _HIDDEN)),
        _stars(stage, 420, stage.horizon),
    ]


@element("sky", "a full moon shining at night", "outdoors")
def full_moon(stage: Stage) -> Sequence[Layer]:
    """The moon with its seas, a ring of light, and few stars."""
    stage.light = (stage.light[0], 0.24)
    x, y = stage.light
    random = stage.random("moon")
    seas = [(float(random.uniform(-0.06, 0.06)), float(random.uniform(-0.06, 0.06)), float(random.uniform(0.01, 0.035))) for _ in range(9)]
    pale = mix(stage.palette.light, (1.0, 1.0, 1.0), 0.5)

    def draw(canvas: Any, moment: Moment) -> None:
        glow(canvas, x, y, 0.75, stage.palette.light, 0.26 + 0.08 * moment.low)
        glow(canvas, x, y, 0.24 + 0.03 * moment.beat, pale, 0.5)
        canvas.drawCircle(x, y, 0.1, paint(pale))
        canvas.save()
        disc = skia.Path()
        disc.addCircle(x, y, 0.1)
        canvas.clipPath(disc, skia.ClipOp.kIntersect, True)
        for dx, dy, radius in seas:
            canvas.drawCircle(x + dx, y + dy, radius, paint(mix(pale, stage.palette.middle, 0.4), 0.5))
        canvas.restore()

    return [backdrop(stage), _stars(stage, 140, stage.horizon), Layer(0.05, draw)]


@element("sky", "outer space, galaxy, nebula, the universe", "space", also="cosmos, infinity, Milky Way")
def galaxy(stage: Stage) -> Sequence[Layer]:
    """Coloured gas and dust among stars."""
    source = """half4 main(float2 uv) {
      float2 q = (uv - float2(size.x * 0.5, 0.45)) * 1.6; q = spin(q, 0.3 + time * 0.01);
      float2 w = float2(fbm(q * 1.4 + time * 0.02), fbm(q * 1.4 + 7.0)); float d = fbm4(q * 1.7 + w * 2.2);
      float e = fbm(q * 3.1 - w * 1.5 + 11.0); float g = smoothstep(0.32, 0.78, d) * (0.75 + 0.35 * low);
      half3 c = mix(c0 * 0.6, c2, half(g)); c = mix(c, c5, half(smoothstep(0.45, 0.8, e) * g * 0.7)); c += c4 * half(pow(g, 3.0) * 0.55);
      return half4(c, 1.0); }"""
    return [Layer(0.0, shade(stage, source, 4)), _stars(stage, 380, 1.1)]


@element("sky", "northern lights, aurora borealis over the north", "outdoors")
def northern_lights(stage: Stage) -> Sequence[Layer]:
    """Curtains of light that sway with the music."""
    source = """half4 main(float2 uv) {
      float3 s = float3(0.0); for (int i = 0; i < 3; i++) { float k = float(i);
        float x = uv.x * (1.4 + 0.3 * k) + 0.3 * sin(uv.y * 3.0 + time * 0.5 + k) + k * 2.3;
        float line = 0.14 + 0.1 * k + 0.16 * noise(float2(x * 1.2 + time * 0.12, k)); float d = uv.y - line;
        float rays = 0.55 + 0.45 * noise(float2(x * 14.0 + time * 0.7, k * 3.0));
        float v = exp(-max(d, 0.0) * (5.0 - 1.5 * low)) * smoothstep(-0.05, 0.03, d) * rays * (0.65 + 0.55 * low);
        s += v * float3(mix(c4, c5, half(clamp(k * 0.35 + uv.y * 0.7, 0.0, 1.0)))); }
      return half4(half3(s * 0.36), 1.0); }"""
    return [
        backdrop(stage),
        _stars(stage, 240, stage.horizon),
        Layer(0.03, shade(stage, source, 4, mode=skia.BlendMode.kPlus, bottom=stage.horizon + _HIDDEN)),
    ]


@element("sky", "white clouds drifting across a wide open sky", "outdoors", also="sky, airplane, heaven, wind")
def drifting_clouds(stage: Stage) -> Sequence[Layer]:
    """Heaped clouds lit from one side."""
    source = """half4 main(float2 uv) {
      float far = 1.0 / (0.25 + abs(horizon - uv.y) * 1.2); float2 q = float2((uv.x - size.x * 0.5) * far * 0.9 + time * 0.07, far * 1.7);
      float d = fbm4(q * 1.5); float lit = fbm(q * 1.5 + float2(0.12, -0.1)); float a = smoothstep(0.42, 0.62, d) * smoothstep(horizon + 0.02, horizon - 0.2, uv.y);
      half3 c = mix(c2, half3(1.0), half(clamp(0.55 + (d - lit) * 4.0 + 0.12 * low, 0.0, 1.0))); c = mix(mix(c, c1, 0.45), c, half(clamp(0.6 + (d - lit) * 3.0, 0.0, 1.0)));
      return half4(c * half(a), half(a)); }"""
    stage.light = (stage.light[0], 0.2)
    return [backdrop(stage), sun(stage, 0.045, low=False), Layer(0.05, shade(stage, source, 3, bottom=stage.horizon + 0.03))]


@element("sky", "thunderstorm, dark storm clouds with lightning", "outdoors", also="storm, hurricane, lightning, tornado")
def thunderstorm(stage: Stage) -> Sequence[Layer]:
    """Low clouds that light up from inside; a bolt on some bars, never a flash of the whole sky."""
    source = """half4 main(float2 uv) {
      float far = 1.0 / (0.2 + abs(horizon - uv.y)); float2 q = float2((uv.x - size.x * 0.5) * far * 0.8 + time * 0.15, far * 1.3);
      float w = fbm(q + time * 0.05); float d = fbm4(q * 1.3 + w); half3 c = mix(c0, c2, half(smoothstep(0.3, 0.8, d) * 0.8));
      float bolt = beat * power * smoothstep(0.5, 0.85, fbm(q * 0.7 + floor(time * 0.5))); c += c3 * half(bolt * 0.35);
      return half4(c, 1.0); }"""
    random = stage.random("bolts")
    bolts = [[(float(random.uniform(-0.5, 0.5)) * stage.aspect, 0.0)] for _ in range(4)]
    for bolt in bolts:
        while bolt[-1][1] < stage.horizon:
            bolt.append((bolt[-1][0] + float(random.normal(0, 0.03)), bolt[-1][1] + float(random.uniform(0.02, 0.06))))

    def draw(canvas: Any, moment: Moment) -> None:
        strength = moment.bar**2 * stage.energy
        if strength < 0.05:
            return
        points = bolts[int(moment.beats // 4) % len(bolts)]
        path = skia.Path()
        path.moveTo(*points[0])
        for point in points[1:]:
            path.lineTo(*point)
        line = paint(
            stage.palette.light,
            strength * 0.4,
            Style=skia.Paint.kStroke_Style,
            StrokeWidth=0.02,
            MaskFilter=skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, 0.012),
        )
        canvas.drawPath(path, line)
        canvas.drawPath(path, paint((1.0, 1.0, 1.0), strength, Style=skia.Paint.kStroke_Style, StrokeWidth=0.004))

    return [Layer(0.0, shade(stage, source, 4)), Layer(0.1, draw)]


@element("sky", "grey fog, mist, overcast sky, nothing to be seen", "outdoors", also="haze, cloud, uncertainty")
def fog(stage: Stage) -> Sequence[Layer]:
    """Slow banks of fog."""
    source = """half4 main(float2 uv) {
      float d = fbm4(float2(uv.x * 1.1 + time * 0.06, uv.y * 2.6 - time * 0.02)); float e = fbm(float2(uv.x * 2.1 - time * 0.04, uv.y * 4.0));
      half3 c = mix(c1, c2, half(clamp(uv.y * 0.8 + d * 0.7 - 0.25, 0.0, 1.0))); return half4(mix(c, c3, half(e * 0.25)), 1.0); }"""
    return [Layer(0.0, shade(stage, source, 5))]


@element("sky", "deep under water, diving, rays of light from the surface", "water", also="diver, mermaid, aquarium, swimming pool")
def underwater_light(stage: Stage) -> Sequence[Layer]:
    """Shafts of light and caustics from above."""
    source = """half4 main(float2 uv) {
      half3 c = mix(c2, c1, half(smoothstep(0.0, 0.45, uv.y))); c = mix(c, c0, half(smoothstep(0.4, 1.05, uv.y)));
      float2 o = float2(sun.x, -0.35); float2 d = uv - o; float a = atan(d.x, d.y);
      float r = noise(float2(a * 9.0 + time * 0.15, time * 0.2)) * noise(float2(a * 21.0 - time * 0.2, 4.0));
      c += c3 * half(r * exp(-length(d) * 0.9) * (0.8 + 0.6 * low));
      float caustic = abs(noise(uv * 9.0 + time * 0.6) - noise(uv * 9.0 - time * 0.5 + 9.0)); c += c3 * half(pow(1.0 - caustic, 12.0) * 0.25 * smoothstep(0.4, 0.0, uv.y));
      return half4(c, 1.0); }"""
    return [Layer(0.0, shade(stage, source, 4))]


@element(
    "sky",
    "the wall of a room indoors, home, kitchen, bedroom, a window with light",
    "room",
    also="door, hotel, attic, corridor, hallway, office, classroom, hospital, prison, library, bathroom, windowsill, curtain, museum, cafe, restaurant",
)
def room_wall(stage: Stage) -> Sequence[Layer]:
    """A papered wall, a window, and the light it throws."""
    colours, random = stage.palette, stage.random("wall")
    window_x = float(random.choice([-0.32, 0.3])) * stage.aspect
    wall = mix(colours.middle, colours.far, 0.5)

    def painted(canvas: Any) -> None:
        canvas.drawPaint(vertical_gradient(0.0, stage.horizon, scale(wall, 0.8), wall))
        stripe = paint(mix(wall, colours.light, 0.12), 0.5)
        step = 0.055
        for number in range(int((stage.right - stage.left) / step)):
            if number % 2:
                canvas.drawRect(skia.Rect.MakeXYWH(stage.left + number * step, -MARGIN, step * 0.5, 1.5), stripe)
        canvas.drawRect(
            skia.Rect.MakeLTRB(stage.left, stage.horizon - 0.055, stage.right, stage.horizon), paint(mix(wall, colours.near, 0.5))
        )

    drawn = stage.picture(painted)
    frame = skia.Rect.MakeXYWH(window_x - 0.17, 0.1, 0.34, 0.4)

    def draw(canvas: Any, moment: Moment) -> None:
        drawn(canvas)
        canvas.drawRect(frame, vertical_gradient(0.1, 0.5, colours.zenith, colours.horizon))
        glow(canvas, window_x, 0.3, 0.7, colours.light, 0.35 + 0.15 * moment.low)
        wood = paint(mix(colours.near, colours.ground, 0.4), 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=0.016)
        canvas.drawRect(frame, wood)
        canvas.drawLine(window_x, 0.1, window_x, 0.5, wood)
        canvas.drawLine(window_x - 0.17, 0.3, window_x + 0.17, 0.3, wood)

    stage.light = (window_x, 0.3)
    return [Layer(0.45, draw)]


@element(
    "sky",
    "a concert stage in the dark with beams of light and spotlights",
    "stage",
    also="lights, spotlight, concert, theatre, show, circus, festival, boxing ring, stadium, arena, audition",
)
def stage_lights(stage: Stage) -> Sequence[Layer]:
    """Beams that sweep over the bar and strike on the beat."""
    colours = stage.palette
    count = 7
    places = [stage.left + (stage.right - stage.left) * (at + 0.5) / count for at in range(count)]

    def draw(canvas: Any, moment: Moment) -> None:
        canvas.drawPaint(vertical_gradient(0.0, 1.0, colours.zenith, colours.middle, scale(colours.horizon, 0.75)))
        for number, x in enumerate(places):
            swing = math.sin(moment.beats * math.pi / 4 + number * 0.9) * 0.35
            strength = (0.2 + 0.28 * moment.low + 0.3 * moment.beat * ((number + int(moment.beats)) % 2)) * (0.5 + 0.5 * stage.energy)
            colour = colours.accent if number % 2 else colours.accent2
            foot = x + swing
            path = skia.Path()
            path.moveTo(x - 0.012, -0.05)
            path.lineTo(x + 0.012, -0.05)
            path.lineTo(foot + 0.15, 1.02)
            path.lineTo(foot - 0.15, 1.02)
            path.close()
            beam = vertical_gradient(-0.05, 1.0, (colour, strength), (colour, strength * 0.3), (colour, 0.0))
            beam.setBlendMode(skia.BlendMode.kPlus)
            canvas.drawPath(path, beam)
            glow(canvas, x, -0.01, 0.12, mix(colour, (1.0, 1.0, 1.0), 0.4), strength * 1.4)

    stage.light = (0.0, 0.0)
    return [Layer(0.3, draw)]


@element("sky", "a plain studio background with soft light, product on a pedestal", "room", "stage")
def studio_backdrop(stage: Stage) -> Sequence[Layer]:
    """A seamless backdrop with a pool of light, and a pedestal."""
    colours = stage.palette

    def draw(canvas: Any, moment: Moment) -> None:
        canvas.drawPaint(vertical_gradient(0.0, 1.05, colours.zenith, colours.middle, colours.ground))
        canvas.drawCircle(0, 0.42, 0.9, halo(0, 0.42, 0.9, colours.light, 0.34 + 0.12 * moment.low, skia.BlendMode.kPlus))
        x = math.sin(moment.time * 0.6) * 0.5
        glow(canvas, x, 0.2, 0.5, colours.accent, 0.12 + 0.15 * moment.beat * stage.motion)

    return [Layer(0.1, draw)]
