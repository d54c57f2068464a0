from collections.abc import Iterator

import pytest

from gateleg.endpoint import serve_in_thread
from tests.endpoint.fakes import FakeEngine, Wire


@pytest.fixture
def fake() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def url(fake: FakeEngine) -> Iterator[str]:
    with serve_in_thread(fake) as url:
        yield url


@pytest.fixture
def wire(url: str) -> Iterator[Wire]:
    with Wire(url) as wire:
        yield wire
