"""Regular expressions of tenants for answers, restricted to those that match in bounded time. Pure.

Python's regular expressions backtrack, which can take exponential time. Patterns are therefore limited in length, may not nest repetitions,
and may contain only a few unbounded repetitions; answers are limited in length.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gateleg.apps.agents.errors import BadField

#: Maximum lengths in characters: of a pattern, and of an answer to match.
LONGEST_PATTERN, LONGEST_ANSWER = 500, 500
#: The maximum number of unbounded repetitions. Each multiplies the matching time by the length of the answer.
MOST_REPETITIONS = 3
_ENDLESS = re.compile(r"[*+]|\{\d*,\}")
_REPEATED = re.compile(r"[*+?]|\{\d*,?\d*\}")
_SKIPPED = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


def matches(pattern: str, answer: str) -> bool:
    """Whether a pattern matches an entire answer. Raises `BadField` for a pattern that is not allowed."""
    return len(answer) <= LONGEST_ANSWER and compiled(pattern).fullmatch(answer) is not None


@lru_cache(maxsize=1000)
def compiled(pattern: str) -> re.Pattern[str]:
    """A compiled pattern, if it is allowed."""
    problem = _problem(pattern)
    if problem is not None:
        fix = "Use a shorter, simpler pattern; do not repeat groups that contain alternatives or repetitions."
        raise BadField(f"The pattern {problem}.", fix=fix)
    try:
        return re.compile(pattern)
    except re.error as error:
        raise BadField(f"The pattern is not a regular expression: {error}.", details={"field": "pattern"}) from None


def _problem(pattern: str) -> str | None:
    if len(pattern) > LONGEST_PATTERN:
        return f"has {len(pattern)} characters; the maximum is {LONGEST_PATTERN}"
    if re.search(r"\\[1-9]|\(\?P=|\(\?[=!<]", pattern.replace("(?P<", "(")):
        return "uses a backreference, lookahead or lookbehind"
    # Escapes and character classes count as one character.
    plain = _SKIPPED.sub("x", pattern)
    if len(_ENDLESS.findall(plain)) > MOST_REPETITIONS:
        return f"has more than {MOST_REPETITIONS} unbounded repetitions"
    return "repeats a group that contains a repetition or alternatives" if _is_nested(plain) else None


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
