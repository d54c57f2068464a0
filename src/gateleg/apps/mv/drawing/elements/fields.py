"""Abstract fields that fill the frame, for texts that name no place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import mix
from gateleg.apps.mv.drawing.shaders import shade
from gateleg.apps.mv.drawing.stage import Layer, Moment, Stage, glow, paint, vertical_gradient

if TYPE_CHECKING:
    from collections.abc import Sequence


@element(
    "field",
    "ink spreading in water, abstract flowing shapes, thoughts, memory",
    also="secret, silence, dream, regret, words, letter, lie, truth, nostalgia, past",
)
def ink(stage: Stage) -> Sequence[Layer]:
    """Ink that unfolds."""
    source = """half4 main(float2 uv) {
      float2 q = (uv - float2(size.x * 0.5, 0.5)) * 1.7; float2 w = float2(fbm(q + time * 0.1), fbm(q + 5.2 - time * 0.08));
      float2 r = float2(fbm(q + 3.0 * w + 1.7), fbm(q + 3.0 * w + 9.2 + time * 0.05)); float d = fbm4(q + (2.6 + 0.5 * low) * r);
      half3 c = mix(c0, c1, half(smoothstep(0.2, 0.6, d))); c = mix(c, c4, half(smoothstep(0.45, 0.85, w.x + 0.25 * r.y))); c = mix(c, c5, half(smoothstep(0.55, 0.95, r.x) * 0.8));
      c = mix(c, c3, half(pow(smoothstep(0.5, 0.9, d), 2.0) * 0.7)); return half4(c, 1.0); }"""
    return [Layer(0.0, shade(stage, source, 4))]


@element("field", "liquid light, lava lamp, psychedelic colours, trance, drugs", also="ecstasy, joy, desire, fever, euphoria")
def liquid_light(stage: Stage) -> Sequence[Layer]:
    """Oil and light on a projector."""
    source = """half4 main(float2 uv) {
      float2 q = (uv - float2(size.x * 0.5, 0.5)) * 2.0; for (int i = 1; i < 5; i++) { float k = float(i); q.x += 0.45 / k * sin(k * 1.7 * q.y + time * 0.5 + k); q.y += 0.42 / k * cos(k * 1.6 * q.x + time * 0.4 + low); }
      float v = 0.5 + 0.5 * sin(q.x * 1.4 + q.y); float u = 0.5 + 0.5 * cos(q.x - q.y * 1.3 + 1.0); half3 c = mix(mix(c0, c4, half(v)), mix(c2, c5, half(u)), half(0.5 + 0.5 * sin(q.y * 1.2)));
      float rim = pow(abs(sin(q.x * 2.0 + q.y * 2.0)), 18.0); return half4(c + c3 * half(rim * (0.35 + 0.3 * beat)), 1.0); }"""
    return [Layer(0.0, shade(stage, source, 3))]


@element("field", "a tunnel of light, speed, travel through time, hypnosis", also="future, hope, tunnel, acceleration, afterlife")
def light_tunnel(stage: Stage) -> Sequence[Layer]:
    """Rings that rush towards the camera in time."""
    source = """half4 main(float2 uv) {
      float2 q = uv - float2(size.x * 0.5, 0.5); q += 0.05 * float2(sin(time * 0.7), cos(time * 0.5)); float r = length(q); float a = atan(q.y, q.x) / 6.28318;
      float z = 0.7 / (r + 0.03) + time * 1.4; float seg = fract(a * 12.0 + 0.15 * floor(z)); float ring = fract(z); float id = hash(float2(floor(a * 12.0), floor(z)));
      float wall = smoothstep(0.06, 0.12, seg) * smoothstep(0.94, 0.88, seg) * smoothstep(0.05, 0.15, ring) * smoothstep(0.95, 0.8, ring);
      half3 c = mix(c0, mix(c1, mix(c4, c5, half(id)), half(step(0.55, id))), half(wall * (0.5 + 0.4 * step(0.6, id) + 0.2 * beat * step(0.8, id)))); c *= half(smoothstep(0.02, 0.45, r) * 1.1); c += c3 * half(exp(-r * (11.0 - 3.0 * low)) * 0.8);
      return half4(c, 1.0); }"""
    return [Layer(0.0, shade(stage, source, 3))]


@element("field", "kaleidoscope, mandala, symmetry, meditation, religion", also="soul, faith, harmony, wonder")
def kaleidoscope(stage: Stage) -> Sequence[Layer]:
    """Mirrored petals that open and close."""
    source = """half4 main(float2 uv) {
      float2 q = (uv - float2(size.x * 0.5, 0.5)) * 2.2; float r = length(q); float a = atan(q.y, q.x) + time * 0.08; float n = 10.0; a = abs(mod(a, 6.28318 / n) - 3.14159 / n);
      q = r * float2(cos(a), sin(a)); float v = 0.0; for (int i = 0; i < 4; i++) { q = abs(q) - float2(0.42 + 0.05 * low, 0.2); q = spin(q, 0.55 + time * 0.06); v += exp(-abs(length(q) - 0.32) * 9.0); }
      half3 c = mix(c0, c1, half(clamp(v * 0.4, 0.0, 1.0))); c = mix(c, c4, half(smoothstep(0.35, 1.1, v))); c = mix(c, c5, half(smoothstep(0.9, 1.8, v + 0.2 * beat))); c += c3 * half(smoothstep(1.6, 2.6, v) * 0.8);
      return half4(c * half(1.15 - 0.3 * r), 1.0); }"""
    return [Layer(0.0, shade(stage, source, 3))]


@element("field", "broken glass, shards, crystal, fracture, breaking up", also="divorce, heartbreak, betrayal, jealousy, pain, mirror")
def broken_glass(stage: Stage) -> Sequence[Layer]:
    """Facets that catch the light in turn."""
    source = """half4 main(float2 uv) {
      float2 q = (uv - float2(size.x * 0.5, 0.5)) * 3.4 + float2(time * 0.05, 0.0); float2 i = floor(q); float2 f = fract(q); float best = 9.0; float second = 9.0; float2 cell = float2(0.0);
      for (int y = -1; y <= 1; y++) { for (int x = -1; x <= 1; x++) { float2 o = float2(float(x), float(y)); float2 h = float2(hash(i + o), hash(i + o + 31.7)); float2 d = o + h - f; float l = dot(d, d);
        if (l < best) { second = best; best = l; cell = i + o; } else if (l < second) { second = l; } } }
      float edge = sqrt(second) - sqrt(best); float id = hash(cell + 3.0); float lit = 0.5 + 0.5 * sin(id * 40.0 + time * 1.2 + dot(q, float2(0.5, 0.8)) * (0.5 + id));
      half3 c = mix(mix(c0, c1, half(id)), c2, half(lit * 0.6)); c = mix(c, c4, half(step(0.82, id) * (0.5 + 0.5 * low))); c += c3 * half(smoothstep(0.05, 0.0, edge) * (0.5 + 0.5 * beat)); return half4(c, 1.0); }"""
    return [Layer(0.0, shade(stage, source, 4))]


@element("field", "a wall of flames, burning, hell, rage, fury", also="anger, hatred, revenge, passion")
def flames(stage: Stage) -> Sequence[Layer]:
    """Fire from below that leaps with the drums."""
    source = """half4 main(float2 uv) {
      float2 q = float2(uv.x * 2.6, uv.y * 1.6 + time * 1.1); float w = fbm(q * 1.3); float d = fbm4(q * float2(1.6, 1.0) + float2(w * 0.7, 0.0));
      float h = (1.06 - uv.y) * (1.25 - 0.35 * low); float v = clamp(d * 1.75 - h * 0.95 + 0.14, 0.0, 1.0); half3 c = mix(c0, c1, half(smoothstep(0.0, 0.22, v))); c = mix(c, c2, half(smoothstep(0.12, 0.42, v)));
      c = mix(c, c4, half(smoothstep(0.3, 0.62, v))); c = mix(c, c3, half(smoothstep(0.55, 0.95, v))); return half4(c, 1.0); }"""
    return [Layer(0.0, shade(stage, source, 3))]


@element("field", "geometric shapes, lines, circles and squares, modern art, mathematics, data", also="logic, order, code, puzzle, chess")
def geometry(stage: Stage) -> Sequence[Layer]:
    """Shapes that turn a step on each beat."""
    random = stage.random("geometry")
    colours = (stage.palette.accent, stage.palette.accent2, stage.palette.light, stage.palette.far, stage.palette.horizon)
    shapes = [
        (
            float(random.uniform(-0.5, 0.5)) * stage.aspect,
            float(random.uniform(0, 1)),
            float(random.uniform(0.05, 0.26)),
            int(random.integers(4)),
            int(random.integers(5)),
            float(random.uniform(0, 360)),
        )
        for _ in range(22)
    ]

    def draw(canvas: Any, moment: Moment) -> None:
        canvas.drawPaint(paint(stage.palette.zenith))
        for number, (x, y, size, kind, tone, turn) in enumerate(shapes):
            step = int(moment.beats) + 1 - moment.beat**2
            canvas.save()
            canvas.translate(x + 0.03 * math.sin(moment.time * 0.4 + number), y)
            canvas.rotate(turn + step * (15 if number % 2 else -15))
            grown = size * (1 + 0.12 * moment.beat * (number % 3 == int(moment.beats) % 3))
            brush = paint(colours[tone], 0.82)
            if kind == 0:
                canvas.drawCircle(0, 0, grown, brush)
            elif kind == 1:
                canvas.drawRect(skia.Rect.MakeXYWH(-grown, -grown * 0.25, grown * 2, grown * 0.5), brush)
            elif kind == 2:
                path = skia.Path()
                path.moveTo(0, -grown)
                path.lineTo(grown * 0.87, grown * 0.5)
                path.lineTo(-grown * 0.87, grown * 0.5)
                path.close()
                canvas.drawPath(path, brush)
            else:
                canvas.drawArc(
                    skia.Rect.MakeXYWH(-grown, -grown, grown * 2, grown * 2),
                    0,
                    180,
                    False,
                    paint(colours[tone], 0.9, Style=skia.Paint.kStroke_Style, StrokeWidth=grown * 0.25),
                )
            canvas.restore()

    return [Layer(0.15, draw)]


@element("field", "sound waves, pulse, frequency, radio, music itself", also="song, rhythm, voice, echo, melody, noise, telephone call")
def sound_rings(stage: Stage) -> Sequence[Layer]:
    """Rings drawn by the music, each a beat older than the one inside."""

    def draw(canvas: Any, moment: Moment) -> None:
        canvas.drawPaint(paint(stage.palette.zenith))
        glow(canvas, 0, 0.5, 0.8, stage.palette.middle, 0.7)
        for ring in range(9):
            age = ring + 1 - moment.beat
            radius = 0.09 + 0.085 * age
            path = skia.Path()
            for at in range(121):
                angle = at * math.tau / 120
                bump = (
                    0.02 * moment.low * math.sin(angle * 6 + age)
                    + 0.013 * moment.mid * math.sin(angle * 17 - age * 2 + moment.time)
                    + 0.008 * moment.high * math.sin(angle * 41 + moment.time * 3)
                )
                x, y = math.cos(angle) * (radius + bump), 0.5 + math.sin(angle) * (radius + bump)
                (path.moveTo if at == 0 else path.lineTo)(x, y)
            colour = mix(stage.palette.accent, stage.palette.accent2, ring / 8)
            canvas.drawPath(
                path,
                paint(colour, 0.9 * (1 - age / 10.5), Style=skia.Paint.kStroke_Style, StrokeWidth=0.006 + 0.006 * moment.beat / (1 + ring)),
            )
        glow(canvas, 0, 0.5, 0.16 + 0.08 * moment.low, stage.palette.light, 0.8)

    return [Layer(0.1, draw)]


@element("field", "threads and flowing lines, hair, silk, wind made visible, destiny", also="freedom, fate, change, breath")
def flow_lines(stage: Stage) -> Sequence[Layer]:
    """Hundreds of lines along one slow current."""
    random = stage.random("flow")
    lines = [(float(random.uniform(-0.1, 1.1)), float(random.uniform(0.4, 1.6)), float(random.uniform(0, 6))) for _ in range(110)]
    back = [stage.palette.zenith, stage.palette.middle]

    def draw(canvas: Any, moment: Moment) -> None:
        canvas.drawPaint(vertical_gradient(0.0, 1.0, back[0], back[1]))
        for number, (y, weight, phase) in enumerate(lines):
            path = skia.Path()
            for at in range(37):
                x = stage.left + (stage.right - stage.left) * at / 36
                bend = 0.11 * math.sin(x * 1.9 + moment.time * 0.5 + y * 4) + 0.05 * math.sin(x * 4.3 - moment.time * 0.4 + y * 9) * (
                    0.5 + moment.low
                )
                (path.moveTo if at == 0 else path.lineTo)(x, y + bend + 0.01 * math.sin(phase + x * 9) * moment.high)
            colour = mix(stage.palette.accent, stage.palette.accent2, 0.5 + 0.5 * math.sin(y * 5 + phase * 0.3))
            canvas.drawPath(
                path,
                paint(
                    mix(colour, stage.palette.light, 0.3 * (number % 4 == 0)),
                    0.28 + 0.3 * (number % 5 == int(moment.beats) % 5) * moment.beat,
                    Style=skia.Paint.kStroke_Style,
                    StrokeWidth=0.0022 * weight,
                ),
            )

    return [Layer(0.2, draw)]


@element(
    "field",
    "spiral, vortex, free fall, dizziness, obsession, black hole",
    also="addiction, madness, panic, anxiety, fear, chaos, confusion",
)
def vortex(stage: Stage) -> Sequence[Layer]:
    """Arms of a spiral that wind inwards."""
    source = """half4 main(float2 uv) {
      float2 q = uv - float2(size.x * 0.5, 0.48); float r = length(q) + 0.001; float a = atan(q.y, q.x); float arm = sin(a * 3.0 - log(r) * 5.0 + time * 1.1);
      float dustv = fbm(spin(q, -time * 0.3 / (r + 0.3)) * 5.0); float v = smoothstep(-0.6, 0.9, arm + (dustv - 0.4) * 1.6); half3 c = mix(c0, c1, half(v)); c = mix(c, mix(c4, c5, half(smoothstep(0.1, 0.6, r))), half(v * v * exp(-r * 1.6) * 0.9));
      c += c3 * half(exp(-r * (11.0 - 4.0 * low)) * 0.9); return half4(c, 1.0); }"""
    return [Layer(0.0, shade(stage, source, 3))]
