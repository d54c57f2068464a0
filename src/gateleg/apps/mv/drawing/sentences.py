"""Find the nouns and verbs of a sentence.

Many words can be either ("trains", "watches", "lights"), so their neighbours decide. After a singular noun, a word that ends in s is a
verb, and so is a word before an article. Only closed classes of words are listed here: articles, pronouns, prepositions, auxiliaries and
adverbs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["PEOPLE", "ParsedSentence", "Vocabulary", "parse_sentence", "stem"]


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """The nouns and verbs of a sentence."""

    #: noun phrases, each as the whole phrase and its noun: ("old lighthouse keeper", "keeper")
    nouns: tuple[tuple[str, str], ...]
    #: verbs as participles ("training"), which cannot be mistaken for nouns
    verbs: tuple[str, ...]
    #: the sentence with its verbs as participles
    plain: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The singular nouns in the descriptions of elements: people and animals, and everything else."""

    figures: frozenset[str] = frozenset()
    things: frozenset[str] = frozenset()


_NO_VOCABULARY = Vocabulary()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SINGULAR_DETERMINERS = _words("a an this that every each one another")
_OTHER_DETERMINERS = _words(
    "the these those my your his her its our their some any no all both two three four five six seven ten many few several"
)
_SUBJECT_PRONOUNS = _words("i you he she it we they who")
_OTHER_PRONOUNS = _words(
    "me him us them myself himself herself themselves what which whose something everything nothing anything somebody "
    "everybody nobody anybody someone everyone anyone none mine yours hers ours theirs"
)
#: Prepositions and conjunctions.
_PREPOSITIONS = _words(
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
_IRREGULAR_PLURALS = _words("children men women people feet geese mice wolves")
#: Nouns that end in -ing.
_ING_NOUNS = _words("morning evening ceiling building wedding lightning painting clothing spring string darling duckling")
#: Pronouns that stand for people.
PEOPLE = _words("he she we they")
_DETERMINERS = _SINGULAR_DETERMINERS | _OTHER_DETERMINERS
_CLOSED_CLASS = _DETERMINERS | _SUBJECT_PRONOUNS | _OTHER_PRONOUNS | _PREPOSITIONS | _AUXILIARIES | _ADVERBS
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*|\d+|[,:]")


def parse_sentence(text: str, vocabulary: Vocabulary = _NO_VOCABULARY) -> ParsedSentence:
    """Find the nouns and verbs of one sentence.

    A known figure helps where the grammar is ambiguous: in "a girl and her dog walk home", "walk" is a verb, because a dog can walk.
    """
    words = [word.replace("\u2019", "'") for word in _WORD.findall(text)]
    lower = [word.lower() for word in words]
    verbs: set[int] = set()
    for at in range(len(lower)):
        if _is_verb(lower, at, verbs, vocabulary):
            verbs.add(at)
    if not verbs and not _AUXILIARIES & set(lower):
        verbs |= _find_transitive_verb(lower)
    phrases: list[list[str]] = [[]]
    for at, word in enumerate(lower):
        is_open = at not in verbs and word not in _CLOSED_CLASS and word[0].isalpha() and not _is_adverb(word)
        if not is_open or _means_homewards(lower, at, vocabulary):
            phrases.append([])
            if word in PEOPLE:
                phrases += [[word], []]
        else:
            phrases[-1].append(word.removesuffix("'s"))
    nouns = tuple((" ".join(phrase), phrase[-1]) for phrase in phrases if phrase)
    forms = {at: participle(lower[at], base=_has_plural_subject(lower, at, verbs)) for at in sorted(verbs)}
    with_participles = [forms.get(at, word) for at, word in enumerate(words)]
    return ParsedSentence(nouns, tuple(forms.values()), " ".join(with_participles).replace(" ,", ","))


def stem(noun: str) -> str:
    """The singular of a noun, judged by its spelling."""
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    if noun.endswith(("sses", "shes", "ches", "xes")):
        return noun[:-2]
    return noun[:-1] if _ends_in_s(noun) and len(noun) > 3 else noun


def _is_adverb(word: str) -> bool:
    return word.endswith("ly") and len(word) > 5


def _is_verb(words: list[str], at: int, verbs: set[int], vocabulary: Vocabulary) -> bool:
    word = words[at]
    if word in _CLOSED_CLASS or not word.isalpha() or _is_adverb(word):
        return False
    after = words[at + 1] if at + 1 < len(words) else ""
    start = _phrase_start(words, at, verbs)
    before = words[at - 1] if at else ""
    nouns_before = words[start:at]
    ends_phrase = not after or after in _PREPOSITIONS or after in _ADVERBS or not after[0].isalpha() or _is_adverb(after)
    if _follows_subject_pronoun(words, at):
        return True
    if word.endswith("ing") and len(word) > 5 and word not in _ING_NOUNS:
        return bool(nouns_before) or not (before in _DETERMINERS or before in _PREPOSITIONS) or not ends_phrase
    if word.endswith("ed") and len(word) > 4:
        return bool(nouns_before) or ends_phrase
    if after in _DETERMINERS or after in _OTHER_PRONOUNS:
        return bool(nouns_before) or at == 0
    if not nouns_before:
        return False
    plural, article = _is_plural(before), words[start - 1] if start else ""
    if _ends_in_s(word):
        # After an article for one thing, the noun is singular; after "the city", "lights" may be the noun.
        return not plural and (article in _SINGULAR_DETERMINERS or (article in _DETERMINERS and ends_phrase))
    if _is_second_subject(words, start) and stem(before) in vocabulary.figures and word not in vocabulary.things:
        return True
    return plural and (bool(after) or (article in _DETERMINERS and len(nouns_before) == 1))


def _is_plural(word: str) -> bool:
    return word in _IRREGULAR_PLURALS or _ends_in_s(word)


def _is_second_subject(words: list[str], start: int) -> bool:
    """Whether the noun phrase that begins at `start` is joined to another one: "her dog" in "a girl and her dog"."""
    joint = start - 2 if start and words[start - 1] in _DETERMINERS else start - 1
    return joint > 0 and words[joint] == "and" and (words[joint - 1] not in _CLOSED_CLASS or words[joint - 1] in _SUBJECT_PRONOUNS)


def _has_plural_subject(words: list[str], at: int, verbs: set[int]) -> bool:
    return at > 0 and (_is_plural(words[at - 1]) or _is_second_subject(words, _phrase_start(words, at, verbs)))


def _means_homewards(words: list[str], at: int, vocabulary: Vocabulary) -> bool:
    """Whether "home" is an adverb: after a person or animal that goes there ("walks her dog home")."""
    return words[at] == "home" and at > 0 and stem(words[at - 1]) in vocabulary.figures


def _find_transitive_verb(words: list[str]) -> set[int]:
    """The verb of a sentence in which none was found: after a singular noun and before another noun ("the carnival leaves town")."""
    for at in range(2, len(words) - 1):
        article, noun, word, after = words[at - 2 : at + 2]
        if (
            article in _DETERMINERS
            and noun not in _CLOSED_CLASS
            and not _is_plural(noun)
            and _ends_in_s(word)
            and after not in _CLOSED_CLASS
        ):
            return {at}
    return set()


def _ends_in_s(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "'s"))


def _follows_subject_pronoun(words: list[str], at: int) -> bool:
    """Whether a subject pronoun stands before a word, with only adverbs in between."""
    place = at - 1
    while place >= 0 and (words[place] in _ADVERBS or _is_adverb(words[place])):
        place -= 1
    return place >= 0 and words[place] in _SUBJECT_PRONOUNS


def _phrase_start(words: list[str], at: int, verbs: set[int]) -> int:
    """The start of the noun phrase that ends before a word."""
    start = at
    while start and start - 1 not in verbs and words[start - 1] not in _CLOSED_CLASS and words[start - 1][0].isalpha():
        start -= 1
    return start


def participle(verb: str, *, base: bool = False) -> str:
    """The present participle of a verb that ends in s or ed, or with `base` of a base form. Other words, such as "lost", stay unchanged."""
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
