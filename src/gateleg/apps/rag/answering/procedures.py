"""How well something says what to do: for questions that ask for steps. Pure.

A sentence that has the words of "How do I ...?" need not say how. What does is a command, code, or a sentence that tells the reader to do
something, in the section that is about the task.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gateleg.apps.rag.answering.vocabulary import GENERIC, relatives
from gateleg.apps.rag.index.analysis import analyse

if TYPE_CHECKING:
    from gateleg.apps.rag.answering.candidates import Candidate
    from gateleg.apps.rag.answering.questions import Question

#: Verbs that documents tell their readers to do something with.
_VERBS = """add allow apply ask attach build call change check choose click clean close configure connect copy create declare define delete
    deploy disable download drop edit enable enter export fill fit follow give go hold import insert install keep leave let load
    make mark mount move name open pass place plug point press pull push put raise read remove rename repeat replace reset restart restore
    return rotate run save scan schedule select send set share sign specify start stop store submit switch take test turn type
    unplug update upgrade upload use verify wait wrap write"""
_TELLS = re.compile(rf"(?:^|[,:;] |\bthen |\bfirst |\band |\bso )(?:{'|'.join(_VERBS.split())})\b", re.IGNORECASE)
_CODE_SPAN = re.compile(r"`[^`\n]+`")
_DENIAL = re.compile(r"\b(?:not|cannot|never|without|no longer)\b((?:\W+\w+){1,3})", re.IGNORECASE)
_FIRST_CELL = re.compile(r"[^:;]{1,60}: ([^;]+);")
#: A row about something that is wrong, and a question about that.
_SYMPTOM = re.compile(r"(?:symptom|problem|error|fault|code)s?: ", re.IGNORECASE)
_TROUBLE = re.compile(r"\b(?:when|if|error|errors|wrong|fails?|failed|failing|broken|fix|solve)\b", re.IGNORECASE)
#: What a candidate gains: by showing what to write, by telling what to do or quoting code, by standing in the section that was found
#: first, by headings that name the task, by the verb of the question as it is written, and by a row that is named after it; and what it
#: loses by denying what is asked for, or by being about trouble that nobody has.
_SHOWS, _ORDERS, _QUOTES_CODE, _SECTION, _HEADINGS, _VERB, _ROW, _DENIED = 0.16, 0.10, 0.08, 0.2, 0.12, 0.06, 0.1, 0.15
#: The part of a question's words that code has together with its headings, and that a paragraph of source code has itself.
_MOST, _SOME = 0.6, 0.5
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def instruction(question: Question, candidate: Candidate) -> float:
    """What a candidate gains as an answer to a question for steps."""
    gain = _SECTION * candidate.standing + _HEADINGS * share(question, set(analyse(candidate.headings)))
    if candidate.kind in ("code", "command", "announced"):
        gain += _SHOWS if candidate.kind != "announced" or _announces(candidate.text) else _SHOWS / 2
    else:
        gain += _ORDERS if tells_to_do(candidate.text) else 0.0
        gain += _QUOTES_CODE if _CODE_SPAN.search(candidate.quote) else 0.0
    if question.verb and question.verb not in GENERIC:
        gain += _VERB if _has_word(candidate.text, question.verb) else 0.0
        first = _FIRST_CELL.match(candidate.text) if candidate.kind == "row" else None
        gain += _ROW if first is not None and _has_word(first[1], question.verb) else 0.0
    return gain - (_DENIED if _denies(question, candidate.text) or _is_about_trouble(question, candidate) else 0.0)


def _announces(text: str) -> bool:
    """Whether the sentence before some code is about it: it ends with a colon, or tells to do something."""
    sentence = text.partition("\n")[0]
    return sentence.endswith(":") or tells_to_do(sentence)


def tells_to_do(text: str) -> bool:
    """Whether a text tells its reader to do something."""
    return _TELLS.search(text) is not None


def tells(candidate: Candidate) -> bool:
    """Whether a candidate says what to do, or shows it."""
    return candidate.kind in ("code", "command", "announced") or tells_to_do(candidate.text) or bool(_CODE_SPAN.search(candidate.quote))


def _has_word(text: str, word: str) -> bool:
    """Whether a text has a word as it is written, also as a part of a name: an instruction has the plain form of its verb."""
    return word in re.split(r"[\W_]+", _HUMP.sub(" ", text).lower())


def _is_about_trouble(question: Question, candidate: Candidate) -> bool:
    """Whether a row says what to do about something that is wrong, and nothing is."""
    return candidate.kind == "row" and bool(_SYMPTOM.match(candidate.text)) and not _TROUBLE.search(question.text)


def _denies(question: Question, text: str) -> bool:
    """Whether a text says that something of a question is not done."""
    asked = {stem for word in question.words for one in word for stem in (one, *relatives(one))}
    return not _DENIAL.search(question.text) and any(not asked.isdisjoint(analyse(found[1])) for found in _DENIAL.finditer(text))


def is_about(question: Question, candidate: Candidate) -> bool:
    """Whether code is about the task of a question, and not only beside something that is: it has most of its words, with the headings
    above it. A command may have all of them there; a paragraph of source code has some itself."""
    if candidate.kind not in ("code", "command"):
        return True
    own = set(identifier_words(candidate.text))
    whole = share(question, own | set(analyse(candidate.headings)))
    return whole >= _MOST and (candidate.kind == "command" or share(question, own) >= _SOME)


def share(question: Question, stems: set[str]) -> float:
    """The part of a question's words that some stems have."""
    held = sum(stems.issuperset(word) or (len(word) == 1 and not stems.isdisjoint(relatives(word[0]))) for word in question.words)
    return held / (len(question.words) or 1)


def identifier_words(text: str) -> list[str]:
    """The stems of a text whose names are taken apart: `allowedGroups` has two."""
    return analyse(_HUMP.sub(" ", text))
