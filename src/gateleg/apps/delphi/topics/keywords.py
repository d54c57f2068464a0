"""What a topic is about in a few words: class-based TF-IDF, with words and pairs of words.

A term counts once for each comment that has it, so that nobody makes a keyword by repeating it, and copies of a comment count once. It
scores by how frequent it is in a topic and how rare in all of them. Text without spaces between words is divided into words that are learnt
from all texts together.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.delphi.topics.segmentation import learn_words, segment
from gateleg.apps.delphi.topics.stopwords import is_fragment, languages_of, stop_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

#: Keywords that a topic has.
MOST_KEYWORDS = 10
#: A pair of words says more than either.
_PAIR_BONUS = 1.25
_ONLY_ONCE = 0.4
#: A longer term takes the place of a shorter one inside it when it scores at least so many times as much.
_TAKES_OVER = 0.5
_LINK = re.compile(r"(?:https?://|www\.)\S+")
_UNBROKEN = re.compile(r"\S+")
_CLAUSE = re.compile(r"[.!?;:,()\[\]{}\"“”«»…\n\r\t/|—–।۔؟،。、！？；：]+")
_WORD = re.compile(r"[^\W\d_]+(?:['’ʼ\-‑][^\W\d_]+)*")
#: Scripts that put no spaces between words: Thai and Lao, Japanese and Chinese.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_RUN = re.compile(f"{_UNSPACED.pattern}+")
_SCRIPTS = re.compile(f"({_UNSPACED.pattern}+)")


@dataclass(frozen=True, slots=True)
class Keyword:
    """A word or a pair of words, and how much it stands for its topic: more is better, only within the topic."""

    term: str
    score: float
    #: comments of the topic that say it, copies counted once; 0 where that was not kept
    comments: int = 0


@dataclass(frozen=True, slots=True)
class Token:
    """A word as it is compared and as it is written."""

    word: str
    written: str
    #: whether it begins a clause, where its first letter says nothing
    first: bool


@dataclass(frozen=True, slots=True)
class SpokenTexts:
    """Texts as words: clause by clause, with the stop words of their languages and how words are written."""

    texts: Sequence[str]
    clauses: Sequence[list[list[Token]]]
    stops: frozenset[str]
    written: dict[str, str]

    @classmethod
    def of(cls, texts: Sequence[str]) -> SpokenTexts:
        """The words of texts, which are read together: words without spaces between them are learnt from all of them."""
        learnt = learn_words(run.group() for text in texts for run in _RUN.finditer(text))
        words = frozenset(word for word in learnt if not is_fragment(word))
        clauses = [list(tokens(text, words)) for text in texts]
        stops = stop_words(languages_of(token.word for text in clauses for clause in text for token in clause))
        return cls(texts, clauses, stops, _spellings(clauses))


def keywords_of(spoken: SpokenTexts, topics: Sequence[int], count: int, most: int = MOST_KEYWORDS) -> list[tuple[Keyword, ...]]:
    """The keywords of each of `count` topics. Texts with the topic -1 belong to none."""
    in_topic: list[Counter[str]] = [Counter() for _ in range(count)]
    seen: set[tuple[int, str]] = set()
    for text, topic, parts in zip(spoken.texts, topics, spoken.clauses, strict=True):
        if topic < 0 or (topic, text) in seen:
            continue
        seen.add((topic, text))
        in_topic[topic].update({term for clause in parts for term in _terms(clause, spoken.stops)})
    return [
        tuple(
            Keyword(" ".join(spoken.written.get(word, word) for word in found.term.split(" ")), found.score, counts[found.term])
            for found in _chosen(scores, most)
        )
        for counts, scores in zip(in_topic, _scores(in_topic), strict=True)
    ]


def is_unspaced(word: str) -> bool:
    """Whether a word is in a script that puts no spaces between words."""
    return bool(_UNSPACED.search(word))


def tokens(text: str, known: frozenset[str] = frozenset()) -> Iterator[list[Token]]:
    """The words of a text, clause by clause, without links, addresses and numbers.

    Text without spaces between words is divided into the words that are `known`; where none at all are, into pairs of signs.
    """
    plain = unicodedata.normalize("NFKC", _UNBROKEN.sub(_unlinked, text)).replace("’", "'").replace("ʼ", "'").replace("‑", "-")
    for clause in _CLAUSE.split(plain):
        words = list(_words(clause, known))
        if words:
            yield [Token(_plain(word), word, place == 0) for place, word in enumerate(words)]


def _unlinked(unbroken: re.Match[str]) -> str:
    """Signs without a space among them, unless they are a link or an address. One look at each sign: they may be very many."""
    signs = unbroken.group()
    at = signs.find("@", 1)
    is_address = at > 0 and signs.find(".", at + 2, -1) > 0
    return " " if is_address else _LINK.sub(" ", signs)


def _words(clause: str, known: frozenset[str]) -> Iterator[str]:
    for match in _WORD.finditer(clause):
        # A Latin name inside of Chinese is a word, and no part of the signs around it.
        for word in filter(None, _SCRIPTS.split(match.group()) if known else (match.group(),)):
            if not _UNSPACED.search(word):
                yield word
            elif known:
                yield from segment(word, known)
            elif len(word) > 2:
                yield from (word[place : place + 2] for place in range(len(word) - 1))
            else:
                yield word


def _plain(word: str) -> str:
    lowered = word.lower()
    return lowered[:-2] if lowered.endswith("'s") else lowered


def _terms(clause: list[Token], stops: frozenset[str]) -> Iterator[str]:
    """Words, and pairs that stand side by side, without stop words and single letters."""
    before = ""
    for token in clause:
        usable = token.word not in stops and (len(token.word) > 2 or bool(_UNSPACED.search(token.word)) or token.written.isupper())
        if usable and len(token.word) > 1:
            yield token.word
            unspaced = bool(_UNSPACED.search(token.word))
            if before and before != token.word and not unspaced:
                yield f"{before} {token.word}"
            before = "" if unspaced else token.word
        else:
            before = ""


def _scores(in_topic: Sequence[Counter[str]]) -> list[dict[str, float]]:
    overall: Counter[str] = Counter()
    for counts in in_topic:
        overall.update(counts)
    average = sum(overall.values()) / max(1, len(in_topic))
    found = []
    for counts in in_topic:
        total = max(1, sum(counts.values()))
        scores = {}
        for term, times in counts.items():
            pair = " " in term
            # What stands in one comment only may be an accident of its wording; a pair surely is.
            weight = (_PAIR_BONUS if pair else 1.0) if times > 1 else (0.0 if pair else _ONLY_ONCE)
            if weight:
                scores[term] = times / total * math.log(1 + average / overall[term]) * weight
        found.append(scores)
    return found


def _chosen(scores: dict[str, float], most: int) -> list[Keyword]:
    """The best terms, none of which repeats another."""
    chosen: list[Keyword] = []
    for term, score in sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])):
        words = term.split(" ")
        if any(_holds(found.term.split(" "), words) or _overlaps(found.term.split(" "), words) for found in chosen):
            continue
        inner = [place for place, found in enumerate(chosen) if _holds(words, found.term.split(" "))]
        if inner:
            if score >= _TAKES_OVER * chosen[inner[0]].score:
                chosen[inner[0]] = Keyword(term, chosen[inner[0]].score)
                chosen = [found for place, found in enumerate(chosen) if place not in inner[1:]]
            continue
        if len(chosen) >= most:
            break
        chosen.append(Keyword(term, score))
    return chosen


def _holds(words: Sequence[str], others: Iterable[str]) -> bool:
    return all(any(_same(word, other) for word in words) for other in others)


def _overlaps(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether two pairs have a word in common, as those of three words in a row have."""
    return len(words) == len(others) == 2 and any(_same(word, other) for word in words for other in others)


def _same(word: str, other: str) -> bool:
    """Whether two words are forms of one: the longer has at most two more letters at its end."""
    short, long = sorted((word, other), key=len)
    if long == short:
        return True
    stem = short[:-1] if len(short) > 4 and short[-1] in "ey" else short
    return len(stem) >= 3 and long.startswith(stem) and len(long) - len(stem) <= (3 if len(stem) < len(short) else 2)


def _spellings(clauses: Iterable[list[list[Token]]]) -> dict[str, str]:
    """How words are written that are mostly not in lower case where they do not begin a clause: names and abbreviations."""
    inner: dict[str, Counter[str]] = {}
    for text in clauses:
        shouted = all(token.written.isupper() for clause in text for token in clause)
        for clause in text:
            for token in clause:
                if not token.first and not shouted:
                    inner.setdefault(token.word, Counter())[token.written] += 1
    found = {}
    for word, forms in inner.items():
        form, times = max(forms.items(), key=lambda pair: (pair[1], pair[0]))
        form = form[:-2] if form.lower().endswith("'s") else form
        if form != word and times * 2 > sum(forms.values()):
            found[word] = form
    return found
