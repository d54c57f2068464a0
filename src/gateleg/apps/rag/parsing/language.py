"""Detect the language of a text by its most frequent words. Pure."""

from __future__ import annotations

import re
from collections import Counter

#: Frequent short words that hardly occur in the other languages.
_WORDS = {
    "en": "the and of to is that for with was are this from have not which",
    "de": "der die und das ist nicht ein eine mit auf für den von zu sich",
    "fr": "le les des est une dans pour qui pas sur avec plus sont au du",
    "es": "el los las una por con para que del como más pero su está",
    "it": "il di che è per una sono non della con del nel alla gli",
    "pt": "os uma para não com mais dos como foi ao das são pelo você",
    "nl": "het een van en dat niet zijn voor met aan ook bij naar wordt",
}
_OF = {word: language for language, words in reversed(_WORDS.items()) for word in words.split()}
_WORD = re.compile(r"[^\W\d_]+")
_LOOKED_AT = 20_000
_ENOUGH = 5


def guess_language(text: str) -> str | None:
    """The ISO 639-1 code of the language of a text; None if it is not clear."""
    counts = Counter(_OF[word] for match in _WORD.finditer(text[:_LOOKED_AT]) if (word := match[0].lower()) in _OF)
    ranked = counts.most_common(2)
    if not ranked or ranked[0][1] < _ENOUGH:
        return None
    return None if len(ranked) == 2 and ranked[1][1] * 4 > ranked[0][1] * 3 else ranked[0][0]
