import random
from collections.abc import Iterator

import pytest

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.handlers import Jobs
from gateleg.jobs.queue import Queue
from gateleg.jobs.tables.job import TableNames
from gateleg.jobs.testing import ManualClock
from gateleg.store import Store
from tests.jobs.layouts import BROUGHT, PLAIN
from tests.jobs.sample import make_jobs


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store(clock: ManualClock) -> Iterator[Store]:
    with Store.embedded(clock=clock, ticks=clock, random=random.Random(1)) as store:
        yield store


@pytest.fixture
def jobs() -> Jobs:
    return make_jobs()


@pytest.fixture(params=[(PLAIN, ()), (BROUGHT, ()), (PLAIN, (BROUGHT,))], ids=["plain", "delphi", "both"])
def names(request: pytest.FixtureRequest) -> tuple[TableNames, tuple[TableNames, ...]]:
    """The tables of `queue`, its own and further ones: whatever is true of a queue is true by every name, and on several tables."""
    found: tuple[TableNames, tuple[TableNames, ...]] = request.param
    return found


@pytest.fixture
def queue(store: Store, jobs: Jobs, names: tuple[TableNames, tuple[TableNames, ...]]) -> Queue:
    queue = Queue(store, jobs, tables=names[0], further=names[1])
    queue.ensure_tables()
    return queue


@pytest.fixture
def selector(clock: ManualClock) -> CandidateSelector:
    return CandidateSelector(clock, fresh_for=-1.0)
