"""Choose the look of a scene: the elements and colours that match the meaning of its text."""

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
from gateleg.apps.mv.drawing.sentences import PEOPLE, Vocabulary, parse_sentence, stem
from gateleg.apps.mv.drawing.world_views import with_addition, world_views

if TYPE_CHECKING:
    from gateleg.apps.mv.listening.sound import Doubles

__all__ = ["Embed", "Library", "Look", "cast_of", "open_library"]

assert _all_elements
#: Embeds texts as unit vectors, one row each: `Embeddings.embed` of `gateleg.ai`.
Embed = Callable[[Sequence[str]], Any]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Look:
    """The contents of a scene: names of elements in drawing order, and colours."""

    elements: tuple[str, ...]
    #: the figure that represents the subject if no picture is given, or empty
    figure: str
    palette: Palette
    #: the score of each chosen element
    scores: tuple[float, ...] = ()
    #: selects the appearance of the figure; the same in all scenes of a video
    cast: int = 0
    #: a second figure beside the first if the text names two, or empty
    companion: str = ""
    #: the figure that represents the product if no picture of it is given, or empty
    product: str = ""


@dataclass(frozen=True, slots=True)
class _Name:
    """A word or phrase that may name elements of some kinds; with `only_said`, only elements whose description contains it."""

    text: str
    stem: str
    weight: float
    kinds: tuple[Kind, ...]
    only_said: bool = False
    #: whether the noun is plural
    plural: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """The elements and palettes with the vectors of their descriptions."""

    embed: Embed
    names: tuple[str, ...]
    vectors: Doubles
    #: the vectors of the phrases of all descriptions, and the index of the element of each
    phrases: Doubles
    owners: Ints
    palettes: tuple[str, ...]
    palette_vectors: Doubles
    #: the words in each description: nouns, and verbs that are phrases on their own
    said: tuple[frozenset[str], ...]
    #: the vectors of `_SENSES`
    senses: Doubles
    vocabulary: Vocabulary

    def choose(self, text: str, seed: int = 0, subject: str | None = None, turn: int = 0, setting: int = 0) -> Look:
        """Choose the look of a text. `subject` describes the main figure; without it, a figure is drawn only if the text names one.

        `turn` numbers the scenes of a video: if several elements fit almost equally well, each turn takes another one. `setting` numbers
        the settings of a video: each is another view of the same world.
        """
        parts, names = _parts(text, self.vocabulary), _names(text, frozenset().union(*self.said), self.vocabulary)
        texts = [*(part for part, _ in parts), *(name.text for name in names), subject or text]
        vectors = np.asarray(self.embed(texts), dtype=np.float64)
        weights = np.array([weight for _, weight in parts])
        scores = self._fits(vectors[: len(parts)]) * weights
        naming = self._naming(names, vectors[len(parts) : -1])
        palette = self._palette(text, vectors[: len(parts)], weights, seed, _figure_colours(parts, scores, self.names))
        by_name = dict(zip(self.names, naming.max(axis=1, initial=0.0).tolist(), strict=True))
        by_part = dict(zip(self.names, scores.max(axis=1).tolist(), strict=True))
        table = {name: max(by_name[name], by_part[name] if ELEMENTS[name].kind in _SCENERY else 0.0) for name in self.names}
        named = {name: fit > _NAMED for name, fit in by_name.items()}
        place, fit = _place(table)
        figure, companion = (
            (self._figure_of(subject, vectors[-1]), "") if subject is not None else self._figures(names, naming, vectors[len(parts) : -1])
        )
        names_place = any(fit > _NAMED + _SAID_BONUS for name, fit in by_name.items() if ELEMENTS[name].kind in ("far", "ground"))
        if not names_place and any(self._sense(name, naming[:, at], vectors[len(parts) + at]) == _PLACE for at, name in enumerate(names)):
            # The text names a place without an element, such as a town: use the far elements nearest to the whole text.
            named |= {name: True for name, fit in table.items() if ELEMENTS[name].kind == "far" and fit > _MIN_FAR_SCORE}
        grounded = self._grounded(_take_turns(_favour_light(table, palette.dark), turn), named, place)
        views = world_views(_compose(grounded, named, place, fit, bool(figure)), figure, table, place)
        view = views[setting % len(views)]
        if turn % 4 in _ADDED_KINDS:
            view = with_addition(view, figure, by_part, place, _ADDED_KINDS[turn % 4])
        scores_of_view = tuple(round(table[name], 3) for name in view)
        return Look(view, figure, palette, scores_of_view, cast_of(seed, subject or figure), companion)

    def product_figure(self, description: str) -> str:
        """The figure that represents a product; empty if no figure is what the description says."""
        vector = np.asarray(self.embed([description]), dtype=np.float64)[0]
        named = self._naming([_Name(description, stem(description.split()[-1]), 1.0, ("figure",))], vector[None])[:, 0]
        return self.names[int(named.argmax())] if named.max() > _NAMED else ""

    def _naming(self, names: Sequence[_Name], vectors: Doubles) -> Doubles:
        """How well each word names each element; 0 if another element fits the word much better.

        "northern lights" also resembles "neon signs and glowing lights", but only the best match counts.
        """
        if not names:
            return np.zeros((len(self.names), 1))
        fits = self._fits(vectors)
        said = np.array([[name.stem in self.said[owner] for name in names] for owner in range(len(self.names))])
        fits = fits + _SAID_BONUS * said
        fits[~said & np.array([name.only_said for name in names])] = 0.0
        allowed = np.array([[ELEMENTS[element].kind in name.kinds for name in names] for element in self.names])
        fits[~allowed] = 0.0
        close = (fits > fits.max(axis=0) - _RIVAL_MARGIN) | said
        return np.asarray(fits * close * np.array([name.weight for name in names]))

    def _fits(self, vectors: Doubles) -> Doubles:
        """How well each element fits each vector: by its whole description and by its best phrase."""
        best = np.full((len(self.names), len(vectors)), -1.0)
        np.maximum.at(best, self.owners, self.phrases @ vectors.T)
        return np.asarray(_WHOLE_WEIGHT * (self.vectors @ vectors.T) + (1 - _WHOLE_WEIGHT) * best)

    def _grounded(self, table: dict[str, float], named: dict[str, bool], place: str) -> dict[str, float]:
        """The scores of elements, with a bonus for grounds that suit the named objects if the text names no ground."""
        if any(named[name] for name in table if ELEMENTS[name].kind == "ground" and _fits(ELEMENTS[name], (place,))):
            return table
        standing = [name for name in table if ELEMENTS[name].kind in ("far", "thing") and named[name]]
        if not standing:
            return table
        rows = [self.names.index(name) for name in standing]
        grounds = [name for name in table if ELEMENTS[name].kind == "ground"]
        alike = {name: float((self.vectors[rows] @ self.vectors[self.names.index(name)]).max()) for name in grounds}
        kin = {name: _KINSHIP_WEIGHT * likeness for name, likeness in alike.items()}
        return {name: fit + kin.get(name, 0.0) for name, fit in table.items()}

    def _figure_of(self, subject: str, vector: Doubles) -> str:
        """The figure that fits the description of a subject best."""
        (said,) = self._naming([_Name(subject, stem(subject.split()[-1]) if subject.split() else "", 1.0, ("figure",))], vector[None]).T
        return self.names[int(said.argmax())]

    def _figures(self, names: Sequence[_Name], naming: Doubles, vectors: Doubles) -> tuple[str, str]:
        """The figure that a text names first, and a second one; each may be empty.

        A word that means a person but names no element is drawn as a generic person. The second figure must be named by a word of its
        description ("two girls and their dog"). Failing that, a first figure in the plural is drawn twice ("two foxes").
        """
        figures = np.array([ELEMENTS[name].kind == "figure" for name in self.names])
        first, double = "", ""
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
                double = first if name.plural and first not in _ALONE else ""
            elif name.weight == 1.0 and self._sense(name, naming[:, at], vectors[at]) == _PERSON:
                people = np.array([element in _GENERIC_PEOPLE for element in self.names])
                first = self.names[int(np.where(people, self._fits(vectors[at : at + 1])[:, 0], -1.0).argmax())]
        return first, double

    def _sense(self, name: _Name, named: Doubles, vector: Doubles) -> int | None:
        """The index in `_SENSES` of a word that names no element; None if it names one."""
        return None if name.only_said or (named > _NAMED).any() else int((self.senses @ vector).argmax())

    def _palette(self, text: str, vectors: Doubles, weights: Doubles, seed: int, worn: frozenset[str]) -> Palette:
        scores = (self.palette_vectors @ vectors.T * weights).max(axis=1) + 0.5 * (self.palette_vectors @ vectors[0])
        first, second = (self.palettes[at] for at in np.argsort(-scores, kind="stable")[:2])
        ranked = np.sort(scores)[::-1]
        share = float(np.clip(0.4 - (ranked[0] - ranked[1]) * 2.0, 0.0, 0.4))
        return palette_for(text, PALETTES[first], PALETTES[second], share, seed, worn)


_KINDS: tuple[Kind, ...] = ("sky", "far", "ground", "thing", "weather", "front", "field", "figure")
#: kinds that the text as a whole may choose; elements of other kinds must be named by a word
_SCENERY: tuple[Kind, ...] = ("sky", "far", "ground", "field")
#: the similarity of word and description above which the word names the element, and the bonus if the description contains the word
_NAMED, _SAID_BONUS = 0.52, 0.25
#: the weight of nouns after the first sentence; they are often about light and mood
_LATER_WEIGHT = 0.6
#: what a noun may mean, and the figures for a generic person
_SENSES = (
    "a person, somebody who does something, a profession",
    "an animal",
    "a thing, an object",
    "a place",
    "a feeling, an idea",
    "weather, the sky",
)
_PERSON, _PLACE = 0, 3
_GENERIC_PEOPLE = frozenset({"walking person", "woman", "child", "couple"})
#: figures that are groups already, and figures that are never drawn as a second one
_GROUPS = frozenset({"couple", "dancers"})
_ALONE = frozenset({"guitarist", "ghost", "bottle", "sneaker"})
#: the minimum score of a far element if the text names a place without an element
_MIN_FAR_SCORE = 0.34
#: the minimum score of optional elements
_MIN_SCORES: dict[Kind, float] = {"weather": 0.35, "front": 0.33}
_MIN_FIGURE_SCORE = 0.33
#: the weight of a whole description, against its best phrase
_WHOLE_WEIGHT = 0.5
#: how much lower than the best element another one may score for the same word
_RIVAL_MARGIN = 0.1
_OPTIONAL_KINDS: tuple[Kind, ...] = ("weather", "front")
#: kinds that vary between scenes, and how much lower than the best an alternative may score
_VARIED_KINDS: tuple[Kind, ...] = ("sky", "field")
_VARIED_MARGIN = 0.13
#: the kind of element of the same world that is added in some of every four turns
_ADDED_KINDS: dict[int, Kind] = {1: "thing", 2: "front", 3: "thing"}
#: a field replaces sky and ground if it scores higher than any place by this much, or if no place scores above the second value
_FIELD_MARGIN, _MIN_PLACE_SCORE = 0.06, 0.3
#: above this score, words plainly name a field or weather
_CLEARLY_NAMED = 0.5
#: above this score, a thing may be in a place where it does not belong
_ANYWHERE = 0.5
#: the weight of the similarity between a ground and the objects on it
_KINSHIP_WEIGHT = 0.6
#: Skies by time of day.
_NIGHT = frozenset({"starry night", "full moon", "northern lights", "galaxy"})
_DAY = frozenset({"noon sun", "dawn", "drifting clouds", "sunset"})
_DAWN, _NOON, _DUSK = frozenset({"dawn", "fog"}), frozenset({"noon sun", "drifting clouds"}), frozenset({"sunset"})


def cast_of(seed: int, who: str) -> int:
    """Selects an appearance of a figure: the same for the same seed and description."""
    return zlib.crc32(f"{seed}|{who}".encode())


def open_library(embed: Embed) -> Library:
    """Create the library; embeds all descriptions once."""
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
    return Library(embed, names, kept[0], kept[1], owners, palettes, kept[2], said, kept[3], _vocabulary(names, said))


def _vocabulary(names: Sequence[str], said: Sequence[frozenset[str]]) -> Vocabulary:
    figures = frozenset().union(*(words for name, words in zip(names, said, strict=True) if ELEMENTS[name].kind == "figure"))
    things = frozenset().union(*(words for name, words in zip(names, said, strict=True) if ELEMENTS[name].kind != "figure"))
    return Vocabulary(figures, things - figures)


def _phrases(found: Element) -> list[str]:
    return [phrase.strip() for phrase in f"{found.words},{found.also}".split(",") if phrase.strip()]


def _said(phrases: Sequence[str]) -> frozenset[str]:
    """The nouns of a description before its first preposition, and verbs that are phrases on their own."""
    found: set[str] = set()
    for phrase in phrases:
        for term, noun in parse_sentence(_PLACED.split(phrase)[0]).nouns:
            found |= {stem(noun), _term(term)}
        if phrase.endswith("ing") and " " not in phrase:
            found.add(phrase)
    return frozenset(found)


def _term(phrase: str) -> str:
    return " ".join(stem(word) for word in phrase.split())


def _names(text: str, terms: Collection[str], vocabulary: Vocabulary) -> list[_Name]:
    """The words of a text that may name elements: nouns, noun phrases and verbs.

    The words of a term ("northern lights") name nothing alone.
    """
    sentences = _sentences(text)
    names: list[_Name] = []
    for number, sentence in enumerate(sentences[:6]):
        reading, weight = parse_sentence(sentence, vocabulary), 1.0 if number == 0 else _LATER_WEIGHT
        # A verb names a figure only if the subject is a pronoun: "we danced".
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


#: prepositions after which a description says where something is
_PLACED = re.compile(r"\b(?:in|on|at|from|by|with|over|into|close|through|across|that|to|for)\b")


_BREAKS = re.compile(
    r"\b(?:in|on|at|through|under|over|into|across|along|by|with|and|until|between|from|near|behind|beneath|above|around|to)\b|,"
)


def _parts(text: str, vocabulary: Vocabulary) -> list[tuple[str, float]]:
    """A text and its parts with their weights: sentences, and phrases between prepositions and commas."""
    sentences = [parse_sentence(sentence, vocabulary).plain or sentence for sentence in _sentences(text)]
    pieces = [piece.strip() for piece in _BREAKS.split(sentences[0])]
    parts = [(sentences[0], 1.0), *((piece, 0.92) for piece in pieces if piece.lower() not in ("", "a", "the"))]
    parts += [(sentence, 0.8 if sentence is sentences[-1] else 0.6) for sentence in sentences[1:6]]
    return parts


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"[.!?;]+", text) if part.strip()] or [text or "nothing"]


def _figure_colours(parts: Sequence[tuple[str, float]], scores: Doubles, names: Sequence[str]) -> frozenset[str]:
    """The colour words that describe a figure, taken from the parts of the text that a figure fits best."""
    worn: set[str] = set()
    for (part, _), fits in list(zip(parts, scores.T, strict=True))[1:]:
        if ELEMENTS[names[int(fits.argmax())]].kind == "figure" and fits.max() > _MIN_FIGURE_SCORE:
            worn |= COLOUR_WORDS & set(re.findall(r"[a-z]+", part.lower()))
    return frozenset(worn)


def _favour_light(table: dict[str, float], dark: bool) -> dict[str, float]:
    """The scores of elements, with a bonus for skies that suit the light of the palette."""
    suits, unlike = (_NIGHT, _DAY) if dark else (_DAY, _NIGHT)
    return {name: fit + (0.12 if name in suits else -0.15 if name in unlike else 0.0) for name, fit in table.items()}


def _take_turns(table: dict[str, float], turn: int) -> dict[str, float]:
    """The scores of elements. Elements that score almost as high as the best of their kind take turns in being the best."""
    turned = dict(table)
    for kind in _VARIED_KINDS:
        ranked = sorted((name for name in table if ELEMENTS[name].kind == kind), key=lambda name: -table[name])
        # A named element is not replaced by an unnamed one.
        least = max(table[ranked[0]] - _VARIED_MARGIN, _NAMED if table[ranked[0]] > _NAMED + _SAID_BONUS else 0.22)
        close = [name for name in ranked if table[name] > least and _same_time_of_day(name, ranked[0], table)]
        if len(close) > 1:
            turned[close[turn % len(close)]] = table[ranked[0]] + 0.01
    return turned


def _same_time_of_day(name: str, best: str, table: dict[str, float]) -> bool:
    """Whether a sky can replace the best one. If the text names a time of day, only a sky of the same time can."""
    hours = [hours for hours in (_NIGHT, _DAWN, _NOON, _DUSK) if best in hours]
    return not hours or table[best] < _CLEARLY_NAMED or name in hours[0]


def _best(table: dict[str, float], kind: Kind, places: Sequence[str]) -> tuple[str, float]:
    """The best element of a kind that can be at one of the places, and its score."""
    fitting = [name for name in table if ELEMENTS[name].kind == kind and _fits(ELEMENTS[name], places)]
    if not fitting:
        return "", 0.0
    name = max(fitting, key=lambda name: table[name])
    return name, table[name]


def _fits(found: Element, places: Sequence[str]) -> bool:
    return not found.places or not places or any(place in places for place in found.places)


def _can_be_at(name: str, table: dict[str, float], places: Sequence[str]) -> bool:
    """Whether a thing can be at a place: it belongs there, or the text names it clearly (fish in a subway)."""
    return table[name] > _ANYWHERE or _fits(ELEMENTS[name], places)


def _place(table: dict[str, float]) -> tuple[str, float]:
    """The place of a scene, whose best elements have the highest scores."""
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
    """The things that the text names, at most three, the best one last, so that it is drawn nearest."""
    things = [name for name in table if ELEMENTS[name].kind == "thing" and named[name] and _can_be_at(name, table, places)]
    return sorted(things, key=lambda name: table[name])[-3:]


def _compose(table: dict[str, float], named: dict[str, bool], place: str, fit: float, has_figure: bool) -> list[str]:
    """The elements of a scene, from back to front."""
    field_, strength = _best(table, "field", ())
    names_scenery = any(named[name] for name in table if ELEMENTS[name].kind in ("sky", "far", "ground"))
    if not names_scenery and has_figure and not named[field_] and fit < _MIN_PLACE_SCORE:
        return ["studio backdrop", "plain floor", *_things(table, named, ())]
    if not names_scenery and (named[field_] or fit < _MIN_PLACE_SCORE or strength > fit + _FIELD_MARGIN):
        extra, value = _best({name: table[name] for name in table if named[name]}, "weather", ())
        return [field_, *_things(table, named, ()), *([extra] if value > _MIN_SCORES["weather"] else [])]
    places = (place,)
    chosen = [_best(table, "sky", places)[0]]
    far, _ = _best(table, "far", places)
    ground, _ = _best(table, "ground", places)
    if far and named[far]:
        chosen.append(far)
    chosen.append("plain floor" if chosen[0] == "studio backdrop" else ground)
    chosen += _things(table, named, places)
    for kind in _OPTIONAL_KINDS:
        name, value = _best({name: table[name] for name in table if named[name]}, kind, places)
        anywhere, plainly = _best(table, kind, ())
        if plainly > _CLEARLY_NAMED:
            name, value = anywhere, plainly
        if name and value > _MIN_SCORES[kind]:
            chosen.append(name)
    return chosen
