"""What the words of a sentence do in it: which name things, and which say what happens.

A word alone may mean two things ("trains", "watches", "lights"). Its neighbours tell: behind a noun in the singular, a word with an s is a
verb, and so is whatever stands before an article. Only words of closed classes are listed: articles, pronouns, prepositions and the like.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["PEOPLE", "ParsedSentence", "parse_sentence", "stem"]


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """A sentence, read."""

    #: what is named: each with the words that describe it, and without them
    nouns: tuple[tuple[str, str], ...]
    #: what happens, as participles ("training"), which mean nothing else
    verbs: tuple[str, ...]
    #: the sentence with its verbs as participles
    plain: str


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ONE = _words("a an this that every each one another")
_OWNED = _words("the these those my your his her its our their some any no all both two three four five six seven ten many few several")
_SUBJECTS = _words("i you he she it we they who")
_OTHERS = _words(
    "me him us them myself himself herself themselves what which whose something everything nothing anything somebody "
    "everybody nobody anybody someone everyone anyone none mine yours hers ours theirs"
)
_JOINTS = _words(
    "in on at through under over into across along by with and until between from near behind beneath above around to of "
    "for against without beyond after before during like as onto off out up down upon inside outside toward towards past "
    "beside below within among amid since than but or nor so while when where if because though although till about via"
)
_AUXILIARIES = _words(
    "is are was were be been being am has have had do does did will would can could shall should may might must isn't "
    "aren't wasn't don't doesn't didn't can't won't couldn't i'm you're he's she's it's we're they're i've i'll"
)
_ADVERBS = _words(
    "not never always only just alone again away here there now then too very still together forever tonight today tomorrow "
    "yesterday ever even already almost back soon once twice how why far later slowly more most less"
)
_PLURALS = _words("children men women people feet geese mice wolves")
#: Nouns that look like participles.
_THINGS = _words("morning evening ceiling building wedding lightning painting clothing spring string darling duckling")
#: People that a pronoun speaks of.
PEOPLE = _words("he she we they")
_DETERMINERS = _ONE | _OWNED
_CLOSED = _DETERMINERS | _SUBJECTS | _OTHERS | _JOINTS | _AUXILIARIES | _ADVERBS
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*|\d+|[,:]")


def parse_sentence(text: str) -> ParsedSentence:
    """The nouns and verbs of one sentence."""
    words = [word.replace("\u2019", "'") for word in _WORD.findall(text)]
    lower = [word.lower() for word in words]
    verbs: set[int] = set()
    for at in range(len(lower)):
        if _is_verb(lower, at, verbs):
            verbs.add(at)
    if not verbs and not _AUXILIARIES & set(lower):
        verbs |= _last_resort(lower)
    runs: list[list[str]] = [[]]
    for at, word in enumerate(lower):
        if at in verbs or word in _CLOSED or not word[0].isalpha() or _is_adverb(word):
            runs.append([])
            if word in PEOPLE:
                runs += [[word], []]
        else:
            runs[-1].append(word.removesuffix("'s"))
    nouns = tuple((" ".join(run), run[-1]) for run in runs if run)
    forms = {at: participle(lower[at], base=at > 0 and _names_many(lower[at - 1])) for at in sorted(verbs)}
    spoken = [forms.get(at, word) for at, word in enumerate(words)]
    return ParsedSentence(nouns, tuple(forms.values()), " ".join(spoken).replace(" ,", ","))


def stem(noun: str) -> str:
    """A noun in the singular, as far as its spelling tells."""
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    if noun.endswith(("sses", "shes", "ches", "xes")):
        return noun[:-2]
    return noun[:-1] if _is_plural(noun) and len(noun) > 3 else noun


def _is_adverb(word: str) -> bool:
    return word.endswith("ly") and len(word) > 5


def _is_verb(words: list[str], at: int, verbs: set[int]) -> bool:
    word = words[at]
    if word in _CLOSED or not word.isalpha() or _is_adverb(word):
        return False
    after = words[at + 1] if at + 1 < len(words) else ""
    start = _start(words, at, verbs)
    before = words[at - 1] if at else ""
    named = words[start:at]
    ends = not after or after in _JOINTS or after in _ADVERBS or not after[0].isalpha() or _is_adverb(after)
    if _subject(words, at):
        return True
    if word.endswith("ing") and len(word) > 5 and word not in _THINGS:
        return bool(named) or not (before in _DETERMINERS or before in _JOINTS) or not ends
    if word.endswith("ed") and len(word) > 4:
        return bool(named) or ends
    if after in _DETERMINERS or after in _OTHERS:
        return bool(named) or at == 0
    if not named:
        return False
    plural, article = _names_many(before), words[start - 1] if start else ""
    if _is_plural(word):
        # What an article for one thing begins, ends with a singular; behind "the city", "lights" may be the noun.
        return not plural and (article in _ONE or (article in _DETERMINERS and ends))
    return plural and (bool(after) or (article in _DETERMINERS and len(named) == 1))


def _names_many(word: str) -> bool:
    return word in _PLURALS or _is_plural(word)


def _last_resort(words: list[str]) -> set[int]:
    """The verb where none was found: behind a noun in the singular and before another noun ("the carnival leaves town")."""
    for at in range(2, len(words) - 1):
        article, noun, word, after = words[at - 2 : at + 2]
        if article in _DETERMINERS and noun not in _CLOSED and not _names_many(noun) and _is_plural(word) and after not in _CLOSED:
            return {at}
    return set()


def _is_plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "'s"))


def _subject(words: list[str], at: int) -> bool:
    """Whether a pronoun stands before a word, with nothing between them but what goes with verbs."""
    place = at - 1
    while place >= 0 and (words[place] in _ADVERBS or _is_adverb(words[place])):
        place -= 1
    return place >= 0 and words[place] in _SUBJECTS


def _start(words: list[str], at: int, verbs: set[int]) -> int:
    """Where the words begin that stand together before one."""
    start = at
    while start and start - 1 not in verbs and words[start - 1] not in _CLOSED and words[start - 1][0].isalpha():
        start -= 1
    return start


def participle(verb: str, *, base: bool = False) -> str:
    """The present participle of a verb that ends with s or ed, or that is in its base form. Others, such as "lost", stay as they are."""
    if verb.endswith(("ies", "ied")):
        stem = verb[:-3] + "y"
    elif verb.endswith(("sses", "shes", "ches", "xes", "zes")):
        stem = verb[:-2]
    elif verb.endswith("s") and not verb.endswith("ss"):
        stem = verb[:-1]
    elif verb.endswith("ed") and len(verb) > 4:
        stem = verb[:-2]
    elif base and not verb.endswith("ing"):
        stem = verb
    else:
        return verb
    if stem.endswith("ie"):
        return stem[:-2] + "ying"
    if stem.endswith("e") and not stem.endswith(("ee", "oe", "ye")):
        return stem[:-1] + "ing"
    if re.fullmatch(r"[^aeiou]*[aeiou][bdgmnpt]", stem):
        return stem + stem[-1] + "ing"
    return stem + "ing"
