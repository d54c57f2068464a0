"""Bounds are not enforced on reads, and instances can be constructed without validation."""

from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError
from pydantic_core import SchemaValidator

from gateleg.jobs.tables import Attempt
from gateleg.model import validation
from gateleg.model.validation import construct_unchecked, reading_validator


class Part(BaseModel):
    count: int = Field(ge=0)


class Whole(BaseModel):
    parts: list[Part]


def test_bounds_of_nested_models_are_ignored() -> None:
    assert reading_validator(Whole)({"parts": [{"count": -1}]}).parts[0].count == -1


def test_they_are_ignored_where_prebuilt_validators_cannot_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pydantic 2.11 and 2.12 have prebuilt validators, and no argument to build without them."""

    def older(schema: Any, config: Any = None) -> SchemaValidator:
        return SchemaValidator(schema, config)

    monkeypatch.setattr(validation, "SchemaValidator", older)
    assert reading_validator(Whole)({"parts": [{"count": -1}]}).parts[0].count == -1
    assert vars(Part)["__pydantic_complete__"]
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        Whole.model_validate({"parts": [{"count": -1}]})


def test_an_unchecked_instance_equals_a_validated_one() -> None:
    checked = Attempt.model_validate({"number": 1, "worker_id": "w", "started_at": 0, "ended_at": 1, "outcome": "completed"})
    assert construct_unchecked(Attempt, dict(checked.__dict__)) == checked
