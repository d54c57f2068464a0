"""From words to a look: which elements, which colours, chosen by what a sentence means."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gateleg.apps.mv.drawing import elements as _all_elements
from gateleg.apps.mv.drawing.catalogue import ELEMENTS, Element, Kind
from gateleg.apps.mv.drawing.palettes import COLOUR_WORDS, PALETTES, Palette, palette_for
from gateleg.apps.mv.drawing.vistas import beside, vistas

if TYPE_CHECKING:
    from gateleg.apps.mv.listening.sound import Doubles

__all__ = ["Embed", "Library", "Look", "open_library"]

assert _all_elements
#: Turns texts into vectors of length 1, one row each: `Embeddings.embed` of `gateleg.ai`.
Embed = Callable[[Sequence[str]], Any]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Look:
    """What a scene is made of: names of elements in the order in which they are drawn, and colours."""

    elements: tuple[str, ...]
    #: the figure that stands for the subject, where no picture was given; empty when nobody is seen
    figure: str
    palette: Palette
    #: how much each chosen element resembles the words
    scores: tuple[float, ...] = ()
    #: who is seen, of all who answer to the description: the same in all scenes of a video
    cast: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """The elements and palettes with the vectors of their descriptions."""

    embed: Embed
    names: tuple[str, ...]
    vectors: Doubles
    #: the vectors of the single phrases of all descriptions, and the number of the element that each belongs to
    phrases: Doubles
    owners: Ints
    palettes: tuple[str, ...]
    palette_vectors: Doubles

    def choose(self, text: str, seed: int = 0, subject: str | None = None, turn: int = 0, setting: int = 0) -> Look:
        """The look of a text. `subject` describes who or what is to be seen; without it, a figure is drawn only when the text names one.

        Scenes of one video differ by their `turn`: where several elements fit nearly equally well, each turn takes another one. Parts of
        a video differ by their `setting`: each is another view of the world that the words name.
        """
        parts = _parts(text)
        vectors = np.asarray(self.embed([*(part for part, _ in parts), subject or text]), dtype=np.float64)
        weights = np.array([weight for _, weight in parts])
        scores = self._fits(vectors[:-1]) * weights
        table = dict(zip(self.names, scores.max(axis=1).tolist(), strict=True))
        named = dict(zip(self.names, _is_named(scores).tolist(), strict=True))
        palette = self._palette(text, vectors[:-1], weights, seed, _worn(parts, scores, self.names))
        place, fit = _place(table)
        chosen = _compose(self._grounded(_turned(_lit(table, palette.dark), turn), named, place), named, place, fit)
        figure = self._figure({name: fit for name, fit in table.items() if named[name]}, vectors[-1], subject, place)
        views = vistas(chosen, figure, table, place)
        view = views[setting % len(views)]
        if turn % 4 in _BESIDE:
            view = beside(view, figure, table, place, _BESIDE[turn % 4])
        cast = zlib.crc32(f"{seed}|{subject or figure}".encode())
        return Look(view, figure, palette, tuple(round(table[name], 3) for name in view), cast)

    def _fits(self, vectors: Doubles) -> Doubles:
        """How well each element fits each vector: by its description as a whole, and by the phrase of it that fits best."""
        best = np.full((len(self.names), len(vectors)), -1.0)
        np.maximum.at(best, self.owners, self.phrases @ vectors.T)
        return np.asarray(_WHOLE * (self.vectors @ vectors.T) + (1 - _WHOLE) * best)

    def _grounded(self, table: dict[str, float], named: dict[str, bool], place: str) -> dict[str, float]:
        """The fit of elements, with grounds that go with what stands on them where the words say little about the ground."""
        if _best(table, "ground", (place,))[1] > _UNSAID:
            return table
        standing = [name for name in table if ELEMENTS[name].kind in ("far", "thing") and named[name] and table[name] > _WANTED["thing"]]
        if not standing:
            return table
        rows = [self.names.index(name) for name in standing]
        grounds = [name for name in table if ELEMENTS[name].kind == "ground"]
        alike = {name: float((self.vectors[rows] @ self.vectors[self.names.index(name)]).max()) for name in grounds}
        kin = {name: _KINSHIP * likeness - (0.0 if named[name] else _RIVAL) for name, likeness in alike.items()}
        return {name: fit + kin.get(name, 0.0) for name, fit in table.items()}

    def _figure(self, table: dict[str, float], subject: Doubles, named: str | None, place: str) -> str:
        if named is not None:
            near = dict(zip(self.names, self._fits(subject[None])[:, 0].tolist(), strict=True))
            return _best(near, "figure", ())[0]
        best, fit = _best(table, "figure", (place,))
        return best if fit > _FIGURE else ""

    def _palette(self, text: str, vectors: Doubles, weights: Doubles, seed: int, worn: frozenset[str]) -> Palette:
        scores = (self.palette_vectors @ vectors.T * weights).max(axis=1) + 0.5 * (self.palette_vectors @ vectors[0])
        first, second = (self.palettes[at] for at in np.argsort(-scores, kind="stable")[:2])
        ranked = np.sort(scores)[::-1]
        share = float(np.clip(0.4 - (ranked[0] - ranked[1]) * 2.0, 0.0, 0.4))
        return palette_for(text, PALETTES[first], PALETTES[second], share, seed, worn)


#: how alike words and descriptions must be for an element that is not needed
_WANTED: dict[Kind, float] = {"far": 0.34, "thing": 0.36, "weather": 0.35, "front": 0.33}
_FIGURE = 0.33
#: what a description counts for as a whole, against its best phrase
_WHOLE = 0.5
#: how much worse than the best an element may fit a part of a text that names it
_RIVAL = 0.1
_AIR: tuple[Kind, ...] = ("weather", "front")
#: kinds that vary from scene to scene, among elements that fit this much less than the best
_VARIED: tuple[Kind, ...] = ("sky", "thing", "field")
_CLOSE = 0.13
#: in which of four turns something more of the same world is seen
_BESIDE: dict[int, Kind] = {1: "thing", 2: "front", 3: "thing"}
#: a field takes the place of sky and ground when it fits better than any place by this much, or when no place fits at all
_ABSTRACT, _VAGUE = 0.06, 0.2
#: above this, words name a field, or something in the air, plainly
_PLAINLY = 0.5
#: above this, words name a thing well enough for a place where it does not belong
_STRANGE = 0.4
#: below this, words say little about the ground: it goes with what stands on it, by this share of how alike their descriptions are
_UNSAID, _KINSHIP = 0.42, 0.6
#: Skies by the time of day that they show: they fit a dark palette, or a light one.
_NIGHT = frozenset({"starry night", "full moon", "northern lights", "galaxy"})
_DAY = frozenset({"noon sun", "dawn", "drifting clouds", "sunset"})
_DAWN, _NOON, _DUSK = frozenset({"dawn", "fog"}), frozenset({"noon sun", "drifting clouds"}), frozenset({"sunset"})


def open_library(embed: Embed) -> Library:
    """The library, with its descriptions embedded once."""
    names, palettes = tuple(ELEMENTS), tuple(PALETTES)
    phrases = [(phrase.strip(), owner) for owner, name in enumerate(names) for phrase in ELEMENTS[name].words.split(",")]
    texts = [*(ELEMENTS[name].words for name in names), *(phrase for phrase, _ in phrases), *(PALETTES[name].words for name in palettes)]
    vectors = np.asarray(embed(texts), dtype=np.float64)
    ends = len(names), len(names) + len(phrases)
    owners = np.array([owner for _, owner in phrases])
    return Library(embed, names, vectors[: ends[0]], vectors[ends[0] : ends[1]], owners, palettes, vectors[ends[1] :])


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


def _worn(parts: Sequence[tuple[str, float]], scores: Doubles, names: Sequence[str]) -> frozenset[str]:
    """The colour words that belong to a figure: those in a part of the text that a figure fits best."""
    worn: set[str] = set()
    for (part, _), fits in list(zip(parts, scores.T, strict=True))[1:]:
        if ELEMENTS[names[int(fits.argmax())]].kind == "figure" and fits.max() > _FIGURE:
            worn |= COLOUR_WORDS & set(re.findall(r"[a-z]+", part.lower()))
    return frozenset(worn)


def _is_named(scores: Doubles) -> npt.NDArray[np.bool_]:
    """Whether some part of a text names each element: no other element fits that part much better.

    "northern lights" resembles "neon signs and glowing lights" as well; who says the one does not mean the other.
    """
    return np.asarray((scores > scores.max(axis=0) - _RIVAL).any(axis=1))


def _turned(table: dict[str, float], turn: int) -> dict[str, float]:
    """The fit of elements, with those of a kind that are close to the best one taking turns."""
    turned = dict(table)
    for kind in _VARIED:
        ranked = sorted((name for name in table if ELEMENTS[name].kind == kind), key=lambda name: -table[name])
        close = [name for name in ranked if table[name] > max(table[ranked[0]] - _CLOSE, 0.22) and _same_hour(name, ranked[0], table)]
        if len(close) > 1:
            turned[close[turn % len(close)]] = table[ranked[0]] + 0.01
    return turned


def _same_hour(name: str, best: str, table: dict[str, float]) -> bool:
    """Whether a sky can take the place of the best one: where the words name a time of day, another time cannot."""
    hours = [hours for hours in (_NIGHT, _DAWN, _NOON, _DUSK) if best in hours]
    return not hours or table[best] < _PLAINLY or name in hours[0]


def _best(table: dict[str, float], kind: Kind, places: Sequence[str]) -> tuple[str, float]:
    """The element of a kind that fits best, and how well; those that cannot be at the place are left out."""
    fitting = [name for name in table if ELEMENTS[name].kind == kind and _fits(ELEMENTS[name], places)]
    if not fitting:
        return "", 0.0
    name = max(fitting, key=lambda name: table[name])
    return name, table[name]


def _fits(found: Element, places: Sequence[str]) -> bool:
    return not found.places or not places or any(place in places for place in found.places)


def _may_be(name: str, table: dict[str, float], places: Sequence[str]) -> bool:
    """Whether a thing can be at a place: where it belongs, or anywhere when the words name it plainly, as fish in a subway."""
    return table[name] > _STRANGE or _fits(ELEMENTS[name], places)


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


def _lit(table: dict[str, float], dark: bool) -> dict[str, float]:
    """The fit of elements, with skies that go with the brightness of the palette preferred."""
    ours, theirs = (_NIGHT, _DAY) if dark else (_DAY, _NIGHT)
    return {name: value + (0.12 if name in ours else -0.15 if name in theirs else 0.0) for name, value in table.items()}


def _compose(table: dict[str, float], named: dict[str, bool], place: str, fit: float) -> list[str]:
    """The elements of a scene, from back to front."""
    field_, strength = _best(table, "field", ())
    if strength > fit + _ABSTRACT or fit < _VAGUE or strength > max(fit, _PLAINLY):
        extra, value = _best({name: table[name] for name in table if named[name]}, "weather", ())
        thing, worth = _best({name: table[name] for name in table if named[name]}, "thing", ())
        return [field_, *([thing] if worth > _WANTED["thing"] else []), *([extra] if value > _WANTED["weather"] else [])]
    places = (place,)
    chosen = [_best(table, "sky", places)[0]]
    far, far_fit = _best(table, "far", places)
    ground, ground_fit = _best(table, "ground", places)
    if far and far_fit > _WANTED["far"] and far_fit > ground_fit - 0.2:
        chosen.append(far)
    chosen.append("plain floor" if chosen[0] == "studio backdrop" else ground)
    things = sorted(
        (name for name in table if ELEMENTS[name].kind == "thing" and named[name] and _fits(ELEMENTS[name], places)),
        key=lambda name: -table[name],
    )
    chosen += [name for name in things[:2] if table[name] > max(_WANTED["thing"], table[things[0]] - 0.15)]
    for kind in _AIR:
        name, value = _best({name: table[name] for name in table if named[name]}, kind, places)
        anywhere, plainly = _best(table, kind, ())
        if plainly > _PLAINLY:
            name, value = anywhere, plainly
        if name and value > _WANTED[kind]:
            chosen.append(name)
    return chosen
