from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.apps.agents.running.hosted import SCRIPTS, Hosted, hosting, register_scripts


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    register_scripts(monkeypatch.setattr)
    yield
    SCRIPTS.clear()


@pytest.fixture
async def hosted(tmp_path: Path) -> AsyncIterator[Hosted]:
    """A host with a worker."""
    async with hosting(tmp_path) as hosted:
        yield hosted


@pytest.fixture
async def idle(tmp_path: Path) -> AsyncIterator[Hosted]:
    """A host whose jobs wait until the test has a worker take them."""
    async with hosting(tmp_path, work=False) as hosted:
        yield hosted
