"""Plants: forests, single trees, flowers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import skia

from gateleg.apps.mv.drawing.catalogue import element
from gateleg.apps.mv.drawing.colour import Colour, mix, scale
from gateleg.apps.mv.drawing.elements.lands import haze, land
from gateleg.apps.mv.drawing.stage import MARGIN, Layer, Moment, Stage, paint, vertical_gradient

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _row(
    stage: Stage,
    name: str,
    count: int,
    base: float,
    height: float,
    depth: float,
    plant: Callable[[Any, np.random.Generator, float, float, float, Colour], None],
) -> Layer:
    """A row of plants, painted once."""
    random = stage.random(name)
    places = sorted((float(x), float(random.uniform(0.65, 1.25))) for x in random.uniform(stage.left, stage.right, count))

    def painted(canvas: Any) -> None:
        tone = stage.silhouette(depth)
        for x, tall in places:
            plant(
                canvas,
                random,
                x,
                base + float(random.uniform(-0.01, 0.015)),
                height * tall,
                mix(tone, stage.palette.horizon, 0.25 * (1 - depth)),
            )

    drawn = stage.picture(painted, top=base - height * 1.45)
    return Layer(0.1 + depth * 0.8, lambda canvas, moment: drawn(canvas))


def _pine(canvas: Any, random: np.random.Generator, x: float, base: float, height: float, tone: Colour) -> None:
    width = height * 0.24
    path = skia.Path()
    path.moveTo(x, base - height)
    for tier in range(1, 8):
        share = tier / 7
        path.lineTo(x + width * share, base - height * (1 - share) + height * 0.03)
        path.lineTo(x + width * share * 0.55, base - height * (1 - share))
    path.lineTo(x - width * 0.55, base)
    for tier in range(7, 0, -1):
        share = tier / 7
        path.lineTo(x - width * share, base - height * (1 - share) + height * 0.03)
        path.lineTo(x - width * share * 0.55, base - height * (1 - share) - height * 0.06)
    path.close()
    canvas.drawPath(path, vertical_gradient(base - height, base, mix(tone, (1.0, 1.0, 1.0), 0.05), scale(tone, 0.8)))


def _branch(path: Any, random: np.random.Generator, x: float, y: float, angle: float, length: float, left: int) -> None:
    end_x, end_y = x + math.cos(angle) * length, y + math.sin(angle) * length
    path.moveTo(x, y)
    path.quadTo(x + math.cos(angle + 0.2) * length * 0.5, y + math.sin(angle + 0.2) * length * 0.5, end_x, end_y)
    if left:
        for _ in range(3 if left > 3 else 2):
            _branch(
                path, random, end_x, end_y, angle + float(random.uniform(-0.75, 0.75)), length * float(random.uniform(0.6, 0.82)), left - 1
            )


def _bare(canvas: Any, random: np.random.Generator, x: float, base: float, height: float, tone: Colour) -> None:
    for left, width in ((1, 0.05), (3, 0.022), (5, 0.009)):
        state = np.random.default_rng(int(abs(x) * 1e6) + 7)
        path = skia.Path()
        _branch(path, state, x, base, -math.pi / 2, height * 0.3, left)
        canvas.drawPath(path, paint(tone, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=height * width, StrokeCap=skia.Paint.kRound_Cap))


def _leafy(canvas: Any, random: np.random.Generator, x: float, base: float, height: float, tone: Colour) -> None:
    canvas.drawLine(
        x, base, x, base - height * 0.5, paint(scale(tone, 0.7), 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=height * 0.07)
    )
    for _ in range(26):
        angle, reach = float(random.uniform(0, math.tau)), float(random.uniform(0, 1)) ** 0.5 * height * 0.32
        size = height * float(random.uniform(0.08, 0.17))
        bright = float(random.uniform(0.0, 0.25)) if math.sin(angle) < 0 else 0.0
        canvas.drawCircle(
            x + math.cos(angle) * reach,
            base - height * 0.68 + math.sin(angle) * reach * 0.8,
            size,
            paint(mix(tone, (1.0, 1.0, 0.85), bright), 0.95),
        )


@element("far", "a deep forest of pine trees, woods", "outdoors", also="jungle, wilderness, pine")
def forest(stage: Stage) -> Sequence[Layer]:
    """Rows of conifers that fade into mist."""
    base = stage.horizon + 0.06
    return [
        _row(stage, "f0", 90, base, 0.3, 0.1, _pine),
        haze(stage, base - 0.04, 0.15, 0.55),
        _row(stage, "f1", 60, base + 0.05, 0.4, 0.35, _pine),
        haze(stage, base + 0.03, 0.4, 0.4),
        _row(stage, "f2", 34, base + 0.11, 0.52, 0.65, _pine),
    ]


@element("far", "leafy green trees in a park, orchard", "outdoors", also="park, grove, avenue, summer")
def leafy_trees(stage: Stage) -> Sequence[Layer]:
    """Round crowns with light on top."""
    base = stage.horizon + 0.08
    return [_row(stage, "l0", 40, base, 0.22, 0.25, _leafy), _row(stage, "l1", 14, base + 0.05, 0.36, 0.55, _leafy)]


@element("far", "bare dead trees with twisted branches, haunted wood", "outdoors")
def bare_trees(stage: Stage) -> Sequence[Layer]:
    """Branches against the sky."""
    base = stage.horizon + 0.09
    return [
        _row(stage, "b0", 16, base, 0.5, 0.25, _bare),
        haze(stage, base, 0.3, 0.45),
        _row(stage, "b1", 6, base + 0.1, 0.85, 0.75, _bare),
    ]


@element("thing", "palm trees, tropical island, holiday, California", "outdoors", also="vacation, paradise, Hawaii, Caribbean")
def palms(stage: Stage) -> Sequence[Layer]:
    """Palms whose crowns sway."""
    random = stage.random("palms")
    trees = [
        (float(x), float(random.uniform(0.38, 0.7)), float(random.uniform(-0.08, 0.08)))
        for x in random.choice([-0.46, -0.36, 0.36, 0.47, 0.28], 4, replace=False) * stage.aspect
    ]

    def draw(canvas: Any, moment: Moment) -> None:
        tone = stage.silhouette(0.85)
        for number, (x, height, lean) in enumerate(trees):
            base = stage.horizon + 0.17 + 0.04 * (number % 2)
            sway = 0.012 * math.sin(moment.time * 0.9 + number) + 0.006 * moment.beat
            top_x, top_y = x + lean + sway, base - height
            trunk = skia.Path()
            trunk.moveTo(x, base)
            trunk.quadTo(x, base - height * 0.5, top_x, top_y)
            canvas.drawPath(trunk, paint(tone, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=0.016, StrokeCap=skia.Paint.kRound_Cap))
            for leaf in range(9):
                angle = -math.pi * (leaf + 0.5) / 9 + 0.1 * math.sin(moment.time * 1.3 + leaf)
                reach = 0.2 * (0.85 + 0.15 * math.sin(leaf * 2.3))
                end_x, end_y = top_x + math.cos(angle) * reach, top_y + math.sin(angle) * reach * 0.5 + 0.09
                frond = skia.Path()
                frond.moveTo(top_x, top_y)
                frond.quadTo(top_x + math.cos(angle) * reach * 0.6, top_y + math.sin(angle) * reach * 0.75 - 0.025, end_x, end_y)
                frond.quadTo(top_x + math.cos(angle) * reach * 0.5, top_y + math.sin(angle) * reach * 0.6 + 0.02, top_x, top_y)
                canvas.drawPath(frond, paint(mix(tone, stage.palette.light, 0.06 * (leaf % 3))))

    return [Layer(0.8, draw)]


@element("thing", "cactus plants in the desert, wild west", "outdoors", also="cactus")
def cacti(stage: Stage) -> Sequence[Layer]:
    """Saguaros with arms."""
    random = stage.random("cacti")
    plants = [(float(random.uniform(-0.48, 0.48)) * stage.aspect, float(random.uniform(0.08, 0.3))) for _ in range(7)]

    def painted(canvas: Any) -> None:
        for x, height in sorted(plants, key=lambda plant: plant[1]):
            base = stage.horizon + 0.06 + height * 0.75
            brush = paint(
                mix(stage.silhouette(0.4 + height * 1.5), (0.2, 0.35, 0.22), 0.35),
                1.0,
                Style=skia.Paint.kStroke_Style,
                StrokeWidth=height * 0.17,
                StrokeCap=skia.Paint.kRound_Cap,
            )
            canvas.drawLine(x, base, x, base - height, brush)
            for side in (-1, 1):
                arm = skia.Path()
                arm.moveTo(x, base - height * (0.45 + 0.1 * side))
                arm.lineTo(x + side * height * 0.28, base - height * (0.45 + 0.1 * side))
                arm.lineTo(x + side * height * 0.28, base - height * (0.75 + 0.1 * side))
                thin = paint(
                    mix(stage.silhouette(0.4 + height * 1.5), (0.2, 0.35, 0.22), 0.35),
                    1.0,
                    Style=skia.Paint.kStroke_Style,
                    StrokeWidth=height * 0.13,
                    StrokeCap=skia.Paint.kRound_Cap,
                    StrokeJoin=skia.Paint.kRound_Join,
                )
                canvas.drawPath(arm, thin)

    drawn = stage.picture(painted, top=stage.horizon - 0.2)
    return [Layer(0.7, lambda canvas, moment: drawn(canvas))]


@element(
    "ground",
    "a garden full of flowers and blossoms, spring meadow",
    "outdoors",
    also="rose, tulip, sunflower, lily, daisy, garden, bouquet",
)
def flower_meadow(stage: Stage) -> Sequence[Layer]:
    """Flowers that open on the beat, larger towards the front."""
    random = stage.random("flowers")
    layers: list[Layer] = [land(stage, "meadow", stage.horizon + 0.06, 0.05, 0.0, 0.6, 1.4, 0.3)]
    colours = (
        stage.palette.accent,
        stage.palette.accent2,
        mix(stage.palette.light, (1.0, 1.0, 1.0), 0.6),
        mix(stage.palette.accent, (0.6, 0.3, 0.9), 0.4),
    )
    for row in range(4):
        count = 70 - 13 * row
        plants = [
            (
                float(random.uniform(stage.left, stage.right)),
                float(random.uniform(-0.02, 0.04)),
                float(random.uniform(0.7, 1.3)),
                int(random.integers(4)),
                float(random.uniform(0, 6)),
            )
            for _ in range(count)
        ]

        def draw(canvas: Any, moment: Moment, plants: Any = plants, row: int = row) -> None:
            base = stage.horizon + 0.1 + 0.1 * row**1.25
            size = 0.008 + 0.0085 * row
            stem = paint(
                mix(stage.palette.near, stage.palette.ground, 0.6 - 0.12 * row),
                1.0,
                Style=skia.Paint.kStroke_Style,
                StrokeWidth=0.002 + 0.001 * row,
            )
            canvas.drawRect(
                skia.Rect.MakeLTRB(stage.left, base + 0.04, stage.right, 1 + MARGIN),
                paint(mix(stage.palette.ground, stage.palette.near, 0.15 * row), 0.9),
            )
            for x, dy, tall, tone, phase in plants:
                tip = x + 0.012 * math.sin(moment.time * 1.1 + phase) * (1 + 0.4 * row)
                y = base + dy - (0.035 + 0.028 * row) * tall
                canvas.drawLine(x, base + dy + 0.05, tip, y, stem)
                open_ = size * (0.8 + 0.35 * (moment.beat if int(phase * 10) % 2 == int(moment.beats) % 2 else moment.low))
                for petal in range(6):
                    angle = petal * math.tau / 6 + phase
                    canvas.drawCircle(
                        tip + math.cos(angle) * open_ * 0.8, y + math.sin(angle) * open_ * 0.65, open_ * 0.62, paint(colours[tone], 0.95)
                    )
                canvas.drawCircle(tip, y, open_ * 0.45, paint(mix(stage.palette.light, stage.palette.accent2, 0.4)))

        layers.append(Layer(0.5 + 0.2 * row, draw))
    return layers


@element("front", "blades of grass close to the camera", "outdoors")
def near_grass(stage: Stage) -> Sequence[Layer]:
    """Out-of-focus grass at the lower edge."""
    random = stage.random("near grass")
    blades = [
        (float(random.uniform(stage.left, stage.right)), float(random.uniform(0.1, 0.3)), float(random.uniform(-1, 1))) for _ in range(70)
    ]

    def draw(canvas: Any, moment: Moment) -> None:
        path = skia.Path()
        for x, height, lean in blades:
            tip = x + height * (0.35 * lean + 0.2 * math.sin(moment.time * 1.2 + x * 4) + 0.08 * moment.beat)
            path.moveTo(x - 0.008, 1.1)
            path.quadTo(x, 1.1 - height * 0.6, tip, 1.1 - height)
            path.quadTo(x + 0.012, 1.1 - height * 0.5, x + 0.01, 1.1)
        canvas.drawPath(path, paint(stage.palette.near, 0.95))

    return [Layer(1.5, draw)]


@element("front", "branches with leaves hanging into the picture", "outdoors")
def near_branches(stage: Stage) -> Sequence[Layer]:
    """A branch across an upper corner."""
    side = -1 if stage.light[0] > 0 else 1
    random = stage.random("branches")
    leaves = [
        (float(random.uniform(0.0, 0.62)), float(random.normal(0.0, 0.05)), float(random.uniform(0.012, 0.03)), float(random.uniform(0, 6)))
        for _ in range(60)
    ]

    def draw(canvas: Any, moment: Moment) -> None:
        start = side * (stage.aspect / 2 + 0.12)
        path = skia.Path()
        path.moveTo(start, -0.05)
        path.quadTo(start - side * 0.3, 0.1, start - side * 0.65, 0.12 + 0.01 * math.sin(moment.time))
        canvas.drawPath(path, paint(stage.palette.near, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=0.014))
        for along, off, size, phase in leaves:
            x, y = start - side * along, -0.02 + 0.23 * along**0.6 + off + 0.008 * math.sin(moment.time * 1.6 + phase) + 0.004 * moment.beat
            canvas.save()
            canvas.translate(x, y)
            canvas.rotate(math.degrees(phase + 0.2 * math.sin(moment.time * 1.4 + phase)))
            canvas.drawOval(
                skia.Rect.MakeXYWH(-size, -size * 0.4, size * 2, size * 0.8),
                paint(mix(stage.palette.near, stage.palette.ground, 0.2 * (phase % 2)), 0.97),
            )
            canvas.restore()

    return [Layer(1.35, draw)]
