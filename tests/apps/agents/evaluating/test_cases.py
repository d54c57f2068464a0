"""Checks that need no model."""

from decimal import Decimal
from typing import Any

import pytest

from gateleg.apps.agents.errors import BadField
from gateleg.apps.agents.evaluating.cases import (
    SHOWN_REASON,
    Case,
    Contains,
    Equals,
    answer_bytes,
    check_size,
    contains,
    equals,
    excerpt,
)
from gateleg.apps.agents.evaluation_tables import Evaluation
from gateleg.apps.agents.partitions import Partition
from gateleg.model import spec_of
from gateleg.store import Store


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


def questions(count: int, length: int) -> list[dict[str, Any]]:
    return [Case(question="x" * length, checks=[Contains(text="y")]).model_dump(mode="json") for _ in range(count)]


def test_an_evaluation_whose_results_could_not_be_stored_is_refused_before_it_is_paid() -> None:
    check_size(questions(30, 5_000), 1)
    with pytest.raises(BadField, match="30 questions with 2 versions would be too large") as refused:
        check_size(questions(30, 6_000), 2)
    assert "Split the set" in refused.value.fix


@pytest.mark.parametrize(("count", "length", "versions"), [(50, 2_000, 2), (30, 4_500, 1), (3, 100, 2), (50, 300, 2)])
def test_what_is_not_refused_fits_into_an_item(count: int, length: int, versions: int) -> None:
    cases = questions(count, length)
    check_size(cases, versions)
    room = answer_bytes(cases, versions)
    answer = excerpt("\N{ROCKET}" * 2_000, room)
    assert len(answer) <= 1_500
    result = {
        "answer": answer,
        "passed": False,
        "checks": [{"kind": "contains", "passed": False, "reason": excerpt("\N{ROCKET}" * 900, SHOWN_REASON)}],
        "status": "completed",
        "thread_uuid": "x" * 36,
        "run_uuid": "x" * 36,
        "total_tokens": 10**6,
        "time_spent": 10**6,
    }
    results = [{"question": case["question"], "versions": {f"{'v' * 35}{one}": result for one in range(versions)}} for case in cases]
    evaluation = Evaluation(
        partition=Partition(endpoint_id="e" * 128, part_id="p" * 128),
        evaluation_set_uuid="s" * 36,
        name="n" * 200,
        owner_id="o" * 200,
        agent_uuid="a" * 128,
        agent_version_uuids=[f"{'v' * 35}{one}" for one in range(versions)],
        cases=cases,
        results=results,
    )
    with Store.embedded() as store:
        store.create_tables(spec_of(Evaluation).table)
        store.create(evaluation)
