"""Floors of rooms, stages and studios."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import mix, scale
from gateleg.apps.mv.drawing.shaders import shade
from gateleg.apps.mv.drawing.stage import BOTTOM, Layer, Moment, Stage, glow, paint, vertical_gradient

if TYPE_CHECKING:
    from collections.abc import Sequence


@element(
    "ground",
    "a wooden floor in a room with a table and furniture, home",
    "room",
    also="bed, chair, sofa, carpet, table, kitchen, hall, stairs, corridor, attic, hotel, hospital, prison, library, cafe, restaurant",
)
def room_floor(stage: Stage) -> Sequence[Layer]:
    """Boards in perspective, a table, a lamp that swings a little."""
    random = stage.random("room")
    wood = mix(stage.palette.ground, stage.palette.far, 0.3)
    table_x = float(random.choice([-0.3, 0.3])) * stage.aspect

    def painted(canvas: Any) -> None:
        top = stage.horizon
        canvas.drawRect(skia.Rect.MakeLTRB(stage.left, top, stage.right, BOTTOM), vertical_gradient(top, 1.0, scale(wood, 0.75), wood))
        for board in range(-26, 27):
            canvas.drawLine(
                board * 0.09,
                top,
                board * 0.28,
                BOTTOM + 0.1,
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
            vertical_gradient(top - 0.05, top, mix(wood, stage.palette.light, 0.35), dark),
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


@element("ground", "the floor of a concert stage or a club, dance floor", "stage", also="theatre, circus, disco, boxing ring, arena")
def stage_floor(stage: Stage) -> Sequence[Layer]:
    """A dark floor with tiles that light up on the beat."""
    source = """half4 main(float2 uv) {
      float d = uv.y - horizon; if (d < 0.0) { return half4(0.0); }
      float far = 1.0 / (d + 0.06); float2 q = float2((uv.x - size.x * 0.5) * far * 1.5, far * 1.1); float id = hash(floor(q) + floor(seed)); float2 f = fract(q);
      float tile = smoothstep(0.0, 0.06, f.x) * smoothstep(1.0, 0.94, f.x) * smoothstep(0.0, 0.06, f.y) * smoothstep(1.0, 0.94, f.y);
      float on = step(0.6, fract(id + floor(time * 1.0) * 0.37)); half3 c = mix(c0, c1, half(exp(-d * 3.0))) * 0.8; c += mix(c4, c5, half(id)) * half(tile * on * (0.18 + 0.38 * beat) * exp(-d * 0.6)); c += c2 * half(exp(-d * 9.0) * 0.5);
      return half4(c, 1.0); }"""
    return [Layer(0.35, shade(stage, source, 2, margin=0.09, top=stage.horizon - 0.01))]


@element("ground", "a smooth empty floor with reflections, studio, void")
def plain_floor(stage: Stage) -> Sequence[Layer]:
    """A floor that the light pools on."""
    top = stage.horizon
    area = skia.Rect.MakeLTRB(stage.left, top, stage.right, BOTTOM)
    brush = vertical_gradient(top, 1.05, stage.palette.horizon, stage.palette.ground, scale(stage.palette.near, 1.1))

    def draw(canvas: Any, moment: Moment) -> None:
        canvas.drawRect(area, brush)
        canvas.save()
        canvas.translate(stage.light[0] * 0.4, top + 0.2)
        canvas.scale(1.0, 0.22)
        glow(canvas, 0, 0, 0.9, stage.palette.light, 0.3 + 0.2 * moment.low)
        canvas.restore()

    return [Layer(0.35, draw)]
