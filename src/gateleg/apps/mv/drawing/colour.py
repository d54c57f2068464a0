"""Colours as RGB from 0 to 1, and conversions to hue and lightness for palettes."""

from __future__ import annotations

import math

#: sRGB from 0 to 1
Colour = tuple[float, float, float]


def from_hex(text: str) -> Colour:
    """The colour of `#rrggbb`."""
    return tuple(int(text[at : at + 2], 16) / 255 for at in (1, 3, 5))  # type: ignore[return-value]


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """A colour between two: `one` at 0, `other` at 1."""
    keep = 1.0 - share
    return one[0] * keep + other[0] * share, one[1] * keep + other[1] * share, one[2] * keep + other[2] * share


def scale(colour: Colour, factor: float) -> Colour:
    """A colour darker or brighter by a factor."""
    return min(colour[0] * factor, 1.0), min(colour[1] * factor, 1.0), min(colour[2] * factor, 1.0)


def luminance(colour: Colour) -> float:
    """Relative luminance, by which contrast and flashes are measured."""
    red, green, blue = (_linear(channel) for channel in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def _shown(channel: float) -> float:
    channel = min(max(channel, 0.0), 1.0)
    return 12.92 * channel if channel <= 0.0031308 else 1.055 * channel ** (1 / 2.4) - 0.055


def to_lch(colour: Colour) -> tuple[float, float, float]:
    """Lightness, chroma and hue (in turns) in OKLCH, in which equal steps look equal."""
    red, green, blue = (_linear(channel) for channel in colour)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    medium = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    lightness = 0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short
    a = 1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short
    b = 0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short
    return lightness, math.hypot(a, b), (math.atan2(b, a) / math.tau) % 1.0


def from_lch(lightness: float, chroma: float, hue: float) -> Colour:
    """The colour of OKLCH values, clipped to sRGB."""
    a, b = chroma * math.cos(hue * math.tau), chroma * math.sin(hue * math.tau)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        _shown(4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short),
        _shown(-1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short),
        _shown(-0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short),
    )


def turned(colour: Colour, hue: float, share: float, chroma: float = 0.0) -> Colour:
    """Rotate the hue of a colour towards another hue by a share, the shorter way, with at least this chroma."""
    lightness, was, old = to_lch(colour)
    way = (hue - old + 0.5) % 1.0 - 0.5
    if was < 0.03:
        way, old = 0.0, hue
    return from_lch(lightness, max(was, chroma * share), (old + way * share) % 1.0)
