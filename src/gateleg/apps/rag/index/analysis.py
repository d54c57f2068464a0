"""Text analysis for keyword search: split text into words, remove accents and reduce words to their stems, by language. Pure.

Words are runs of letters and digits of any script. Languages with a Snowball stemmer are stemmed; words of other languages are indexed
without case and accents. Stop words are removed from queries in the languages that have a list here. Chinese, Japanese, Korean and Thai,
which do not separate words by spaces, are indexed as pairs of characters.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

#: The language of texts whose language is unknown.
DEFAULT_LANGUAGE = "en"
LONGEST_WORD = 64

_SNOWBALL = {
    "ar": "arabic",
    "hy": "armenian",
    "eu": "basque",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "nl": "dutch",
    "en": "english",
    "et": "estonian",
    "fi": "finnish",
    "fr": "french",
    "de": "german",
    "el": "greek",
    "hi": "hindi",
    "hu": "hungarian",
    "id": "indonesian",
    "ga": "irish",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "no": "norwegian",
    "nb": "norwegian",
    "nn": "norwegian",
    "fa": "persian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "es": "spanish",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
_STOP = {
    "en": """a about after all also am an and any are as at be because been being between both but by can could did do does doing for from
        had has have having he her here his how i if in into is it its itself me more most my no nor not of on or other our out over own
        she should so some such than that the their them then there these they this those through to too under until up very was we were
        what when where which while who whom why will with would you your""",
    "de": """aber als am an auch auf aus bei bin bis das dass dem den der des die durch ein eine einem einen einer eines er es für hat
        ich ihr im in ist ja kann mit nach nicht noch nur ob oder sein sich sie sind so über um und uns unter vom von vor war was wenn
        wer wie wir wird wo zu zum zur""",
    "fr": """à au aux avec ce ces cette dans de des du elle en est et eux il ils je la le les leur lui ma mais me même mes moi mon ne nos
        notre nous on ou où par pas pour qu que quel quelle qui sa se ses son sont sur ta te tes toi ton tu un une vos votre vous""",
    "es": """a al algo como con cuál cual cuando de del desde donde dónde el ella en entre es esa ese eso esta este esto ha hay la las le
        les lo los más mi muy no nos o para pero por qué que quien quién se sin sobre son su sus también un una uno y ya""",
    "it": """a ad al alla alle anche che chi ci come con cosa da dal dalla dei del della delle di dove e è gli ha i il in io la le lo ma
        mi nel nella non o per più quale quando questa questo se si sono su sul sulla tra un una uno""",
    "pt": """a ao aos as com como da das de do dos e é em entre era essa esse esta este eu foi há já mais mas na nas no nos não o os ou
        para pela pelo por qual quando que quem se sem ser seu sua são também um uma""",
    "nl": """aan als bij dat de der die dit door een en er het hij hoe ik in is je kan maar met naar niet nog of om onder ook op over te
        tot uit van voor waar was wat we wie wij worden zijn zo""",
}

_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['’]s\b")
#: Scripts that do not separate words by spaces.
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")


def language_of(tag: str | None) -> str:
    """The lower-case language code of a tag such as `de-CH`; the default language for None."""
    return re.split(r"[-_]", tag)[0].lower() if tag else DEFAULT_LANGUAGE


def analyse(text: str, language: str = DEFAULT_LANGUAGE) -> list[str]:
    """The stems of a text, in order, as the index contains them."""
    stems = _stems(language)
    return [stem for word in split_words(text) for stem in stems(word)]


def query_words(text: str, languages: Sequence[str] = (DEFAULT_LANGUAGE,)) -> dict[tuple[str, ...], int]:
    """The words of a query without stop words, each as its forms in the languages of the index, with the number of its occurrences.

    A query that consists only of stop words keeps them.
    """
    stops = frozenset().union(*(stop_words(language) for language in languages)) if languages else frozenset()
    words = list(split_words(text))
    kept = [word for word in words if word not in stops] or words
    # A word may have several stems (pairs of characters): group the n-th stem of every language.
    found: Counter[tuple[str, ...]] = Counter()
    for word in kept:
        forms = [_stems(language)(word) for language in languages or (DEFAULT_LANGUAGE,)]
        found.update(tuple(dict.fromkeys(together)) for together in zip(*forms, strict=False))
    return dict(found)


def split_words(text: str) -> Iterable[str]:
    """The words of a text in lower case, with accents."""
    plain = _POSSESSIVE.sub("", unicodedata.normalize("NFKC", text).casefold())
    return (word[:LONGEST_WORD] for word in _WORD.findall(plain))


@cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language; empty for a language without a list."""
    return frozenset(_STOP.get(language, "").split())


def fold(word: str) -> str:
    """Remove the accents from a word."""
    if word.isascii():
        return word
    return "".join(letter for letter in unicodedata.normalize("NFD", word) if not unicodedata.combining(letter))


@cache
def _stems(language: str) -> Callable[[str], tuple[str, ...]]:
    """The stemming function of a language, with a cache."""
    import snowballstemmer  # type: ignore[import-untyped]

    name = _SNOWBALL.get(language)
    stemmer = snowballstemmer.stemmer(name) if name else None
    # A stemmer is not thread-safe: it stores the current word.
    alone = threading.Lock()

    @lru_cache(maxsize=100_000)
    def stems(word: str) -> tuple[str, ...]:
        if _UNSPACED.search(word):
            return _pairs(word)
        if stemmer is None:
            return (fold(word),)
        with alone:
            return (fold(stemmer.stemWord(word)),)

    return stems


def _pairs(word: str) -> tuple[str, ...]:
    return tuple(word[at : at + 2] for at in range(len(word) - 1)) or (word,)
