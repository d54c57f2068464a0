"""Check the streamed answer of a chat model sentence by sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateleg.apps.rag.answering.answers import AnswerSentence
from gateleg.apps.rag.answering.candidates import context_of
from gateleg.apps.rag.answering.injection import is_injection, remove_injections
from gateleg.apps.rag.answering.prompts import NO_ANSWER
from gateleg.apps.rag.answering.support import cited_numbers, says, support, without_citations
from gateleg.apps.rag.chunking.sentences import sentences
from gateleg.apps.rag.index.analysis import DEFAULT_LANGUAGE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gateleg.apps.rag.searching.results import SearchHit

#: Number of best hits that a sentence is compared with, if none that it cites says it.
_COMPARED = 5


@dataclass(slots=True)
class Checker:
    """Receives pieces of text and returns the complete sentences, each as checked or as unverified.

    A sentence is checked if a passage says it word for word: one that it cites, or else one of the best. Everything else that a model
    writes may be wrong in a way that no comparison of words detects, so it is passed on as unverified, with the passages that it cites.
    """

    hits: Sequence[SearchHit]
    languages: Sequence[str] = (DEFAULT_LANGUAGE,)
    dropped: int = 0
    refused: bool = False
    _pending: str = ""
    _passages: dict[int, str] = field(default_factory=dict)

    def add(self, piece: str) -> Iterator[AnswerSentence]:
        """Add a piece of text and return the sentences that it completes."""
        self._pending += piece
        whole = list(sentences(self._pending))
        # The last sentence may continue, and citations may follow its full stop.
        complete = whole[:-2]
        if complete:
            taken = [self._pending[start:end] for start, end in complete]
            self._pending = self._pending[complete[-1][1] :]
            yield from self._checked(taken)

    def finish(self) -> Iterator[AnswerSentence]:
        """Return the sentences of the remaining text."""
        taken = [self._pending[start:end] for start, end in sentences(self._pending)]
        self._pending = ""
        yield from self._checked(taken)

    def _checked(self, taken: Sequence[str]) -> Iterator[AnswerSentence]:
        for text in _with_their_citations(taken):
            found = self._check(text)
            if found is not None:
                yield found

    def _check(self, text: str) -> AnswerSentence | None:
        bare = without_citations(text)
        if NO_ANSWER.casefold() in bare.casefold():
            self.refused = True
            return None
        if not any(letter.isalnum() for letter in bare):
            return None
        if is_injection(bare):
            self.dropped += 1
            return None
        named = [number for number in cited_numbers(text) if 1 <= number <= len(self.hits)]
        best = [number for number in range(1, min(len(self.hits), _COMPARED) + 1) if number not in named]
        for numbers in (named, best):
            saying = [number for number in numbers if says(bare, self._passage(number))]
            if saying:
                # The model may have cited further passages, or another one.
                return AnswerSentence(text=bare, citations=sorted(saying), support=1.0)
        near = {number: self._support(bare, number) for number in named or best}
        cited = named or [number for number in sorted(near, key=lambda number: -near[number])[:1] if near[number] > 0]
        return AnswerSentence(text=bare, citations=sorted(cited), support=round(max(near.values(), default=0.0), 3), checked=False)

    def _passage(self, number: int) -> str:
        if number not in self._passages:
            self._passages[number] = remove_injections(self.hits[number - 1].text)
        return self._passages[number]

    def _support(self, sentence: str, number: int) -> float:
        return support(sentence, self._passage(number), self.languages, context_of(self.hits[number - 1])).score


def _with_their_citations(taken: Sequence[str]) -> Iterator[str]:
    """Join citations that follow a full stop to their sentence."""
    current = ""
    for text in taken:
        if current and cited_numbers(text) and not any(letter.isalpha() for letter in without_citations(text)):
            current += text
            continue
        if current:
            yield current
        current = text
    if current:
        yield current
