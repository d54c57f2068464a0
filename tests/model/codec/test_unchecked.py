"""Instances constructed without pydantic equal those that pydantic constructs."""

from typing import Any

from pydantic import BaseModel, ConfigDict, PrivateAttr

from gateleg.jobs.tables import Attempt
from gateleg.jobs.tables.job import Job
from gateleg.model.validation import construct_unchecked, copy_unchecked


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: str = "a"
    _seen: dict[str, Any] = PrivateAttr(default_factory=dict)


def test_an_unchecked_copy_equals_a_copy_by_the_model() -> None:
    job = Job(job_type="any", priority=7)
    changes = {"priority": 9, "queue": "other"}
    assert copy_unchecked(job, changes) == job.model_copy(update=changes)
    assert copy_unchecked(job, changes).model_fields_set == job.model_copy(update=changes).model_fields_set
    assert job.priority == 7


def test_changing_a_copy_does_not_change_the_original() -> None:
    first = Open.model_validate({"name": "a", "more": 1})
    second = copy_unchecked(first, {"name": "b"})
    second._seen = {"x": 1}
    second.other = 2  # type: ignore[attr-defined]
    assert (first._seen, first.model_extra) == ({}, {"more": 1})
    assert second.model_dump() == {"name": "b", "more": 1, "other": 2}


def test_an_unchecked_instance_equals_a_validated_one() -> None:
    checked = Attempt.model_validate({"number": 1, "worker_id": "w", "started_at": 0, "ended_at": 1, "outcome": "completed"})
    assert construct_unchecked(Attempt, dict(checked.__dict__)) == checked
