"""Colours that are distinguishable with any kind of colour vision (Okabe and Ito), and shapes for further categories."""

from __future__ import annotations

#: For topics and groups, the most distinguishable first.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#B8A800")
#: For items without a topic or group.
GREY = "#8A8A8A"
#: The two ends of consensus and division, and the middle.
SHARED = "#0072B2"
BETWEEN = "#C9C9C9"
DIVIDED = "#D55E00"
AGREE = "#0072B2"
DISAGREE = "#D55E00"
PASS = "#B5B5B5"
SHAPES = ("circle", "square", "triangle", "diamond", "cross")


def colour(number: int) -> str:
    """The colour of a topic or group; grey for -1."""
    return GREY if number < 0 else COLOURS[number % len(COLOURS)]


def shape(number: int) -> str:
    """The shape of a topic, which changes when colours repeat."""
    return SHAPES[0] if number < 0 else SHAPES[(number // len(COLOURS)) % len(SHAPES)]


def between(low: str, high: str, share: float) -> str:
    """A colour between two others."""
    part = min(1.0, max(0.0, share))
    ends = [[int(text[place : place + 2], 16) for place in (1, 3, 5)] for text in (low, high)]
    return "#" + "".join(f"{round(a + (b - a) * part):02X}" for a, b in zip(*ends, strict=True))


def division_colour(share: float) -> str:
    """The colour for a divisiveness from 0 (shared) to 1 (divided)."""
    return between(SHARED, BETWEEN, share * 2) if share < 0.5 else between(BETWEEN, DIVIDED, share * 2 - 1)
