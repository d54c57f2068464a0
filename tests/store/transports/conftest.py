from collections.abc import Iterator
from typing import Any

import pytest

from tests.store.transports.callers import AsyncCaller, Caller, Make, SyncCaller


@pytest.fixture(params=[SyncCaller, AsyncCaller], ids=["sync", "async"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """A function that creates callers of each kind, which are closed after the test."""
    made: list[Caller] = []

    def new(url: str, *arguments: Any, **named: Any) -> Caller:
        caller: Caller = request.param(url, *arguments, **named)
        made.append(caller)
        return caller

    yield new
    for caller in made:
        caller.close()
