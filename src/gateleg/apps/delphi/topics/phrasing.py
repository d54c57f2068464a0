"""Phrases that name a topic: words in a row that its comments really say.

A phrase begins and ends with a word that says something, has nothing but such words and connecting ones (of, and, for) between, and counts
once for each comment that has it. It is better the more comments of the topic say it, the fewer of other topics do, and the more it says.
Pure.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from gateleg.apps.delphi.topics.keywords import SpokenTexts, is_unspaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gateleg.apps.delphi.topics.keywords import Token

#: Phrases of a topic that are kept: others may have the best name already.
MOST_PHRASES = 8
_SHORTEST, _LONGEST = 2, 4
#: Comments that must say a phrase: one alone is an accident of its wording.
_FEWEST = 2
#: How much a further word that says something is worth.
_WORTH = 1.4
#: A phrase that fewer of a topic's comments say does not stand for it alone.
_LEAST_TOLD = 0.1
#: The share of all comments with a phrase that must be exceeded in the topic.
_LEAST_OWN = 0.5

#: Words that may stand inside a phrase: what joins nouns, and nothing that makes a sentence of them.
_CONNECTING = frozenset(
    word
    for words in (
        "a an and at by for from in of on or the to with",
        "auf aus bei der des die für im mit und von zu zum zur",
        "à au aux avec de du en et la le les pour sur un une",
        "con del el las los para por una y",
        "com da das do dos e em na nas no nos",
        "di della delle dei il per van het een voor i och av på med",
    )
    for word in words.split()
)

Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    score: float
    words: Phrase


def phrases_of(spoken: SpokenTexts, topics: Sequence[int], count: int) -> list[tuple[str, ...]]:
    """The phrases of each of `count` topics, best first. Texts with the topic -1 belong to none; copies of a text count once."""
    in_topic: list[Counter[Phrase]] = [Counter() for _ in range(count)]
    overall: Counter[Phrase] = Counter()
    said: list[list[str]] = [[] for _ in range(count)]
    seen: set[tuple[int, str]] = set()
    for text, topic, clauses in zip(spoken.texts, topics, spoken.clauses, strict=True):
        if topic < 0 or (topic, text) in seen:
            continue
        seen.add((topic, text))
        said[topic].append(_compared(text))
        own = {phrase for clause in clauses for phrase in _phrases(clause, spoken.stops)}
        in_topic[topic].update(own)
        overall.update(own)
    found = []
    for counts, texts in zip(in_topic, said, strict=True):
        written = [_written(one.words, spoken) for one in _chosen(counts, overall, spoken.stops)]
        # Words are also divided by signs, and parts of words may overlap: what nobody has written is not a phrase.
        times = {phrase: sum(_compared(phrase) in text for text in texts) for phrase in written}
        phrases = [phrase for phrase in written if times[phrase] >= _FEWEST][:MOST_PHRASES]
        if len(phrases) > 1 and times[phrases[0]] < _LEAST_TOLD * len(texts):
            phrases.insert(0, ", ".join(phrases[:2]))
        found.append(tuple(phrases))
    return found


def phrases_in(spoken: SpokenTexts, place: int) -> tuple[str, ...]:
    """The phrases of one text as they come, each as long as it can be, none of which overlaps the one before it."""
    found: list[str] = []
    text = _compared(spoken.texts[place])
    for clause in spoken.clauses[place]:
        taken: set[str] = set()
        for phrase in _longest_first(_phrases(clause, spoken.stops)):
            written = _written(phrase, spoken)
            if taken.isdisjoint(phrase) and _compared(written) in text:
                taken.update(phrase)
                found.append(written)
    return tuple(found)


def _longest_first(phrases: Iterable[Phrase]) -> list[Phrase]:
    """In the order in which they begin, of those that begin with the same word the longest first."""
    listed = list(phrases)
    beginnings = list(dict.fromkeys(phrase[0] for phrase in listed))
    return sorted(listed, key=lambda phrase: (beginnings.index(phrase[0]), -len(phrase)))


def _compared(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).replace("’", "'").casefold().split())


def _phrases(clause: Sequence[Token], stops: frozenset[str]) -> Iterator[Phrase]:
    words = [token.word for token in clause]
    for start in range(len(words)):
        if not _says(words[start], stops):
            continue
        for end in range(start + _SHORTEST, min(start + _LONGEST, len(words)) + 1):
            phrase = tuple(words[start:end])
            if not (_says(phrase[-1], stops) or phrase[-1] in _CONNECTING):
                break
            if _says(phrase[-1], stops) and len(set(phrase)) == len(phrase):
                yield phrase


def _says(word: str, stops: frozenset[str]) -> bool:
    return word not in stops and (len(word) > 2 or is_unspaced(word))


def _chosen(counts: Counter[Phrase], overall: Counter[Phrase], stops: frozenset[str]) -> list[_Found]:
    """The best phrases; of those that hold each other only the best."""
    scored = [
        _Found(times * times / overall[words] * sum(_says(word, stops) for word in words) ** _WORTH, words)
        for words, times in counts.items()
        if times >= _FEWEST and times > _LEAST_OWN * overall[words]
    ]
    found: list[_Found] = []
    for one in sorted(scored, key=lambda one: (-one.score, one.words)):
        if len(found) < 3 * MOST_PHRASES and not any(
            set(one.words) <= set(other.words) or set(other.words) <= set(one.words) for other in found
        ):
            found.append(one)
    return found


def _written(words: Phrase, spoken: SpokenTexts) -> str:
    written = [spoken.written.get(word, word) for word in words]
    text = written[0]
    for before, word in pairwise(written):
        # Scripts without spaces have none inside a phrase either.
        text += word if is_unspaced(before) and is_unspaced(word) else f" {word}"
    return text
