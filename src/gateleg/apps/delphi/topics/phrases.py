"""Phrases that name a topic: sequences of words from its comments. Pure.

A phrase is cut out of sentences and must not say their opposite: one that its comments mostly negate ("does not increase spending") is
left out.

A phrase begins and ends with a content word, contains only content words and connecting words (of, and, for), and counts once per comment.
Its score is high if many comments of the topic and few of other topics contain it, and if it has more content words.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from gateleg.apps.delphi.topics.keywords import TokenizedTexts, is_unspaced, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gateleg.apps.delphi.topics.keywords import Token

#: The number of phrases that are kept per topic: another topic may already have the best as its name.
MOST_PHRASES = 8
_SHORTEST, _LONGEST = 2, 4
#: The minimum number of comments with a phrase: in only one, it is accidental wording.
_FEWEST = 2
#: The exponent for the number of content words.
_WORTH = 1.4
#: A phrase in a smaller share of the topic's comments does not name it alone.
_LEAST_COVERAGE = 0.1
#: More than this share of the comments with a phrase must be in the topic.
_LEAST_IN_TOPIC = 0.5

#: Words that may occur inside a phrase: they connect nouns but do not form sentences.
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

#: Words that negate what follows them in a clause, in the languages of the words above, and parts of words in Chinese.
_NEGATIONS = frozenset(
    word
    for words in (
        "not no never without neither nor none nobody nothing cannot",
        "nicht kein keine keinen keinem keiner keines nie niemals ohne weder niemand nichts",
        "ne pas jamais sans ni aucun aucune rien personne",
        "no nunca jamás sin ni ningún ninguno ninguna nada tampoco",
        "não nunca sem nem nenhum nenhuma non mai senza né nessun nessuno nessuna",
        "niet geen nooit zonder inte ingen inget inga aldrig utan",
        "不 沒 没 沒有 没有 無 无 不要 不能 不會 不会",
    )
    for word in words.split()
)
#: A phrase is left out if at least this share of the comments with it negate it.
_MOST_NEGATED = 0.5

Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _ScoredPhrase:
    score: float
    words: Phrase


def phrases_of(tokenized: TokenizedTexts, topics: Sequence[int], count: int) -> list[tuple[str, ...]]:
    """The phrases of each of `count` topics, best first. Texts with the topic -1 belong to none. Copies of a text count once."""
    in_topic: list[Counter[Phrase]] = [Counter() for _ in range(count)]
    negated: list[Counter[Phrase]] = [Counter() for _ in range(count)]
    overall: Counter[Phrase] = Counter()
    texts_of_topic: list[list[str]] = [[] for _ in range(count)]
    seen: set[tuple[int, str]] = set()
    for text, topic, clauses in zip(tokenized.texts, topics, tokenized.clauses, strict=True):
        if topic < 0 or (topic, text) in seen:
            continue
        seen.add((topic, text))
        texts_of_topic[topic].append(_normalized(text))
        own = {phrase for clause in clauses for phrase in _phrases(clause, tokenized.stops)}
        in_topic[topic].update(own)
        negated[topic].update(phrase for phrase in own if any(is_negated(clause, phrase, tokenized.stops) for clause in clauses))
        overall.update(own)
    found = []
    for counts, opposite, texts in zip(in_topic, negated, texts_of_topic, strict=True):
        meant = Counter({phrase: times for phrase, times in counts.items() if opposite[phrase] < _MOST_NEGATED * times})
        written = [_written_form(one.words, tokenized) for one in _select(meant, overall, tokenized.stops)]
        # Tokenizing removes punctuation and segments may overlap, so keep only phrases that comments literally contain.
        times = {phrase: sum(_normalized(phrase) in text for text in texts) for phrase in written}
        phrases = [phrase for phrase in written if times[phrase] >= _FEWEST][:MOST_PHRASES]
        if len(phrases) > 1 and times[phrases[0]] < _LEAST_COVERAGE * len(texts):
            phrases.insert(0, ", ".join(phrases[:2]))
        found.append(tuple(phrases))
    return found


def phrases_in(tokenized: TokenizedTexts, place: int) -> tuple[str, ...]:
    """The phrases of one text in order, as long as possible and without overlaps."""
    found: list[str] = []
    text = _normalized(tokenized.texts[place])
    for clause in tokenized.clauses[place]:
        taken: set[str] = set()
        for phrase in _longest_first(_phrases(clause, tokenized.stops)):
            written = _written_form(phrase, tokenized)
            if taken.isdisjoint(phrase) and _normalized(written) in text and not is_negated(clause, phrase, tokenized.stops):
                taken.update(phrase)
                found.append(written)
    return tuple(found)


def is_negated(clause: Sequence[Token], phrase: Phrase, stops: frozenset[str]) -> bool:
    """Whether the words of a phrase stand in a row in a clause, after a word that negates them and at most stop words between.

    With a content word between, as in "nobody can pay rents in the old town", another word is negated, and "old town" still says what the
    clause is about.
    """
    words = [token.word for token in clause]
    for place in range(len(words) - len(phrase) + 1):
        if tuple(words[place : place + len(phrase)]) != phrase:
            continue
        for word in reversed(words[:place]):
            if word in _NEGATIONS or word.endswith("n't"):
                return True
            if _is_content_word(word, stops) and word not in _CONNECTING:
                break
    return False


def mostly_negated(name: str, texts: Iterable[str], stops: frozenset[str]) -> bool:
    """Whether texts contain the words of a name in a row, and at least half of these texts negate them."""
    phrase = tuple(token.word for clause in tokens(name) for token in clause)
    found = [clauses for clauses in map(list, map(tokens, texts)) if any(_contains(clause, phrase) for clause in clauses)]
    opposite = sum(any(is_negated(clause, phrase, stops) for clause in clauses) for clauses in found)
    return bool(found) and opposite >= _MOST_NEGATED * len(found)


def _contains(clause: Sequence[Token], phrase: Phrase) -> bool:
    words = [token.word for token in clause]
    return bool(phrase) and any(tuple(words[place : place + len(phrase)]) == phrase for place in range(len(words) - len(phrase) + 1))


def _longest_first(phrases: Iterable[Phrase]) -> list[Phrase]:
    """The phrases by their first word in order of appearance, then longest first."""
    listed = list(phrases)
    beginnings = list(dict.fromkeys(phrase[0] for phrase in listed))
    return sorted(listed, key=lambda phrase: (beginnings.index(phrase[0]), -len(phrase)))


def _normalized(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).replace("’", "'").casefold().split())


def _phrases(clause: Sequence[Token], stops: frozenset[str]) -> Iterator[Phrase]:
    words = [token.word for token in clause]
    for start in range(len(words)):
        if not _is_content_word(words[start], stops):
            continue
        for end in range(start + _SHORTEST, min(start + _LONGEST, len(words)) + 1):
            phrase = tuple(words[start:end])
            if not (_is_content_word(phrase[-1], stops) or phrase[-1] in _CONNECTING):
                break
            if _is_content_word(phrase[-1], stops) and len(set(phrase)) == len(phrase):
                yield phrase


def _is_content_word(word: str, stops: frozenset[str]) -> bool:
    return word not in stops and (len(word) > 2 or is_unspaced(word))


def _select(counts: Counter[Phrase], overall: Counter[Phrase], stops: frozenset[str]) -> list[_ScoredPhrase]:
    """The best phrases; of phrases that contain each other, only the best."""
    scored = [
        _ScoredPhrase(times * times / overall[words] * sum(_is_content_word(word, stops) for word in words) ** _WORTH, words)
        for words, times in counts.items()
        if times >= _FEWEST and times > _LEAST_IN_TOPIC * overall[words]
    ]
    found: list[_ScoredPhrase] = []
    for one in sorted(scored, key=lambda one: (-one.score, one.words)):
        if len(found) < 3 * MOST_PHRASES and not any(
            set(one.words) <= set(other.words) or set(other.words) <= set(one.words) for other in found
        ):
            found.append(one)
    return found


def _written_form(words: Phrase, tokenized: TokenizedTexts) -> str:
    written = [tokenized.written.get(word, word) for word in words]
    text = written[0]
    for before, word in pairwise(written):
        # Scripts without spaces have none inside a phrase either.
        text += word if is_unspaced(before) and is_unspaced(word) else f" {word}"
    return text
