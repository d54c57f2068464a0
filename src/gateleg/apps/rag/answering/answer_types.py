"""Check that a candidate has a value of the expected answer type: a number, a day, a name, a definition. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gateleg.apps.rag.answering.vocabulary import COLOURS, NUMBER_WORDS, PLACES, REASONS, TIMES, message_stems, relatives
from gateleg.apps.rag.index.analysis import analyse, split_words

if TYPE_CHECKING:
    from gateleg.apps.rag.answering.candidates import Candidate
    from gateleg.apps.rag.answering.questions import Question

#: A number, but not the digits of a code such as ERR-7 or B12.
_NUMBER = re.compile(r"(?<![\w.,])(?<![^\W\d_]-)\d")
_PHONE = re.compile(r"\+?\d(?:[ /().-]*\d){4,}")
_MAIL = re.compile(r"[^\s@]+@[^\s@]+\.\w")
_EVERY = re.compile(
    r"\b(?:every|each|daily|weekly|monthly|yearly|annually|hourly|nightly|once|twice|times|per|always|never|regularly)\b", re.IGNORECASE
)
_UNIT = re.compile(
    r"\b(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|decades?|nights?|until|till|forever|ms|s|h)\b", re.IGNORECASE
)
#: "Six of them are vegetarians": "them" refers to the previous sentence.
_OF_THEM = re.compile(rf"\b(?:\d+|{'|'.join(sorted(NUMBER_WORDS))}) of (?:them|these|those)\b", re.IGNORECASE)
#: The cell of a row that gives a reason.
_REASON_CELL = re.compile(r"(?:^|; )(?:reason|cause|why|grounds?|because)\b[^:;]{0,20}: \S", re.IGNORECASE)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*"
_DAY = re.compile(
    rf"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}|{_MONTH} \d{{1,2}}|\d{{4}}-\d\d-\d\d|"
    r"\d{1,2}[./]\d{1,2}[./]\d{2,4}|today|tomorrow|yesterday|weekdays?|weekends?|days?)\b",
    re.IGNORECASE,
)
#: One or more capitalized words.
_NAME = re.compile(r"[^\W\d_a-zß-öø-ÿ][\w'’-]+(?: [^\W\d_a-zß-öø-ÿ][\w'’-]+)*")
#: Words that may link a name to the thing that it names.
_LINKS = frozenset(["is", "was", "are", "were", "called", "named", "a", "an", "the", "our", "their", "its", "his", "her", "by", "of"])
#: The verb of "Who broke ..." or "Who will repair ...". "Who is ..." does not ask for an action.
_WHO = re.compile(
    r"\W*(?:and\s+|but\s+|so\s+)?who\s+(?:(?:will|may|can|could|must|should|has|have|had)\s+)?(?!is\b|are\b|was\b|were\b|be\b)([^\W\d_]+)",
    re.IGNORECASE,
)
_BY = re.compile(r"\bby\b", re.IGNORECASE)
#: A form of "be" before a word, with at most two words between them.
_PASSIVE = re.compile(r"\b(?:is|are|was|were|be|been|being|gets?|got)\s+(?:[\w-]+\s+){0,2}$", re.IGNORECASE)
#: An article before a word, which is then a noun: "the repair".
_NOUN = re.compile(r"\b(?:the|an?|this|that|no|any|each|every|its|his|her|our|their|your)\s+$", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:the|an?|each|every|this|our)\s+", re.IGNORECASE)
#: A verb that defines its subject, unlike "is taken over".
_DEFINES = re.compile(
    r"\W*(?:\([^()]*\)\s*)?(?:(?:is|was)\s+(?:an?|the|one|any|what|how|where|when|your|its|their|our)\b|(?:are|were)\s+(?!(?:not|only|also)\b|(?!named|called)\w+(?:ed|en)\b)"
    r"|(?:means?|denotes?|refers? to|stands? for|describes?|consists? of)\b)"
)


def has_answer_type(question: Question, candidate: Candidate) -> bool:
    """Whether a candidate has a value of the question's expected answer type."""
    text = candidate.text
    if candidate.kind in ("code", "command", "announced") and question.answer_type != "steps":
        return False
    if candidate.kind == "header" and all(message_stems().isdisjoint(word) for word in question.words):
        return False
    match question.answer_type:
        case "number":
            return has_number(text)
        case "phone":
            return _PHONE.search(text) is not None
        case "mail":
            return _MAIL.search(text) is not None
        case "name":
            return _names(question, candidate)
        case "definition":
            return _defines(question, candidate)
        case "count":
            return _counts(question.counted, candidate)
        case "time":
            return TIMES.search(text) is not None
        case "day":
            return _DAY.search(text) is not None
        case "duration":
            return has_number(text) and _UNIT.search(text) is not None
        case "frequency":
            return has_number(text) or _EVERY.search(text) is not None
        case "colour":
            return not COLOURS.isdisjoint(split_words(text))
        case "place":
            return PLACES.search(text) is not None if candidate.kind != "row" else not relatives("where").isdisjoint(analyse(text))
        case "reason":
            return REASONS.search(text) is not None or (candidate.kind == "row" and _REASON_CELL.search(text) is not None)
        case _:
            return not _leaves_out_who(question, text)


def _leaves_out_who(question: Question, text: str) -> bool:
    """Whether a text mentions the action of a "who" question but not the person: "the valve is broken" does not say who broke it, and
    "the repair takes a week" does not say who repaired it."""
    asked = _WHO.match(question.text)
    if asked is None or _BY.search(text):
        return False
    verb = {stem for own in analyse(asked[1]) for stem in (own, *relatives(own))}
    forms = [place for place in re.finditer(r"[^\W\d_]+", text) if not verb.isdisjoint(analyse(place[0]))]
    return bool(forms) and all(_PASSIVE.search(text, 0, place.start()) or _NOUN.search(text, 0, place.start()) for place in forms)


def has_number(text: str) -> bool:
    """Whether a text contains a number, in digits or words."""
    return _NUMBER.search(text) is not None or not (NUMBER_WORDS - {"one", "once"}).isdisjoint(split_words(text))


def _counts(counted: tuple[str, ...], candidate: Candidate) -> bool:
    """Whether a number precedes the counted noun; a row may have it in any cell."""
    if candidate.kind == "row" or not counted:
        return has_number(candidate.text)
    words = list(split_words(candidate.text))
    if _OF_THEM.search(candidate.text) and not set(counted).isdisjoint(analyse(candidate.before)):
        return True
    for place, word in enumerate(words):
        if set(counted) & set(analyse(word)):
            nearby = words[max(0, place - 3) : place]
            if any(one.isdigit() or one in NUMBER_WORDS or one == "no" for one in nearby):
                return True
    return False


def _names(question: Question, candidate: Candidate) -> bool:
    """Whether a name is next to the thing that it names: "the tenant is Ada Moreau", "our curator, Ada Moreau". A row has it in a cell."""
    text = candidate.text
    if candidate.kind in ("row", "header"):
        return any(_NAME.fullmatch(value) for _, value in _cells(text))
    owners = [one for one in re.finditer(r"\w+", text) if any(set(analyse(one[0])) & set(word) for word in question.words)]
    names = [one for one in _NAME.finditer(text) if one.start() > 0 or " " in one[0]]
    return any(_is_linked(text, one.span(), name.span()) for one in owners for name in names)


def _is_linked(text: str, one: tuple[int, int], other: tuple[int, int]) -> bool:
    first, second = sorted((one, other))
    return first[1] <= second[0] and all(word in _LINKS for word in split_words(text[first[1] : second[0]]))


def _defines(question: Question, candidate: Candidate) -> bool:
    """Whether a candidate defines the question's term: at its beginning, in a cell, or below a heading with the term."""
    wanted = [stem for word in question.words for stem in word]
    if candidate.kind == "row":
        return any(analyse(value) == wanted for _, value in _cells(candidate.text))
    text = _ARTICLE.sub("", candidate.text, count=1) if _ARTICLE.match(candidate.text) else candidate.text
    words = list(re.finditer(r"[^\W_]+", text))
    if len(words) > len(wanted) and analyse(text[: words[len(wanted) - 1].end()]) == wanted:
        return _DEFINES.match(text, words[len(wanted) - 1].end()) is not None
    return not candidate.before and analyse(candidate.heading) == wanted


def _cells(row: str) -> list[tuple[str, str]]:
    """The column names and values of a row."""
    return [(name, value.strip()) for name, _, value in (cell.partition(": ") for cell in row.split("; "))]
