"""Keyword search: BM25 over the postings of FTS5.

FTS5 maintains the inverted index. Its own ranking reads every posting again for every query, which takes a tenth of a second with 100,000
chunks. Instead, the postings of a word are read once, cached as arrays and extended when chunks are added, so a query is arithmetic on
arrays.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.rag.index.analysis import analyse, query_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw
    from numpy.typing import NDArray

    from gateleg.apps.rag.index.rows import Rows

#: BM25 parameters: saturation of repeated words, and normalization by chunk length.
K1, B = 1.2, 0.75
#: Maximum postings in the cache, 5 bytes each: in total, or per chunk, whichever is more.
_MAX_POSTINGS, _POSTINGS_PER_ROW = 10_000_000, 30
#: Occurrences of a word in a chunk are counted up to this number; more hardly change the score.
_MAX_OCCURRENCES = 255
#: Maximum distinct words of a query that are scored: the most repeated, then the rarest.
_MAX_QUERY_WORDS = 200
#: A word that occurs in this share of the rows is ignored if the query has rarer words, in an index of at least this many rows.
_COMMON_SHARE, _MIN_ROWS_FOR_COMMON = 0.4, 5_000
#: Quoted phrases are required only if a query has at most this many words outside the quotation marks.
_MAX_WORDS_BESIDE_PHRASE = 6
_PHRASE = re.compile(r'"([^"]+)"')


@dataclass(frozen=True, slots=True)
class _Posting:
    """The postings of a word: rows with the number of occurrences. `upto` is the last row id that has been read."""

    rows: NDArray[np.int32]
    counts: NDArray[np.uint8]
    upto: int


@dataclass(frozen=True, slots=True)
class KeywordScores:
    """The rows with words of a query, and their BM25 scores."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]

    @classmethod
    def none(cls) -> KeywordScores:
        """No rows."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))

    def best(self, k: int) -> dict[int, float]:
        """The `k` rows with the highest scores."""
        best = np.argpartition(-self.scores, k)[:k] if len(self.scores) > k else np.arange(len(self.scores))
        return dict(zip(self.rows[best].tolist(), self.scores[best].tolist(), strict=True))

    def of(self, rows: Sequence[int]) -> dict[int, float]:
        """The scores of the given rows; rows without a score are left out."""
        if not rows or not len(self.rows):
            return {}
        wanted = np.asarray(rows, dtype=np.int64)
        places = np.minimum(np.searchsorted(self.rows, wanted), len(self.rows) - 1)
        there = self.rows[places] == wanted
        return dict(zip(wanted[there].tolist(), self.scores[places[there]].tolist(), strict=True))


class Postings:
    """The cached postings of one index."""

    def __init__(self, most: int = _MAX_POSTINGS) -> None:
        self._most = most
        self._norms = np.zeros(0, dtype=np.float32)
        #: words in too many rows to be informative, with the size of the index when that was found
        self._common: dict[tuple[str, ...], int] = {}
        self._kept: OrderedDict[tuple[str, ...], _Posting] = OrderedDict()
        self._size = 0

    def scores(
        self, connection: apsw.Connection, rows: Rows, text: str, languages: Sequence[str], passing: NDArray[np.bool_]
    ) -> KeywordScores:
        """The BM25 scores of the passing rows that contain a word of the text."""
        words = query_words(text, languages)
        rare = {forms: count for forms, count in words.items() if not self._is_common(forms, rows)}
        # If all words are common, the rarest is scored.
        read = [(self._posting(connection, rows, forms), count) for forms, count in (rare or words).items()]
        postings = self._informative(read, rows)
        total = self._total(postings, rows, len(passing))
        kept = np.flatnonzero(passing & (total > 0))
        return KeywordScores(kept, total[kept])

    def _total(self, postings: Sequence[tuple[_Posting, int]], rows: Rows, count: int) -> NDArray[np.float32]:
        """The BM25 scores of the first `count` rows; rows added since are left out."""
        total = np.zeros(count, dtype=np.float32)
        if len(self._norms) != count:
            self._norms = _length_norms(rows.words.view[:count])
        for posting, times in postings:
            until = int(np.searchsorted(posting.rows, count))
            places, counts = posting.rows[:until], posting.counts[:until].astype(np.float32)
            # Postings still contain removed rows, so they may exceed the number of rows.
            others = max(count - len(places), 0)
            weight = np.float32(times * np.log1p((others + 0.5) / (len(places) + 0.5)) * (K1 + 1))
            total[places] += weight * counts / (counts + self._norms[places])
        return total

    def _is_common(self, forms: tuple[str, ...], rows: Rows) -> bool:
        """Whether a word is known to be uninformative. This is decided again when the index has doubled."""
        return len(rows) < 2 * self._common.get(forms, 0)

    def _informative(self, postings: Sequence[tuple[_Posting, int]], rows: Rows) -> list[tuple[_Posting, int]]:
        """Drop words that occur in too many chunks, unless there are no others, and limit the number of words."""
        there = [one for one in postings if len(one[0].rows)]
        found = sorted(there, key=lambda one: (-one[1], len(one[0].rows)))[:_MAX_QUERY_WORDS]
        if len(rows) < _MIN_ROWS_FOR_COMMON or not found:
            return found
        return [one for one in found if len(one[0].rows) < _COMMON_SHARE * len(rows)] or [min(found, key=lambda one: len(one[0].rows))]

    def _posting(self, connection: apsw.Connection, rows: Rows, forms: tuple[str, ...]) -> _Posting:
        last = int(rows.ids.view[-1]) if len(rows) else 0
        known = self._kept.get(forms)
        if known is not None and known.upto >= last:
            self._kept.move_to_end(forms)
            return known
        query = " OR ".join(f'"{form}"' for form in forms)
        after = known.upto if known else 0
        # Rows added since `rows` was read are left to the next query.
        sql = "SELECT rowid, occurrences(texts) FROM texts WHERE texts MATCH ? AND rowid > ? AND rowid <= ?"
        read = connection.execute(sql, (query, after, last)).fetchall()
        ids, counts = np.array(read, dtype=np.int64).reshape(-1, 2).T
        places = rows.places(ids)
        there = places >= 0
        posting = _Posting(places[there].astype(np.int32), np.minimum(counts[there], _MAX_OCCURRENCES).astype(np.uint8), last)
        if known is not None:
            posting = _Posting(np.concatenate([known.rows, posting.rows]), np.concatenate([known.counts, posting.counts]), last)
        if len(rows) >= _MIN_ROWS_FOR_COMMON and len(posting.rows) >= _COMMON_SHARE * len(rows):
            self._common[forms] = len(rows)
        self._keep(forms, posting, max(self._most, _POSTINGS_PER_ROW * len(rows)))
        return posting

    def _keep(self, forms: tuple[str, ...], posting: _Posting, most: int) -> None:
        old = self._kept.pop(forms, None)
        self._size += len(posting.rows) - (len(old.rows) if old else 0)
        self._kept[forms] = posting
        while self._size > most and len(self._kept) > 1:
            self._size -= len(self._kept.popitem(last=False)[1].rows)


def _length_norms(words: NDArray[np.int32]) -> NDArray[np.float32]:
    """The length normalization of BM25 for each row."""
    average = max(float(words.mean()), 1.0) if len(words) else 1.0
    return (K1 * (1 - B + B * words / average)).astype(np.float32)


def with_phrases(
    connection: apsw.Connection, rows: Rows, text: str, languages: Sequence[str], passing: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Restrict the passing rows to those with all required phrases of a text."""
    for forms in demanded_phrases(text, languages):
        phrase = " OR ".join(f'"{form}"' for form in forms)
        matched = [row[0] for row in connection.execute("SELECT rowid FROM texts WHERE texts MATCH ?", (phrase,))]
        places = rows.places(np.array(matched, dtype=np.int64))
        having = np.zeros(len(passing), dtype=np.bool_)
        having[places[(places >= 0) & (places < len(passing))]] = True
        passing = passing & having
    return passing


def demanded_phrases(text: str, languages: Sequence[str]) -> list[list[str]]:
    """The required phrases of a query (in double quotes), each with its forms in the languages of the index. Longer texts, such as
    questions, require none."""
    quoted = _PHRASE.findall(text)
    if len(_PHRASE.sub(" ", text).split()) > _MAX_WORDS_BESIDE_PHRASE:
        return []
    forms = [list(dict.fromkeys(" ".join(analyse(phrase, language)) for language in languages)) for phrase in quoted]
    return [found for one in forms if (found := [form for form in one if form])]
