import random
from collections.abc import Iterator

import pytest
from hypothesis import settings

from gateleg.jobs.claim.selection import Picker
from gateleg.jobs.handlers import Jobs
from gateleg.jobs.manual_clock import ManualClock
from gateleg.jobs.queue import Queue
from gateleg.store import Store
from tests.jobs.sample import make_jobs

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


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


@pytest.fixture
def queue(store: Store, jobs: Jobs) -> Queue:
    queue = Queue(store, jobs)
    queue.ensure_tables()
    return queue


@pytest.fixture
def picker(clock: ManualClock) -> Picker:
    return Picker(clock, fresh_for=-1.0)
