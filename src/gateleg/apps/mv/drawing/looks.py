"""From words to a look: which elements, which colours, chosen by what a sentence means."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gateleg.apps.mv.drawing import elements as _all_elements
from gateleg.apps.mv.drawing.catalogue import ELEMENTS, Element, Kind
from gateleg.apps.mv.drawing.palettes import COLOUR_WORDS, PALETTES, Palette, palette_for
from gateleg.apps.mv.drawing.reading import PEOPLE, parse_sentence, stem
from gateleg.apps.mv.drawing.vistas import beside, vistas

if TYPE_CHECKING:
    from gateleg.apps.mv.listening.sound import Doubles

__all__ = ["Embed", "Library", "Look", "cast_of", "open_library"]

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
    #: a second figure beside the first, where the words name two; empty otherwise
    companion: str = ""


@dataclass(frozen=True, slots=True)
class _Name:
    """A word or a few that may name elements: of which kinds, and whether only those whose description has the word."""

    text: str
    stem: str
    weight: float
    kinds: tuple[Kind, ...]
    only_said: bool = False
    #: whether the noun is in the plural
    plural: bool = False


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
    #: the words that each description says: nouns in its phrases, and deeds that are phrases of their own
    said: tuple[frozenset[str], ...]
    #: the vectors of what a noun may mean, a person first
    senses: Doubles

    def choose(self, text: str, seed: int = 0, subject: str | None = None, turn: int = 0, setting: int = 0) -> Look:
        """The look of a text. `subject` describes who or what is to be seen; without it, a figure is drawn only when the text names one.

        Scenes of one video differ by their `turn`: where several elements fit nearly equally well, each turn takes another one. Parts of
        a video differ by their `setting`: each is another view of the world that the words name.
        """
        parts, names = _parts(text), _names(text, frozenset().union(*self.said))
        texts = [*(part for part, _ in parts), *(name.text for name in names), subject or text]
        vectors = np.asarray(self.embed(texts), dtype=np.float64)
        weights = np.array([weight for _, weight in parts])
        scores = self._fits(vectors[: len(parts)]) * weights
        naming = self._naming(names, vectors[len(parts) : -1])
        palette = self._palette(text, vectors[: len(parts)], weights, seed, _worn(parts, scores, self.names))
        by_name = dict(zip(self.names, naming.max(axis=1, initial=0.0).tolist(), strict=True))
        by_part = dict(zip(self.names, scores.max(axis=1).tolist(), strict=True))
        table = {name: max(by_name[name], by_part[name] if ELEMENTS[name].kind in _SCENERY else 0.0) for name in self.names}
        named = {name: fit > _NAMED for name, fit in by_name.items()}
        place, fit = _place(table)
        figure, companion = (
            (self._figure_of(subject, vectors[-1]), "") if subject is not None else self._figures(names, naming, vectors[len(parts) : -1])
        )
        told = any(fit > _NAMED + _SAID for name, fit in by_name.items() if ELEMENTS[name].kind in ("far", "ground"))
        if not told and any(self._sense(name, naming[:, at], vectors[len(parts) + at]) == _PLACE for at, name in enumerate(names)):
            # Somewhere without an element, such as the name of a town: what is nearest to the whole.
            named |= {name: True for name, fit in table.items() if ELEMENTS[name].kind == "far" and fit > _NEARBY}
        grounded = self._grounded(_turned(_lit(table, palette.dark), turn), named, place)
        views = vistas(_compose(grounded, named, place, fit, bool(figure)), figure, table, place)
        view = views[setting % len(views)]
        if turn % 4 in _BESIDE:
            view = beside(view, figure, by_part, place, _BESIDE[turn % 4])
        scores_of_view = tuple(round(table[name], 3) for name in view)
        return Look(view, figure, palette, scores_of_view, cast_of(seed, subject or figure), companion)

    def _naming(self, names: Sequence[_Name], vectors: Doubles) -> Doubles:
        """How well each word names each element: 0 unless no other element fits it much better.

        "northern lights" resembles "neon signs and glowing lights" as well; who says the one does not mean the other.
        """
        if not names:
            return np.zeros((len(self.names), 1))
        fits = self._fits(vectors)
        said = np.array([[name.stem in self.said[owner] for name in names] for owner in range(len(self.names))])
        fits = fits + _SAID * said
        fits[~said & np.array([name.only_said for name in names])] = 0.0
        allowed = np.array([[ELEMENTS[element].kind in name.kinds for name in names] for element in self.names])
        fits[~allowed] = 0.0
        close = (fits > fits.max(axis=0) - _RIVAL) | said
        return np.asarray(fits * close * np.array([name.weight for name in names]))

    def _fits(self, vectors: Doubles) -> Doubles:
        """How well each element fits each vector: by its description as a whole, and by the phrase of it that fits best."""
        best = np.full((len(self.names), len(vectors)), -1.0)
        np.maximum.at(best, self.owners, self.phrases @ vectors.T)
        return np.asarray(_WHOLE * (self.vectors @ vectors.T) + (1 - _WHOLE) * best)

    def _grounded(self, table: dict[str, float], named: dict[str, bool], place: str) -> dict[str, float]:
        """The fit of elements, with grounds that go with what stands on them where the words say little about the ground."""
        if any(named[name] for name in table if ELEMENTS[name].kind == "ground" and _fits(ELEMENTS[name], (place,))):
            return table
        standing = [name for name in table if ELEMENTS[name].kind in ("far", "thing") and named[name]]
        if not standing:
            return table
        rows = [self.names.index(name) for name in standing]
        grounds = [name for name in table if ELEMENTS[name].kind == "ground"]
        alike = {name: float((self.vectors[rows] @ self.vectors[self.names.index(name)]).max()) for name in grounds}
        kin = {name: _KINSHIP * likeness for name, likeness in alike.items()}
        return {name: fit + kin.get(name, 0.0) for name, fit in table.items()}

    def _figure_of(self, subject: str, vector: Doubles) -> str:
        """The figure for a subject that was described."""
        (said,) = self._naming([_Name(subject, stem(subject.split()[-1]) if subject.split() else "", 1.0, ("figure",))], vector[None]).T
        return self.names[int(said.argmax())]

    def _figures(self, names: Sequence[_Name], naming: Doubles, vectors: Doubles) -> tuple[str, str]:
        """The figure that a text names first, and a second one beside it; empty where there is none.

        A word that names no element, but means a person, is drawn as somebody. The second figure must be named by a word of its
        description ("a girl and her dog"), or the first one be named in the plural ("two foxes").
        """
        figures = np.array([ELEMENTS[name].kind == "figure" for name in self.names])
        first = ""
        for at, name in enumerate(names):
            best = int(np.where(figures, naming[:, at], 0.0).argmax())
            if first:
                if name.weight == 1.0 and not name.only_said and naming[best, at] > _NAMED and name.stem in self.said[best]:
                    other = self.names[best]
                    if other != first and other not in _GROUPS | _ALONE:
                        return first, other
            elif naming[best, at] > _NAMED:
                first = self.names[best]
                if first in _GROUPS:
                    return first, ""
                if name.plural and first not in _ALONE:
                    return first, first
            elif name.weight == 1.0 and self._sense(name, naming[:, at], vectors[at]) == _PERSON:
                people = np.array([element in _SOMEBODY for element in self.names])
                first = self.names[int(np.where(people, self._fits(vectors[at : at + 1])[:, 0], -1.0).argmax())]
        return first, ""

    def _sense(self, name: _Name, named: Doubles, vector: Doubles) -> int | None:
        """What a word means that names no element; None for one that does."""
        return None if name.only_said or (named > _NAMED).any() else int((self.senses @ vector).argmax())

    def _palette(self, text: str, vectors: Doubles, weights: Doubles, seed: int, worn: frozenset[str]) -> Palette:
        scores = (self.palette_vectors @ vectors.T * weights).max(axis=1) + 0.5 * (self.palette_vectors @ vectors[0])
        first, second = (self.palettes[at] for at in np.argsort(-scores, kind="stable")[:2])
        ranked = np.sort(scores)[::-1]
        share = float(np.clip(0.4 - (ranked[0] - ranked[1]) * 2.0, 0.0, 0.4))
        return palette_for(text, PALETTES[first], PALETTES[second], share, seed, worn)


_KINDS: tuple[Kind, ...] = ("sky", "far", "ground", "thing", "weather", "front", "field", "figure")
#: kinds that a text may choose as a whole; others are seen when a word names them
_SCENERY: tuple[Kind, ...] = ("sky", "far", "ground", "field")
#: how alike a word and a description must be for the word to name the element, and what it counts that the description has the word
_NAMED, _SAID = 0.52, 0.25
#: what the nouns of sentences behind the first count: they may speak of light and mood
_LATER = 0.6
#: what a noun may mean, and the figures that stand for anybody
_SENSES = (
    "a person, somebody who does something, a profession",
    "an animal",
    "a thing, an object",
    "a place",
    "a feeling, an idea",
    "weather, the sky",
)
_PERSON, _PLACE = 0, 3
_SOMEBODY = frozenset({"walking person", "woman", "child", "couple"})
#: figures that are more than one already, and those that do not stand beside another: what somebody holds, wears or plays
_GROUPS = frozenset({"couple", "dancers"})
_ALONE = frozenset({"guitarist", "ghost", "bottle", "sneaker"})
#: how alike a text and what is far away must be where the text names a place that has no element
_NEARBY = 0.34
#: how alike words and descriptions must be for an element that is not needed
_WANTED: dict[Kind, float] = {"weather": 0.35, "front": 0.33}
_FIGURE = 0.33
#: what a description counts for as a whole, against its best phrase
_WHOLE = 0.5
#: how much worse than the best an element may fit a part of a text that names it
_RIVAL = 0.1
_AIR: tuple[Kind, ...] = ("weather", "front")
#: kinds that vary from scene to scene, among elements that fit this much less than the best
_VARIED: tuple[Kind, ...] = ("sky", "field")
_CLOSE = 0.13
#: in which of four turns something more of the same world is seen
_BESIDE: dict[int, Kind] = {1: "thing", 2: "front", 3: "thing"}
#: a field takes the place of sky and ground when it fits better than any place by this much, or when no place fits at all
_ABSTRACT, _VAGUE = 0.06, 0.3
#: above this, words name a field, or something in the air, plainly
_PLAINLY = 0.5
#: above this, words name a thing well enough for a place where it does not belong
_STRANGE = 0.5
#: a ground that no word names goes with what stands on it, by this share of how alike their descriptions are
_KINSHIP = 0.6
#: Skies by the time of day that they show: they fit a dark palette, or a light one.
_NIGHT = frozenset({"starry night", "full moon", "northern lights", "galaxy"})
_DAY = frozenset({"noon sun", "dawn", "drifting clouds", "sunset"})
_DAWN, _NOON, _DUSK = frozenset({"dawn", "fog"}), frozenset({"noon sun", "drifting clouds"}), frozenset({"sunset"})


def cast_of(seed: int, who: str) -> int:
    """Who is seen in a video with this seed, of all who answer to a description."""
    return zlib.crc32(f"{seed}|{who}".encode())


def open_library(embed: Embed) -> Library:
    """The library, with its descriptions embedded once."""
    names, palettes = tuple(ELEMENTS), tuple(PALETTES)
    phrases = [(phrase, owner) for owner, name in enumerate(names) for phrase in _phrases(ELEMENTS[name])]
    texts = [
        *(ELEMENTS[name].words for name in names),
        *(phrase for phrase, _ in phrases),
        *(PALETTES[name].words for name in palettes),
        *_SENSES,
    ]
    vectors = np.asarray(embed(texts), dtype=np.float64)
    ends = len(names), len(names) + len(phrases), len(names) + len(phrases) + len(palettes)
    owners = np.array([owner for _, owner in phrases])
    said = tuple(_said(_phrases(ELEMENTS[name])) for name in names)
    kept = vectors[: ends[0]], vectors[ends[0] : ends[1]], vectors[ends[1] : ends[2]], vectors[ends[2] :]
    return Library(embed, names, kept[0], kept[1], owners, palettes, kept[2], said, kept[3])


def _phrases(found: Element) -> list[str]:
    return [phrase.strip() for phrase in f"{found.words},{found.also}".split(",") if phrase.strip()]


def _said(phrases: Sequence[str]) -> frozenset[str]:
    """The nouns of a description, without those that say where something is; and deeds, where a phrase is nothing else."""
    found: set[str] = set()
    for phrase in phrases:
        for term, noun in parse_sentence(_PLACED.split(phrase)[0]).nouns:
            found |= {stem(noun), _term(term)}
        if phrase.endswith("ing") and " " not in phrase:
            found.add(phrase)
    return frozenset(found)


def _term(phrase: str) -> str:
    return " ".join(stem(word) for word in phrase.split())


def _names(text: str, terms: Collection[str]) -> list[_Name]:
    """What in a text may name something to be seen: its nouns with what describes them, and deeds.

    Words that make a term together ("northern lights") name nothing alone.
    """
    sentences = _sentences(text)
    names: list[_Name] = []
    for number, sentence in enumerate(sentences[:6]):
        reading, weight = parse_sentence(sentence), 1.0 if number == 0 else _LATER
        # A deed shows a figure only where a pronoun says no more: "we danced".
        vague = any(noun in PEOPLE for _, noun in reading.nouns)
        names += [_Name(verb, verb, weight, _KINDS if vague else _KINDS[:-1], only_said=True) for verb in reading.verbs]
        for phrase, noun in reading.nouns:
            kinds: tuple[Kind, ...] = ("figure",) if noun in PEOPLE else _KINDS
            if phrase != noun and _term(phrase) in terms:
                names.append(_Name(phrase, _term(phrase), weight, kinds))
                continue
            names.append(_Name(noun, stem(noun), weight, kinds, plural=stem(noun) != noun))
            if phrase != noun:
                names.append(_Name(phrase, stem(noun), weight, kinds))
                names += [_Name(word, stem(word), 0.9 * weight, kinds, only_said=True) for word in phrase.split()[:-1]]
    return names


#: where a description begins to say where something is, or what it is like
_PLACED = re.compile(r"\b(?:in|on|at|from|by|with|over|into|close|through|across|that|to|for)\b")


_BREAKS = re.compile(
    r"\b(?:in|on|at|through|under|over|into|across|along|by|with|and|until|between|from|near|behind|beneath|above|around|to)\b|,"
)


def _parts(text: str) -> list[tuple[str, float]]:
    """A text and the pieces of it, each with its weight: sentences, and what stands between prepositions and commas."""
    sentences = [parse_sentence(sentence).plain or sentence for sentence in _sentences(text)]
    pieces = [piece.strip() for piece in _BREAKS.split(sentences[0])]
    parts = [(sentences[0], 1.0), *((piece, 0.92) for piece in pieces if piece.lower() not in ("", "a", "the"))]
    parts += [(sentence, 0.8 if sentence is sentences[-1] else 0.6) for sentence in sentences[1:6]]
    return parts


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"[.!?;]+", text) if part.strip()] or [text or "nothing"]


def _worn(parts: Sequence[tuple[str, float]], scores: Doubles, names: Sequence[str]) -> frozenset[str]:
    """The colour words that belong to a figure: those in a part of the text that a figure fits best."""
    worn: set[str] = set()
    for (part, _), fits in list(zip(parts, scores.T, strict=True))[1:]:
        if ELEMENTS[names[int(fits.argmax())]].kind == "figure" and fits.max() > _FIGURE:
            worn |= COLOUR_WORDS & set(re.findall(r"[a-z]+", part.lower()))
    return frozenset(worn)


def _lit(table: dict[str, float], dark: bool) -> dict[str, float]:
    """The fit of elements, with skies that suit the light of the palette."""
    suits, unlike = (_NIGHT, _DAY) if dark else (_DAY, _NIGHT)
    return {name: fit + (0.12 if name in suits else -0.15 if name in unlike else 0.0) for name, fit in table.items()}


def _turned(table: dict[str, float], turn: int) -> dict[str, float]:
    """The fit of elements, with those of a kind that are close to the best one taking turns."""
    turned = dict(table)
    for kind in _VARIED:
        ranked = sorted((name for name in table if ELEMENTS[name].kind == kind), key=lambda name: -table[name])
        # What a word names does not give way to what nothing names.
        least = max(table[ranked[0]] - _CLOSE, _NAMED if table[ranked[0]] > _NAMED + _SAID else 0.22)
        close = [name for name in ranked if table[name] > least and _same_hour(name, ranked[0], table)]
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


def _things(table: dict[str, float], named: dict[str, bool], places: Sequence[str]) -> list[str]:
    """The things that words name, at most three; those that fit best are nearest."""
    things = [name for name in table if ELEMENTS[name].kind == "thing" and named[name] and _may_be(name, table, places)]
    return sorted(things, key=lambda name: table[name])[-3:]


def _compose(table: dict[str, float], named: dict[str, bool], place: str, fit: float, somebody: bool) -> list[str]:
    """The elements of a scene, from back to front."""
    field_, strength = _best(table, "field", ())
    somewhere = any(named[name] for name in table if ELEMENTS[name].kind in ("sky", "far", "ground"))
    if not somewhere and somebody and not named[field_] and fit < _VAGUE:
        return ["studio backdrop", "plain floor", *_things(table, named, ())]
    if not somewhere and (named[field_] or fit < _VAGUE or strength > fit + _ABSTRACT):
        extra, value = _best({name: table[name] for name in table if named[name]}, "weather", ())
        return [field_, *_things(table, named, ()), *([extra] if value > _WANTED["weather"] else [])]
    places = (place,)
    chosen = [_best(table, "sky", places)[0]]
    far, _ = _best(table, "far", places)
    ground, _ = _best(table, "ground", places)
    if far and named[far]:
        chosen.append(far)
    chosen.append("plain floor" if chosen[0] == "studio backdrop" else ground)
    chosen += _things(table, named, places)
    for kind in _AIR:
        name, value = _best({name: table[name] for name in table if named[name]}, kind, places)
        anywhere, plainly = _best(table, kind, ())
        if plainly > _PLAINLY:
            name, value = anywhere, plainly
        if name and value > _WANTED[kind]:
            chosen.append(name)
    return chosen
