"""Criteria: what values fulfil them."""

from typing import Any

import pytest

from gateleg.apps.agents.errors import BadField
from gateleg.apps.agents.wizards.criteria import check_criteria, is_fulfilled


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
