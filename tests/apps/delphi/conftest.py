from collections.abc import AsyncIterator

import pytest

from gateleg.apps.delphi.service import ensure_tables
from gateleg.jobs import ManualClock
from gateleg.store import AsyncStore


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def store(clock: ManualClock) -> AsyncIterator[AsyncStore]:
    async with AsyncStore.embedded(clock=clock) as store:
        await ensure_tables(store)
        yield store
