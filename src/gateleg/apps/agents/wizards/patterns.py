"""Patterns that tenants give for answers: regular expressions that end in time. Pure.

Python tries every way to match an expression, which can take longer than anybody waits. Only expressions are taken in which repetitions are
not nested and few are without an end, for answers of a bounded length.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gateleg.apps.agents.errors import BadField

#: Characters of a pattern, and of an answer that is compared with one.
LONGEST_PATTERN, LONGEST_ANSWER = 500, 500
#: Repetitions without an end. Each multiplies the ways to match by the length of the answer.
MOST_REPETITIONS = 3
_ENDLESS = re.compile(r"[*+]|\{\d*,\}")
_REPEATED = re.compile(r"[*+?]|\{\d*,?\d*\}")
_SKIPPED = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


def matches(pattern: str, answer: str) -> bool:
    """Whether the whole of an answer is what a pattern describes. Raises `BadField` for a pattern that is refused."""
    return len(answer) <= LONGEST_ANSWER and compiled(pattern).fullmatch(answer) is not None


@lru_cache(maxsize=1000)
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, if it is one that ends in time."""
    problem = _problem(pattern)
    if problem is not None:
        raise BadField(f"The pattern {problem}.", fix="Use a shorter, plainer one; alternatives and groups need no repetition.")
    try:
        return re.compile(pattern)
    except re.error as error:
        raise BadField(f"The pattern is not a regular expression: {error}.", details={"field": "pattern"}) from None


def _problem(pattern: str) -> str | None:
    if len(pattern) > LONGEST_PATTERN:
        return f"has {len(pattern)} characters; {LONGEST_PATTERN} are permitted"
    if re.search(r"\\[1-9]|\(\?P=|\(\?[=!<]", pattern.replace("(?P<", "(")):
        return "refers to what it has matched, or looks ahead or behind"
    # What is escaped or in brackets is one character.
    plain = _SKIPPED.sub("x", pattern)
    if len(_ENDLESS.findall(plain)) > MOST_REPETITIONS:
        return f"has more than {MOST_REPETITIONS} repetitions without an end"
    return "repeats a group in which something repeats or is an alternative" if _is_nested(plain) else None


def _is_nested(plain: str) -> bool:
    """Whether a group is repeated that contains a repetition or alternatives."""
    inner: list[bool] = []
    for place, character in enumerate(plain):
        if character == "(":
            inner.append(False)
        elif character == ")" and inner:
            holds = inner.pop()
            repeated = _ENDLESS.match(plain, place + 1) is not None or re.match(r"\{\d*,?\d*\}", plain[place + 1 :]) is not None
            if holds and repeated:
                return True
            if inner:
                inner[-1] = inner[-1] or holds or repeated
        elif inner and (character == "|" or (_REPEATED.match(plain, place) and plain[place - 1 : place] != "(")):
            inner[-1] = True
    return False
