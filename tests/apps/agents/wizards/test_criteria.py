"""Criteria and patterns: what values fulfil them."""

from typing import Any

import pytest

from gateleg.apps.agents.errors import BadField
from gateleg.apps.agents.wizards.criteria import check_criteria, is_fulfilled
from gateleg.apps.agents.wizards.patterns import LONGEST_ANSWER, compiled, matches


@pytest.mark.parametrize(
    ("criterion", "value", "holds"),
    [
        ("Gold", " gold ", True),
        ("gold", "silver", False),
        (1, True, False),
        (True, True, True),
        (5, 5.0, True),
        (["a", "b"], "B", True),
        (["a", "b"], ["c", "b"], True),
        (["a", "b"], "c", False),
        ({"min": 18}, 18, True),
        ({"min": 18, "max": 65}, 66, False),
        ({"min": 18}, "18", False),
        ({"min": 18}, None, False),
        ({"operator": ">", "value": 3}, 4, True),
        ({"operator": "at_most", "value": "m"}, "a", True),
        ({"operator": "contains", "value": "ell"}, "HELLO", True),
        ({"operator": "contains", "value": "x"}, ["X", "y"], True),
        ({"operator": "not_in", "value": ["a"]}, None, True),
        ({"operator": "not_equals", "value": "a"}, "b", True),
        ({"operator": "exists"}, "", False),
        ({"operator": "missing"}, None, True),
        ({"operator": "exists", "value": False}, None, True),
        ("x", None, False),
    ],
)
def test_criteria(criterion: Any, value: Any, holds: bool) -> None:
    assert is_fulfilled(criterion, value) is holds


@pytest.mark.parametrize("criterion", [{}, {"least": 3}, {"operator": "eval", "value": "x"}])
def test_criteria_that_cannot_be_decided_are_refused(criterion: Any) -> None:
    with pytest.raises(BadField):
        check_criteria({"name": criterion})


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (r"[^@\s]+@[^@\s]+\.[a-z]{2,}", "ann@acme.test", "ann"),
        (r"\+?\d{1,3}[- ]?\d{3,12}", "+49 1234567", "phone"),
        (r"(Mr|Ms|Dr)\.? \w+", "Dr. Who", "Sir Who"),
        (r"\d{4}-\d{2}-\d{2}", "2026-01-31", "31.1.2026"),
        (r"(abc){2}", "abcabc", "abc"),
        (r"[*+(]+", "(*+", "a"),
        (r"\(\d*\)", "(12)", "12"),
    ],
)
def test_patterns_describe_the_whole_answer(pattern: str, good: str, bad: str) -> None:
    assert matches(pattern, good)
    assert not matches(pattern, bad)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+", "((a*)b?)*", r"(\w+)\1", "(?=a)b", "a*a*a*a*b", "(", "a" * 501, "(a{1,9}){1,9}"])
def test_patterns_that_may_never_end_are_refused(pattern: str) -> None:
    with pytest.raises(BadField):
        compiled(pattern)


def test_longer_answers_match_nothing() -> None:
    assert matches("a*", "a" * LONGEST_ANSWER)
    assert not matches("a*", "a" * (LONGEST_ANSWER + 1))
