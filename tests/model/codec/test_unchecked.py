"""An instance constructed without pydantic equals the one that pydantic constructs."""

from gateleg.jobs.tables import Attempt
from gateleg.model.validation import construct_unchecked


def test_an_unchecked_instance_equals_a_validated_one() -> None:
    checked = Attempt.model_validate({"number": 1, "worker_id": "w", "started_at": 0, "ended_at": 1, "outcome": "completed"})
    assert construct_unchecked(Attempt, dict(checked.__dict__)) == checked
