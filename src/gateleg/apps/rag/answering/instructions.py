"""Score candidates as answers to how-to questions ("How do I ...?"). Pure.

A sentence with the words of the question need not explain how. A command, code or an instruction in the section about the task does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gateleg.apps.rag.answering.vocabulary import GENERIC, relatives
from gateleg.apps.rag.index.analysis import analyse

if TYPE_CHECKING:
    from gateleg.apps.rag.answering.candidates import Candidate
    from gateleg.apps.rag.answering.questions import Question

#: Verbs of instructions, in the imperative.
_VERBS = """add allow apply ask attach build call change check choose click clean close configure connect copy create declare define delete
    deploy disable download drop edit enable enter export fill fit follow give go hold import insert install keep leave let load
    make mark mount move name open pass place plug point press pull push put raise read remove rename repeat replace reset restart restore
    return rotate run save scan schedule select send set share sign specify start stop store submit switch take test turn type
    unplug update upgrade upload use verify wait wrap write"""
_INSTRUCTION = re.compile(rf"(?:^|[,:;] |\bthen |\bfirst |\band |\bso )(?:{'|'.join(_VERBS.split())})\b", re.IGNORECASE)
_CODE_SPAN = re.compile(r"`[^`\n]+`")
_NEGATION = re.compile(r"\b(?:not|cannot|never|without|no longer)\b((?:\W+\w+){1,3})", re.IGNORECASE)
_FIRST_CELL = re.compile(r"[^:;]{1,60}: ([^;]+);")
#: A table row about a problem, and a question about a problem.
_SYMPTOM = re.compile(r"(?:symptom|problem|error|fault|code)s?: ", re.IGNORECASE)
_PROBLEM = re.compile(r"\b(?:when|if|error|errors|wrong|fails?|failed|failing|broken|fix|solve)\b", re.IGNORECASE)
#: Bonuses for code, for an instruction, and for a code span.
_CODE_BONUS, _INSTRUCTION_BONUS, _CODE_SPAN_BONUS = 0.16, 0.10, 0.08
#: Bonuses for the score of the hit, and for headings that name the task.
_RANK_BONUS, _HEADINGS_BONUS = 0.2, 0.12
#: Bonuses for the question's verb in its base form, and for a table row that starts with it.
_VERB_BONUS, _ROW_BONUS = 0.06, 0.1
#: Penalty for negating the question, or for a row about a problem that the question does not mention.
_PENALTY = 0.15
#: Minimum share of the question's words in code with its headings, and in a paragraph of source code itself.
_MIN_SHARE, _MIN_OWN_SHARE = 0.6, 0.5
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def instruction_bonus(question: Question, candidate: Candidate) -> float:
    """The bonus of a candidate as an answer to a how-to question."""
    gain = _RANK_BONUS * candidate.relative_score + _HEADINGS_BONUS * word_coverage(question, set(analyse(candidate.headings)))
    if candidate.kind in ("code", "command", "announced"):
        gain += _CODE_BONUS if candidate.kind != "announced" or _introduces_code(candidate.text) else _CODE_BONUS / 2
    else:
        gain += _INSTRUCTION_BONUS if is_instruction(candidate.text) else 0.0
        gain += _CODE_SPAN_BONUS if _CODE_SPAN.search(candidate.quote) else 0.0
    if question.verb and question.verb not in GENERIC:
        gain += _VERB_BONUS if _has_word(candidate.text, question.verb) else 0.0
        first = _FIRST_CELL.match(candidate.text) if candidate.kind == "row" else None
        gain += _ROW_BONUS if first is not None and _has_word(first[1], question.verb) else 0.0
    return gain - (_PENALTY if _negates(question, candidate.text) or _is_about_problem(question, candidate) else 0.0)


def _introduces_code(text: str) -> bool:
    """Whether the sentence before the code introduces it: it ends with a colon or is an instruction."""
    sentence = text.partition("\n")[0]
    return sentence.endswith(":") or is_instruction(sentence)


def is_instruction(text: str) -> bool:
    """Whether a text is an instruction to the reader."""
    return _INSTRUCTION.search(text) is not None


def is_instruction_or_code(candidate: Candidate) -> bool:
    """Whether a candidate is an instruction or contains code."""
    return candidate.kind in ("code", "command", "announced") or is_instruction(candidate.text) or bool(_CODE_SPAN.search(candidate.quote))


def _has_word(text: str, word: str) -> bool:
    """Whether a text contains a word in exactly this form, also within an identifier: instructions use the base form of a verb."""
    return word in re.split(r"[\W_]+", _HUMP.sub(" ", text).lower())


def _is_about_problem(question: Question, candidate: Candidate) -> bool:
    """Whether a candidate is a table row about a problem, while the question mentions none."""
    return candidate.kind == "row" and bool(_SYMPTOM.match(candidate.text)) and not _PROBLEM.search(question.text)


def _negates(question: Question, text: str) -> bool:
    """Whether a text negates a word of the question, while the question has no negation."""
    asked = {stem for word in question.words for one in word for stem in (one, *relatives(one))}
    return not _NEGATION.search(question.text) and any(not asked.isdisjoint(analyse(found[1])) for found in _NEGATION.finditer(text))


def is_about(question: Question, candidate: Candidate) -> bool:
    """Whether code is about the question's task: most of the question's words are in the code or its headings. For a command, all of them
    may be in the headings; a paragraph of source code must contain some itself."""
    if candidate.kind not in ("code", "command"):
        return True
    own = set(identifier_stems(candidate.text))
    whole = word_coverage(question, own | set(analyse(candidate.headings)))
    return whole >= _MIN_SHARE and (candidate.kind == "command" or word_coverage(question, own) >= _MIN_OWN_SHARE)


def word_coverage(question: Question, stems: set[str]) -> float:
    """The share of the question's words that are among the stems."""
    held = sum(stems.issuperset(word) or (len(word) == 1 and not stems.isdisjoint(relatives(word[0]))) for word in question.words)
    return held / (len(question.words) or 1)


def identifier_stems(text: str) -> list[str]:
    """The stems of a text, with identifiers split into words: `allowedGroups` has two."""
    return analyse(_HUMP.sub(" ", text))
