"""What a check of a request's shape answers."""

from typing import Any

import pytest

from gateleg.engine.errors import EngineError
from gateleg.engine.protocol import check


def refusal(operation: str, request: Any) -> EngineError:
    """The error that a request is refused with."""
    with pytest.raises(EngineError) as caught:
        check(operation, request)
    return caught.value


def faults(operation: str, request: Any) -> list[str]:
    """The constraint faults that a request is refused for."""
    error = refusal(operation, request)
    assert error.code == "ValidationException"
    assert error.message is not None
    head, _, tail = error.message.partition(" detected: ")
    found = tail.split("; ")
    assert head == (f"{len(found)} validation errors" if len(found) > 1 else "1 validation error")
    return found
