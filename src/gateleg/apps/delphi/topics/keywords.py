"""The keywords of topics: class-based TF-IDF on words and pairs of words.

A term counts once per comment, so that nobody makes a keyword by repeating it, and copies of a comment count once. Its score is high if it
is frequent in a topic and rare in the others. Text without spaces is segmented into words that are learnt from all texts.
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

#: The number of keywords per topic.
MOST_KEYWORDS = 10
#: The weights of pairs of words, and of terms that only one comment of the topic contains.
_PAIR_BONUS = 1.25
_ONLY_ONCE = 0.4
#: A longer term replaces a shorter one that it contains if its score is at least this share of the other's.
_TAKES_OVER = 0.5
_LINK = re.compile(r"(?:https?://|www\.)\S+")
_UNBROKEN = re.compile(r"\S+")
_CLAUSE = re.compile(r"[.!?;:,()\[\]{}\"“”«»…\n\r\t/|—–।۔؟،。、！？；：]+")
#: The modifier apostrophe (ʼ) is a letter.
_WORD = re.compile(r"[^\W\d_]+(?:['’\-‑][^\W\d_]+)*")
#: Scripts without spaces between words: Thai and Lao, Japanese and Chinese.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_RUN = re.compile(f"{_UNSPACED.pattern}+")
_SCRIPTS = re.compile(f"({_UNSPACED.pattern}+)")


@dataclass(frozen=True, slots=True)
class Keyword:
    """A word or a pair of words, with a score that is comparable only within its topic."""

    term: str
    score: float
    #: the number of comments of the topic that contain it, copies counted once; 0 if unknown
    comments: int = 0


@dataclass(frozen=True, slots=True)
class Token:
    """A word in its normalized and its written form."""

    word: str
    written: str
    #: whether it begins a clause, where capitalization has no meaning
    first: bool


@dataclass(frozen=True, slots=True)
class TokenizedTexts:
    """Texts divided into clauses and words, with the stop words of their languages and the spelling of names."""

    texts: Sequence[str]
    clauses: Sequence[list[list[Token]]]
    stops: frozenset[str]
    written: dict[str, str]

    @classmethod
    def of(cls, texts: Sequence[str]) -> TokenizedTexts:
        """Tokenize texts together: the words of scripts without spaces are learnt from all of them."""
        learnt = learn_words(run.group() for text in texts for run in _RUN.finditer(text))
        words = frozenset(word for word in learnt if not is_fragment(word))
        clauses = [list(tokens(text, words)) for text in texts]
        stops = stop_words(languages_of(token.word for text in clauses for clause in text for token in clause))
        return cls(texts, clauses, stops, _spellings(clauses))


def keywords_of(tokenized: TokenizedTexts, topics: Sequence[int], count: int, most: int = MOST_KEYWORDS) -> list[tuple[Keyword, ...]]:
    """The keywords of each of `count` topics. Texts with the topic -1 belong to none."""
    in_topic: list[Counter[str]] = [Counter() for _ in range(count)]
    seen: set[tuple[int, str]] = set()
    for text, topic, parts in zip(tokenized.texts, topics, tokenized.clauses, strict=True):
        if topic < 0 or (topic, text) in seen:
            continue
        seen.add((topic, text))
        in_topic[topic].update({term for clause in parts for term in _terms(clause, tokenized.stops)})
    return [
        tuple(
            Keyword(" ".join(tokenized.written.get(word, word) for word in found.term.split(" ")), found.score, counts[found.term])
            for found in _select(scores, most)
        )
        for counts, scores in zip(in_topic, _scores(in_topic), strict=True)
    ]


def is_unspaced(word: str) -> bool:
    """Whether a word is in a script without spaces between words."""
    return bool(_UNSPACED.search(word))


def tokens(text: str, known: frozenset[str] = frozenset()) -> Iterator[list[Token]]:
    """The words of a text by clause, without links, e-mail addresses and numbers.

    Text without spaces is segmented into `known` words; if none are known, into pairs of characters.
    """
    plain = unicodedata.normalize("NFKC", _UNBROKEN.sub(_without_links, text)).replace("’", "'").replace("ʼ", "'").replace("‑", "-")
    for clause in _CLAUSE.split(plain):
        words = list(_words(clause, known))
        if words:
            yield [Token(_normalized(word), word, place == 0) for place, word in enumerate(words)]


def _without_links(unbroken: re.Match[str]) -> str:
    """Remove links and e-mail addresses from a run without spaces. Takes linear time, because the run may be very long."""
    signs = unbroken.group()
    at = signs.find("@", 1)
    is_address = at > 0 and signs.find(".", at + 2, -1) > 0
    return " " if is_address else _LINK.sub(" ", signs)


def _words(clause: str, known: frozenset[str]) -> Iterator[str]:
    for match in _WORD.finditer(clause):
        # A Latin name within Chinese text is a separate word.
        for word in filter(None, _SCRIPTS.split(match.group()) if known else (match.group(),)):
            if not _UNSPACED.search(word):
                yield word
            elif known:
                yield from segment(word, known)
            elif len(word) > 2:
                yield from (word[place : place + 2] for place in range(len(word) - 1))
            else:
                yield word


def _normalized(word: str) -> str:
    lowered = word.lower()
    return lowered[:-2] if lowered.endswith("'s") else lowered


def _terms(clause: list[Token], stops: frozenset[str]) -> Iterator[str]:
    """Words and pairs of adjacent words, without stop words and single letters."""
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
            # A term in only one comment may be accidental wording; a pair certainly is.
            weight = (_PAIR_BONUS if pair else 1.0) if times > 1 else (0.0 if pair else _ONLY_ONCE)
            if weight:
                scores[term] = times / total * math.log(1 + average / overall[term]) * weight
        found.append(scores)
    return found


def _select(scores: dict[str, float], most: int) -> list[Keyword]:
    """The best terms, without terms that repeat another."""
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
    """Whether two pairs share a word, as the pairs of three consecutive words do."""
    return len(words) == len(others) == 2 and any(_same(word, other) for word in words for other in others)


def _same(word: str, other: str) -> bool:
    """Whether two words are forms of the same word: the longer has at most two more letters at its end."""
    short, long = sorted((word, other), key=len)
    if long == short:
        return True
    stem = short[:-1] if len(short) > 4 and short[-1] in "ey" else short
    return len(stem) >= 3 and long.startswith(stem) and len(long) - len(stem) <= (3 if len(stem) < len(short) else 2)


def _spellings(clauses: Iterable[list[list[Token]]]) -> dict[str, str]:
    """The spelling of names and abbreviations: words that are mostly not in lower case within clauses."""
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
