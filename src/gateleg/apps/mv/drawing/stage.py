"""The stage that elements are drawn on: layers with depth, a camera, and the state of the music at a moment.

Elements draw in units of the frame's height: y runs from 0 at the top to 1 at the bottom, x from -aspect/2 to aspect/2.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import skia

from gateleg.apps.mv.drawing.colour import Colour, mix

if TYPE_CHECKING:
    from gateleg.apps.mv.drawing.palettes import Palette

#: how far static layers extend beyond the frame on each side, for camera moves
MARGIN = 0.22
#: the lower edge of static layers
BOTTOM = 1.0 + MARGIN
LINEAR = skia.SamplingOptions(skia.FilterMode.kLinear)
#: for images that never move or are soft
NEAREST = skia.SamplingOptions()


@dataclass(frozen=True, slots=True)
class Moment:
    """The time in the scene and the state of the music at a frame."""

    #: seconds since the start of the scene, and the fraction of the scene that has passed
    time: float
    share: float
    #: beats since the start of the song; a whole number at each beat
    beats: float
    #: 1 at a beat, falling to 0 before the next; the same for bars
    beat: float
    bar: float
    #: envelopes of the song, 0 to 1
    low: float
    mid: float
    high: float
    level: float


@dataclass(frozen=True, slots=True)
class Camera:
    """The camera: an offset in units of the frame's height, a zoom, and a roll in degrees."""

    x: float = 0.0
    y: float = 0.0
    zoom: float = 1.0
    roll: float = 0.0


Draw = Callable[[Any, Moment], None]


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer at a depth: 0 is infinitely far and never moves, 1 is at the subject, above 1 is nearer."""

    depth: float
    draw: Draw


@dataclass(slots=True)
class Stage:
    """The properties of a scene that its elements use for drawing."""

    width: int
    height: int
    palette: Palette
    seed: int
    energy: float
    motion: float
    #: the height of the horizon, and the position of the light
    horizon: float
    light: tuple[float, float]
    #: the subject: x, the y of its feet, and its height
    spot: tuple[float, float, float] = (0.0, 0.9, 0.5)
    #: selects the appearance of the subject
    cast: int = 0

    @property
    def aspect(self) -> float:
        """Width over height."""
        return self.width / self.height

    @property
    def left(self) -> float:
        """The left edge of static layers."""
        return -self.aspect / 2 - MARGIN

    @property
    def right(self) -> float:
        """The right edge of static layers."""
        return self.aspect / 2 + MARGIN

    def random(self, *names: object) -> np.random.Generator:
        """A random generator for one purpose, deterministic for the seed and the names."""
        digest = hashlib.sha256("|".join(map(str, (self.seed, *names))).encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "big"))

    def picture(self, paint: Callable[[Any], None], top: float = -MARGIN, bottom: float = BOTTOM) -> Callable[[Any], None]:
        """Paint a static layer over the whole width between two heights. Returns a function that draws it."""
        return self.picture_of(paint, self.left, top, self.right, bottom)

    def picture_of(
        self, paint: Callable[[Any], None], left: float, top: float, right: float, bottom: float, sampling: Any = LINEAR
    ) -> Callable[[Any], None]:
        """Paint a static layer into a rectangle. Returns a function that draws it in place."""
        scale = self.height
        surface = skia.Surface(max(math.ceil((right - left) * scale), 2), max(math.ceil((bottom - top) * scale), 2))
        canvas = surface.getCanvas()
        canvas.clear(0)
        canvas.scale(scale, scale)
        canvas.translate(-left, -top)
        paint(canvas)
        image = surface.makeImageSnapshot()
        place = skia.Rect.MakeXYWH(left, top, image.width() / scale, image.height() / scale)
        return lambda target: target.drawImageRect(image, place, sampling)

    def air(self, depth: float) -> Colour:
        """The colour of land at a depth from 0 (the horizon) to 1 (in front)."""
        return self.palette.at(depth)

    def silhouette(self, depth: float) -> Colour:
        """The colour of upright objects: darker than the land they stand on."""
        return mix(self.palette.at(depth * 0.8), self.palette.near, 0.35 + 0.6 * depth)


def paint(colour: Colour, alpha: float = 1.0, **options: Any) -> Any:
    """An antialiased paint of one colour."""
    made = skia.Paint(AntiAlias=True, **options)
    made.setColor4f(skia.Color4f(*colour, min(max(alpha, 0.0), 1.0)))
    return made


def argb(colour: Colour, alpha: float = 1.0) -> int:
    """A colour as the integer that Skia's gradients take."""
    red, green, blue = (round(min(max(channel, 0.0), 1.0) * 255) for channel in colour)
    return int(skia.Color(red, green, blue, round(min(max(alpha, 0.0), 1.0) * 255)))


def vertical_gradient(top: float, bottom: float, *stops: tuple[Colour, float] | Colour) -> Any:
    """A vertical gradient; a stop is a colour, or a colour and its alpha."""
    colours = [argb(*stop) if isinstance(stop[0], tuple) else argb(stop) for stop in stops]
    shader = skia.GradientShader.MakeLinear([skia.Point(0, top), skia.Point(0, bottom)], colours)
    return skia.Paint(AntiAlias=True, Shader=shader, Dither=True)


def halo(x: float, y: float, radius: float, colour: Colour, alpha: float, mode: Any = skia.BlendMode.kPlus) -> Any:
    """A radial gradient that fades with distance from a point."""
    stops = [argb(colour, alpha), argb(colour, alpha * 0.45), argb(colour, alpha * 0.12), argb(colour, 0.0)]
    shader = skia.GradientShader.MakeRadial(skia.Point(x, y), max(radius, 1e-4), stops, [0.0, 0.25, 0.6, 1.0])
    return skia.Paint(AntiAlias=True, Shader=shader, BlendMode=mode, Dither=True)


def glow(canvas: Any, x: float, y: float, radius: float, colour: Colour, alpha: float) -> None:
    """Draw a halo."""
    if alpha > 0.003:
        canvas.drawCircle(x, y, radius, halo(x, y, radius, colour, alpha))


def ridge(
    random: np.random.Generator, left: float, right: float, base: float, height: float, rough: float, peaks: float = 3.0
) -> list[tuple[float, float]]:
    """A ridge line: a sum of waves with decreasing amplitude; `rough` runs from 0 (rolling) to 1 (jagged)."""
    xs = np.linspace(left, right, 260)
    ys = np.zeros_like(xs)
    total = 0.0
    for octave in range(7):
        size = (0.32 + 0.25 * rough) ** octave
        phase, pace = float(random.uniform(0, math.tau)), peaks * 2.05**octave
        wave = np.sin(xs * pace + phase + 0.6 * np.sin(xs * pace * 0.37 + phase * 2))
        ys += size * (1 - 2 * np.abs(wave) if rough > 0.5 else wave)
        total += size
    ys = base - height * (0.5 + 0.5 * ys / total)
    return list(zip(xs.tolist(), ys.tolist(), strict=True))


def area_below(line: list[tuple[float, float]], bottom: float) -> Any:
    """The area from a line down to a height."""
    path = skia.Path()
    path.moveTo(line[0][0], bottom)
    for x, y in line:
        path.lineTo(x, y)
    path.lineTo(line[-1][0], bottom)
    path.close()
    return path
