"""From words to a look: which elements, which colours, chosen by what a sentence means."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gateleg.apps.mv.drawing import elements as _all_elements
from gateleg.apps.mv.drawing.catalogue import ELEMENTS, Element, Kind
from gateleg.apps.mv.drawing.palettes import PALETTES, Palette, palette_for

if TYPE_CHECKING:
    from gateleg.apps.mv.listening.sound import Doubles

__all__ = ["Embed", "Library", "Look", "open_library"]

assert _all_elements
#: Turns texts into vectors of length 1, one row each: `Embeddings.embed` of `gateleg.ai`.
Embed = Callable[[Sequence[str]], Any]


@dataclass(frozen=True, slots=True)
class Look:
    """What a scene is made of: names of elements in the order in which they are drawn, and colours."""

    elements: tuple[str, ...]
    #: the figure that stands for the subject, where no picture was given; empty when nobody is seen
    figure: str
    palette: Palette
    #: how much each chosen element resembles the words
    scores: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """The elements and palettes with the vectors of their descriptions."""

    embed: Embed
    names: tuple[str, ...]
    vectors: Doubles
    palettes: tuple[str, ...]
    palette_vectors: Doubles

    def choose(self, text: str, seed: int = 0, subject: str | None = None, turn: int = 0) -> Look:
        """The look of a text. `subject` describes who or what is to be seen; without it, a figure is drawn only when the text names one.

        Scenes of one video differ by their `turn`: where several elements fit nearly equally well, each turn takes another one.
        """
        parts = _parts(text)
        vectors = np.asarray(self.embed([*(part for part, _ in parts), subject or text]), dtype=np.float64)
        weights = np.array([weight for _, weight in parts])
        scores = (self.vectors @ vectors[:-1].T * weights).max(axis=1)
        table = dict(zip(self.names, scores.tolist(), strict=True))
        palette = self._palette(text, vectors[:-1], weights, seed)
        place, fit = _place(table)
        chosen = _compose(_turned(table, turn), place, fit, palette.dark)
        figure = self._figure(table, vectors[-1], subject, place)
        return Look(tuple(chosen), figure, palette, tuple(round(table[name], 3) for name in chosen))

    def _figure(self, table: dict[str, float], subject: Doubles, named: str | None, place: str) -> str:
        if named is not None:
            near = dict(zip(self.names, (self.vectors @ subject).tolist(), strict=True))
            return _best(near, "figure", ())[0]
        best, fit = _best(table, "figure", (place,))
        return best if fit > _FIGURE else ""

    def _palette(self, text: str, vectors: Doubles, weights: Doubles, seed: int) -> Palette:
        scores = (self.palette_vectors @ vectors.T * weights).max(axis=1) + 0.5 * (self.palette_vectors @ vectors[0])
        first, second = (self.palettes[at] for at in np.argsort(-scores, kind="stable")[:2])
        ranked = np.sort(scores)[::-1]
        share = float(np.clip(0.4 - (ranked[0] - ranked[1]) * 2.0, 0.0, 0.4))
        return palette_for(text, PALETTES[first], PALETTES[second], share, seed)


#: how alike words and descriptions must be for an element that is not needed
_WANTED: dict[Kind, float] = {"far": 0.27, "thing": 0.36, "weather": 0.35, "front": 0.33}
_FIGURE = 0.33
_AIR: tuple[Kind, ...] = ("weather", "front")
#: kinds that vary from scene to scene, among elements that fit this much less than the best
_VARIED: tuple[Kind, ...] = ("sky", "far", "ground", "thing", "field")
_CLOSE = 0.13
#: a field takes the place of sky and ground when it fits better than any place by this much, or when no place fits at all
_ABSTRACT, _VAGUE = 0.06, 0.2
#: above this, words name a field, or something in the air, plainly
_PLAINLY = 0.5
#: Skies by the time of day that they show: they fit a dark palette, or a light one.
_NIGHT = frozenset({"starry night", "full moon", "northern lights", "galaxy"})
_DAY = frozenset({"noon sun", "dawn", "drifting clouds", "sunset"})


def open_library(embed: Embed) -> Library:
    """The library, with its descriptions embedded once."""
    names, palettes = tuple(ELEMENTS), tuple(PALETTES)
    vectors = np.asarray(embed([ELEMENTS[name].words for name in names] + [PALETTES[name].words for name in palettes]), dtype=np.float64)
    return Library(embed, names, vectors[: len(names)], palettes, vectors[len(names) :])


_BREAKS = re.compile(
    r"\b(?:in|on|at|through|under|over|into|across|along|by|with|and|until|between|from|near|behind|beneath|above|around|to)\b|,"
)


def _parts(text: str) -> list[tuple[str, float]]:
    """A text and the pieces of it, each with its weight: sentences, and what stands between prepositions and commas."""
    sentences = [part.strip() for part in re.split(r"[.!?;]+", text) if part.strip()] or [text or "nothing"]
    pieces = [piece.strip() for piece in _BREAKS.split(sentences[0])]
    parts = [(sentences[0], 1.0), *((piece, 0.92) for piece in pieces if piece.lower() not in ("", "a", "the"))]
    parts += [(sentence, 0.8 if sentence is sentences[-1] else 0.6) for sentence in sentences[1:6]]
    return parts


def _turned(table: dict[str, float], turn: int) -> dict[str, float]:
    """The fit of elements, with those of a kind that are close to the best one taking turns."""
    turned = dict(table)
    for kind in _VARIED:
        ranked = sorted((name for name in table if ELEMENTS[name].kind == kind), key=lambda name: -table[name])
        close = [name for name in ranked if table[name] > max(table[ranked[0]] - _CLOSE, 0.22)]
        if len(close) > 1:
            turned[close[turn % len(close)]] = table[ranked[0]] + 0.01
    return turned


def _best(table: dict[str, float], kind: Kind, places: Sequence[str]) -> tuple[str, float]:
    """The element of a kind that fits best, and how well; those that cannot be at the place are left out."""
    fitting = [name for name in table if ELEMENTS[name].kind == kind and _fits(ELEMENTS[name], places)]
    if not fitting:
        return "", 0.0
    name = max(fitting, key=lambda name: table[name])
    return name, table[name]


def _fits(found: Element, places: Sequence[str]) -> bool:
    return not found.places or not places or any(place in places for place in found.places)


def _place(table: dict[str, float]) -> tuple[str, float]:
    """Where a scene is: the place whose best sky, ground and far elements fit best together."""
    best, score = "outdoors", -1.0
    for place in ("outdoors", "water", "space", "room", "stage"):
        here = sorted(
            (table[name] for name in table if ELEMENTS[name].kind not in ("field", "front", "weather") and place in ELEMENTS[name].places),
            reverse=True,
        )
        value = (here[0] * 1.5 + here[1]) / 2.5
        if value > score:
            best, score = place, value
    return best, score


def _compose(table: dict[str, float], place: str, fit: float, dark: bool) -> list[str]:
    """The elements of a scene, from back to front."""
    field_, strength = _best(table, "field", ())
    if strength > fit + _ABSTRACT or fit < _VAGUE or strength > max(fit, _PLAINLY):
        extra, value = _best(table, "weather", ())
        thing, worth = _best(table, "thing", ())
        return [field_, *([thing] if worth > _WANTED["thing"] else []), *([extra] if value > _WANTED["weather"] else [])]
    places = (place,)
    lit = {
        name: value + (0.12 if name in (_NIGHT if dark else _DAY) else -0.15 if name in (_DAY if dark else _NIGHT) else 0.0)
        for name, value in table.items()
    }
    chosen = [_best(lit, "sky", places)[0]]
    far, far_fit = _best(table, "far", places)
    ground, ground_fit = _best(table, "ground", places)
    if far and far_fit > _WANTED["far"] and far_fit > ground_fit - 0.2:
        chosen.append(far)
    chosen.append("plain floor" if chosen[0] == "studio backdrop" else ground)
    things = sorted(
        (name for name in table if ELEMENTS[name].kind == "thing" and _fits(ELEMENTS[name], places)), key=lambda name: -table[name]
    )
    chosen += [name for name in things[:2] if table[name] > max(_WANTED["thing"], table[things[0]] - 0.15)]
    for kind in _AIR:
        name, value = _best(table, kind, places)
        anywhere, plainly = _best(table, kind, ())
        if plainly > _PLAINLY:
            name, value = anywhere, plainly
        if name and value > _WANTED[kind]:
            chosen.append(name)
    return chosen
