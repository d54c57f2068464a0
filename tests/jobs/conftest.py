import random
from collections.abc import Iterator

import pytest

from gateleg.jobs.claim.selection import CandidateSelector
from gateleg.jobs.handlers import Jobs
from gateleg.jobs.manual_clock import ManualClock
from gateleg.jobs.queue import Queue
from gateleg.jobs.tables.table_names import LAYOUTS, TableNames
from gateleg.store import Store
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


@pytest.fixture(params=LAYOUTS.values(), ids=list(LAYOUTS))
def names(request: pytest.FixtureRequest) -> TableNames:
    """What the tables of `queue` are called: whatever is true of a queue is true by every name."""
    found: TableNames = request.param
    return found


@pytest.fixture
def queue(store: Store, jobs: Jobs, names: TableNames) -> Queue:
    queue = Queue(store, jobs, tables=names)
    queue.ensure_tables()
    return queue


@pytest.fixture
def selector(clock: ManualClock) -> CandidateSelector:
    return CandidateSelector(clock, fresh_for=-1.0)
