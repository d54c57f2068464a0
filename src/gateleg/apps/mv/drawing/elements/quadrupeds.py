"""Four-legged animals in side view: a trunk and a head drawn as smooth outlines, on legs that trot to the beat.

Every animal faces right, with its feet at the origin. An `Anatomy` holds its proportions; the elements add ears, tails and markings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.colour import Colour, mix, scale
from gateleg.apps.mv.drawing.elements.figures import tapered
from gateleg.apps.mv.drawing.stage import Moment, Stage, paint, vertical_gradient

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Point = tuple[float, float]
#: Legs at least this wide at the foot get a flat sole.
_FLAT_SOLE = 0.12
DARK: Colour = (0.07, 0.06, 0.06)
WHITE: Colour = (0.95, 0.94, 0.91)


@dataclass(frozen=True, slots=True)
class Anatomy:
    """The proportions of an animal."""

    #: natural colour of the coat
    pelt: Colour
    #: outlines of the trunk, and of neck and head together
    trunk: tuple[Point, ...]
    head: tuple[Point, ...]
    #: the point that the head nods around
    neck: Point
    eye: Point
    #: hip and shoulder of the near legs; the far legs stand a little forward
    hip: Point
    shoulder: Point
    #: widths of a leg at its root, knee, heel and foot
    leg: tuple[float, float, float, float]
    stride: float = 0.4
    nod: float = 2.5
    hooves: bool = False
    #: colour of the lower legs, where it differs
    socks: Colour | None = None
    eye_size: float = 0.017


def smooth(points: Sequence[Point], *, closed: bool = True) -> Any:
    """A smooth curve through points (a Catmull-Rom spline)."""
    path = skia.Path()
    count = len(points)
    path.moveTo(*points[0])
    for at in range(count if closed else count - 1):
        if closed:
            before, start, end, after = (points[(at + step) % count] for step in (-1, 0, 1, 2))
        else:
            before, start, end, after = (points[min(max(at + step, 0), count - 1)] for step in (-1, 0, 1, 2))
        path.cubicTo(
            start[0] + (end[0] - before[0]) / 6,
            start[1] + (end[1] - before[1]) / 6,
            end[0] - (after[0] - start[0]) / 6,
            end[1] - (after[1] - start[1]) / 6,
            *end,
        )
    if closed:
        path.close()
    return path


def polygon(canvas: Any, colour: Colour, *points: Point) -> None:
    """Fill an area with straight edges: an ear, a horn, a tusk."""
    path = skia.Path()
    path.addPoly([skia.Point(*point) for point in points], True)
    canvas.drawPath(path, paint(colour))


def blob(canvas: Any, colour: Colour, *points: Point) -> None:
    """Fill an area with round edges: a patch of another colour, a lobe of an ear."""
    canvas.drawPath(smooth(points), paint(colour))


def stroke(canvas: Any, colour: Colour, width: float, *points: Point) -> None:
    """Draw a smooth line with round ends: a whisker, a stripe, an antler."""
    line = paint(colour, 1.0, Style=skia.Paint.kStroke_Style, StrokeWidth=width, StrokeCap=skia.Paint.kRound_Cap)
    canvas.drawPath(smooth(points, closed=False), line)


def coat_of(stage: Stage, natural: Colour, colour: Colour, *, outline: bool) -> Colour:
    """The colour of an animal in the light of its scene. A colour word in the text overrides its natural colour."""
    if outline:
        return colour
    if stage.palette.coat is not None:
        natural = mix(natural, stage.palette.coat, 0.6)
    return mix(mix(natural, stage.palette.light, 0.12), colour, 0.12 if stage.palette.coat is not None else 0.25)


def lit(stage: Stage, own: Colour, pelt: Colour, *, outline: bool) -> Colour:
    """The colour of a marking in the light of its scene, or the single colour of the outline."""
    return pelt if outline else mix(mix(own, stage.palette.light, 0.1), pelt, 0.15)


def _leg(canvas: Any, anatomy: Anatomy, colour: Colour, start: Point, swing: float, *, hind: bool, outline: bool) -> None:
    """One leg of three segments; the heel of a hind leg points backwards."""
    length = -start[1]
    angle = swing * anatomy.stride
    lift = max(-math.cos(swing * 1.4), 0.0) * 0.2
    turns = (
        (0.32 + angle, -0.5 + angle * 1.25, 0.12 + angle * 0.7) if hind else (-0.12 + angle, 0.1 + angle * 0.9 - lift, angle * 0.7 - lift)
    )
    joints = [start]
    for turn, share in zip(turns, (0.4, 0.34, 0.3) if hind else (0.38, 0.36, 0.28), strict=True):
        x, y = joints[-1]
        joints.append((x + math.sin(turn) * length * share, min(y + math.cos(turn) * length * share, -anatomy.leg[3] / 2)))
    tapered(canvas, colour, anatomy.leg, *joints)
    low = colour if anatomy.socks is None or outline else anatomy.socks
    if low != colour:
        tapered(canvas, low, anatomy.leg[2:], *joints[2:])
    foot, wide = joints[-1], anatomy.leg[3]
    if anatomy.hooves:
        hoof = colour if outline else mix(DARK, colour, 0.25)
        polygon(
            canvas,
            hoof,
            (foot[0] - wide * 0.5, foot[1] - wide * 0.5),
            (foot[0] + wide * 0.55, foot[1] - wide * 0.5),
            (foot[0] + wide * 0.9, foot[1] + 0.012),
            (foot[0] - wide * 0.6, foot[1] + 0.012),
        )
    else:
        _paw(canvas, low, foot, wide)


def _paw(canvas: Any, colour: Colour, foot: Point, wide: float) -> None:
    """A paw with its toes to the right. On thick legs the sole is flat: two circles would look like a club."""
    x, y = foot
    if wide < _FLAT_SOLE:
        tapered(canvas, colour, (wide * 1.05, wide * 0.8), foot, (x + min(wide * 0.95, 0.07), y + 0.002))
        return
    back, toes, ground = x - wide * 0.55, x + wide * 0.8, y + wide * 0.5
    blob(
        canvas,
        colour,
        (back, y),
        (x, y - wide * 0.3),
        (x + wide * 0.5, y - wide * 0.1),
        (toes, y + wide * 0.3),
        (toes, ground),
        (x, ground),
        (back, ground),
    )


def draw_animal(
    canvas: Any,
    moment: Moment,
    anatomy: Anatomy,
    pelt: Colour,
    *,
    outline: bool,
    behind: Callable[[], None] | None = None,
    markings: Callable[[], None] | None = None,
    face: Callable[[], None] | None = None,
) -> None:
    """Draw an animal: `behind` it, then legs and trunk, `markings` clipped to the trunk, the head, and its `face`."""
    phase = moment.beats * math.pi
    if behind is not None:
        behind()
    far = pelt if outline else scale(pelt, 0.68)
    # In a trot, diagonal legs swing together.
    swing = math.sin(phase)
    for tone, shift, way in ((far, 0.07, -1), (pelt, 0.0, 1)):
        _leg(canvas, anatomy, tone, (anatomy.hip[0] + shift, anatomy.hip[1]), way * swing, hind=True, outline=outline)
        _leg(canvas, anatomy, tone, (anatomy.shoulder[0] + shift, anatomy.shoulder[1]), -way * swing, hind=False, outline=outline)
    trunk = smooth(anatomy.trunk)
    top, bottom = min(y for _, y in anatomy.trunk), max(y for _, y in anatomy.trunk)
    shaded = paint(pelt) if outline else vertical_gradient(top, bottom, mix(pelt, (1.0, 1.0, 1.0), 0.06), scale(pelt, 0.8))
    canvas.drawPath(trunk, shaded)
    if markings is not None and not outline:
        canvas.save()
        canvas.clipPath(trunk, True)
        markings()
        canvas.restore()
    canvas.save()
    canvas.rotate(anatomy.nod * math.sin(phase), *anatomy.neck)
    canvas.drawPath(smooth(anatomy.head), shaded)
    if face is not None:
        face()
    if not outline:
        canvas.drawCircle(*anatomy.eye, anatomy.eye_size, paint(DARK))
        canvas.drawCircle(anatomy.eye[0] + 0.005, anatomy.eye[1] - 0.006, anatomy.eye_size * 0.35, paint(WHITE))
    canvas.restore()
