"""Shaders that compute every pixel of an area, at reduced resolution."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import skia

from gateleg.apps.mv.drawing.stage import LINEAR, Draw, Moment, Stage

if TYPE_CHECKING:
    from gateleg.apps.mv.listening.sound import Doubles

#: The prelude of all shaders. `uv` is in units of the frame's height, with the origin in the upper left corner.
_SHARED = """
uniform shader grains;
uniform float2 size; uniform float time; uniform float beat; uniform float low; uniform float high; uniform float seed; uniform float power;
uniform float horizon; uniform float2 sun;
uniform half3 c0; uniform half3 c1; uniform half3 c2; uniform half3 c3; uniform half3 c4; uniform half3 c5;
float hash(float2 p) { p = 17.0 * fract(p * float2(0.3183099, 0.3678794) + 0.1); return fract(p.x * p.y * (p.x + p.y) + seed * 0.013); }
float4 grain(float2 p) { return grains.eval((p + seed * float2(3.17, 5.71)) * PIXELS); }
float noise(float2 p) { return grain(p).r; }
float fbm(float2 p) { return grain(p).g; }
float fbm4(float2 p) { return grain(p).b; }
float2 spin(float2 p, float a) { return float2(p.x * cos(a) - p.y * sin(a), p.x * sin(a) + p.y * cos(a)); }
"""
#: Noise is read from a tile: its side in units of noise, and pixels per unit.
_PERIOD, _PIXELS = 32, 32


@lru_cache(maxsize=64)
def _compiled(source: str) -> Any:
    return skia.RuntimeEffect.MakeForShader(_SHARED.replace("PIXELS", f"{_PIXELS}.0") + source)


@cache
def _grains() -> Any:
    """A tile of smooth noise in red, the sum of three octaves in green and of four in blue; deterministic."""
    random = np.random.default_rng(11)
    octaves = [_smooth(random.random((_PERIOD << octave, _PERIOD << octave))) for octave in range(4)]
    three = octaves[0] * 0.5 + octaves[1] * 0.25 + octaves[2] * 0.125
    values = np.dstack([octaves[0], three, three + octaves[3] * 0.0625, np.ones_like(three)])
    tile = skia.Image.fromarray(np.ascontiguousarray(np.round(values * 255), dtype=np.uint8), alphaType=skia.kOpaque_AlphaType, copy=True)
    return tile.makeShader(skia.TileMode.kRepeat, skia.TileMode.kRepeat, LINEAR)


def _smooth(lattice: Doubles) -> Doubles:
    """Interpolate a periodic lattice with easing."""
    count, side = len(lattice), _PERIOD * _PIXELS
    at = (np.arange(side) + 0.5) * count / side
    share, before = at % 1.0, at.astype(int)
    ease, after = share * share * (3 - 2 * share), (before + 1) % count
    rows = lattice[before] * (1 - ease)[:, None] + lattice[after] * ease[:, None]
    return np.asarray(rows[:, before] * (1 - ease) + rows[:, after] * ease)


def shade(
    stage: Stage,
    source: str,
    part: int = 3,
    mode: Any = skia.BlendMode.kSrcOver,
    margin: float = 0.02,
    top: float | None = None,
    bottom: float | None = None,
) -> Draw:
    """Return a function that draws a shader over the whole frame. `source` defines `half4 main(float2 uv)`.

    `part` is the downscaling factor. `margin` is how far the shader extends beyond the frame, for layers that move with the camera. Nothing
    is computed above `top` and below `bottom`.
    """
    effect = _compiled(source)
    aspect = stage.aspect
    scale = stage.height / part
    palette = stage.palette
    colours = (palette.zenith, palette.middle, palette.horizon, palette.light, palette.accent, palette.accent2)
    upper, lower = max(-margin, -margin if top is None else top), min(1 + margin, 1 + margin if bottom is None else bottom)
    surface = skia.Surface(max(int((aspect + 2 * margin) * scale), 4), max(int((lower - upper) * scale), 4))
    place = skia.Rect.MakeXYWH(-aspect / 2 - margin, upper, surface.width() / scale, surface.height() / scale)
    matrix = skia.Matrix.Scale(scale, scale)
    matrix.preTranslate(margin, -upper)
    # With dithering, Skia uses its float pipeline, which is several times faster for other blend modes.
    finish = skia.Paint(BlendMode=mode, Dither=mode != skia.BlendMode.kSrcOver)

    def draw(canvas: Any, moment: Moment) -> None:
        builder = skia.RuntimeShaderBuilder(effect)
        builder.setChild("grains", _grains())
        builder.setUniform("size", [aspect, 1.0])
        builder.setUniform("time", float(moment.time * (0.4 + 0.9 * stage.motion)))
        builder.setUniform("beat", float(moment.beat))
        builder.setUniform("low", float(moment.low))
        builder.setUniform("high", float(moment.high))
        builder.setUniform("seed", float(stage.seed % 97))
        builder.setUniform("power", float(stage.energy))
        builder.setUniform("horizon", float(stage.horizon))
        builder.setUniform("sun", [stage.light[0] + aspect / 2, stage.light[1]])
        for number, colour in enumerate(colours):
            builder.setUniform(f"c{number}", [float(channel) for channel in colour])
        small = surface.getCanvas()
        small.clear(0)
        small.drawPaint(skia.Paint(Shader=builder.makeShader(matrix)))
        canvas.drawImageRect(surface.makeImageSnapshot(), place, LINEAR, finish)

    return draw
