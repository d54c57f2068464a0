from collections.abc import Iterator

import pytest

from gateleg.engine.engine import Engine


class Clock:
    """A clock that moves on by a second at each look."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        self.time += 1
        return self.time


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine(":memory:", clock=Clock(), background=False) as engine:
        yield engine
