"""Shaders: areas whose every pixel is computed, at a part of the frame's resolution."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import skia

from gateleg.apps.mv.drawing.stage import LINEAR, Draw, Moment, Stage

#: What all shaders may use. `uv` has the frame's height as its unit, with the origin in the upper left corner.
_SHARED = """
uniform float2 size; uniform float time; uniform float beat; uniform float low; uniform float high; uniform float seed; uniform float power;
uniform float horizon; uniform float2 sun;
uniform half3 c0; uniform half3 c1; uniform half3 c2; uniform half3 c3; uniform half3 c4; uniform half3 c5;
float hash(float2 p) { p = 17.0 * fract(p * float2(0.3183099, 0.3678794) + 0.1); return fract(p.x * p.y * (p.x + p.y) + seed * 0.013); }
float noise(float2 p) {
  float2 i = floor(p); float2 f = fract(p); f = f * f * (3.0 - 2.0 * f);
  return mix(mix(hash(i), hash(i + float2(1, 0)), f.x), mix(hash(i + float2(0, 1)), hash(i + float2(1, 1)), f.x), f.y);
}
float fbm(float2 p) { float v = 0.5 * noise(p); p = p * 2.03 + 17.3; v += .25 * noise(p); p = p * 2.01 + 5.1; return v + 0.125 * noise(p); }
float fbm4(float2 p) { return fbm(p) + 0.0625 * noise(p * 8.2 + 3.7); }
float2 spin(float2 p, float a) { return float2(p.x * cos(a) - p.y * sin(a), p.x * sin(a) + p.y * cos(a)); }
"""


@lru_cache(maxsize=64)
def _compiled(source: str) -> Any:
    return skia.RuntimeEffect.MakeForShader(_SHARED + source)


def shade(stage: Stage, source: str, part: int = 3, mode: Any = skia.BlendMode.kSrcOver, margin: float = 0.02) -> Draw:
    """Draw a shader over the whole frame. `source` holds `half4 main(float2 uv)`; `part` is how many times coarser it is computed.

    `margin` is how far it reaches beyond the frame: more than nothing for what moves with the camera.
    """
    effect = _compiled(source)
    aspect = stage.aspect
    scale = stage.height / part
    palette = stage.palette
    colours = (palette.zenith, palette.middle, palette.horizon, palette.light, palette.accent, palette.accent2)
    surface = skia.Surface(max(int((aspect + 2 * margin) * scale), 4), max(int((1 + 2 * margin) * scale), 4))
    place = skia.Rect.MakeXYWH(-aspect / 2 - margin, -margin, surface.width() / scale, surface.height() / scale)
    matrix = skia.Matrix.Scale(scale, scale)
    matrix.preTranslate(margin, margin)

    def draw(canvas: Any, moment: Moment) -> None:
        builder = skia.RuntimeShaderBuilder(effect)
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
        canvas.drawImageRect(surface.makeImageSnapshot(), place, LINEAR, skia.Paint(BlendMode=mode))

    return draw
