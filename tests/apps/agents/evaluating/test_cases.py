"""Checks that need no model."""

from decimal import Decimal

import pytest

from gateleg.apps.agents.evaluating.cases import Contains, Equals, contains, equals


def test_a_text_is_found_in_any_case() -> None:
    assert contains(Contains(text="tea"), "They drink TEA.")
    assert not contains(Contains(text="tea"), "They drink milk.")


@pytest.mark.parametrize(
    ("value", "answer", "output", "passed"),
    [
        ({"a": 1, "b": [2]}, '{"b": [2], "a": 1.0}', None, True),
        ({"a": 1}, "the answer is 1", None, False),
        ({"a": 1}, "ignored", {"a": Decimal(1)}, True),
        ({"a": 1}, '{"a": 1}', {"a": 2}, False),
        (4, "4", None, True),
    ],
)
def test_a_structure_equals(value: object, answer: str, output: dict[str, object] | None, passed: bool) -> None:
    assert equals(Equals(value=value), answer, output) is passed
