"""Generate questions from documents: distinctive words of a passage, whose document is the expected result. Pure.

This is known-item search. It is easier than real questions, so its figures compare configurations with each other, not with labelled sets.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import TYPE_CHECKING

from gateleg.apps.rag.answering.injection import is_injection
from gateleg.apps.rag.chunking.sentences import sentences
from gateleg.apps.rag.index.analysis import analyse, language_of, split_words, stop_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Minimum and maximum words of a question.
_FEWEST, _MOST = 3, 7
_SHORTEST_SENTENCE = 40


def generate_questions(
    passages: Sequence[tuple[str, str]], count: int, *, seed: int = 1, language: str | None = None
) -> list[tuple[str, list[str]]]:
    """Up to `count` questions with their documents, from passages as (document, text). Deterministic for a seed."""
    rng = random.Random(seed)
    code = language_of(language)
    frequencies = Counter(word for _, text in passages for word in set(analyse(text, code)))
    order = list(range(len(passages)))
    rng.shuffle(order)
    found: list[tuple[str, list[str]]] = []
    asked: set[str] = set()
    used: Counter[str] = Counter()
    # Take the documents in turn, so that a long one does not fill the set.
    for place in sorted(order, key=lambda place: _turn(used, passages[place][0])):
        if len(found) == count:
            break
        document, text = passages[place]
        question = _question(text, frequencies, len(passages), rng, code)
        if question is not None and question not in asked:
            asked.add(question)
            found.append((question, [document]))
    return found


def _turn(used: Counter[str], document: str) -> int:
    used[document] += 1
    return used[document]


def _question(text: str, frequencies: Mapping[str, int], total: int, rng: random.Random, language: str) -> str | None:
    """Distinctive words of one sentence, in their order; None if the passage has no usable sentence."""
    usable = [
        part for start, end in sentences(text) if len(part := text[start:end].strip()) >= _SHORTEST_SENTENCE and not is_injection(part)
    ]
    if not usable:
        return None
    words = list(dict.fromkeys(split_words(rng.choice(usable))))
    telling = [word for word in words if word not in stop_words(language) and len(word) > 2]
    if len(telling) < _FEWEST:
        return None

    def rarity(word: str) -> float:
        return max((math.log(total / (1 + frequencies.get(stem, 0))) for stem in analyse(word, language)), default=0.0)

    kept = set(sorted(telling, key=rarity, reverse=True)[: rng.randint(_FEWEST, _MOST)])
    return " ".join(word for word in telling if word in kept)
