"""Questions that need those before them. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gateleg.apps.rag.index.analysis import query_words

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Words that stand for something said before, and beginnings that go on from there.
_REFERS = re.compile(
    r"\b(?:it|its|they|them|their|this|that|these|those|he|she|him|her|his|there|one|ones|same|former|latter|er|sie|es|ihn|ihr|dieser?|"
    r"dieses|il|elle|ils|elles|cela|ça|ello|ella|eso|esto)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"^\s*(?:and|but|or|so|then|what about|how about|why|und|aber|was ist mit|et|mais|y|pero)\b", re.IGNORECASE)
#: A question with fewer words of its own is taken to go on from the one before.
_FEWEST = 2
#: Earlier questions that are looked back to.
LOOKED_BACK = 3


def needs_earlier(question: str) -> bool:
    """Whether a question can hardly be understood without those before it."""
    own = query_words(question)
    return len(own) < _FEWEST or bool(_GOES_ON.search(question)) or (len(own) < 6 and bool(_REFERS.search(question)))


def complete(question: str, earlier: Sequence[str]) -> str:
    """A question together with the last one that stands for itself, if it needs it."""
    if not earlier or not needs_earlier(question):
        return question
    for one in reversed(earlier[-LOOKED_BACK:]):
        if not needs_earlier(one):
            return f"{one} {question}"
    return f"{earlier[-1]} {question}"
