from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.engine.world import World

# No test asserts a time, and neither does hypothesis for it.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.engine.close()
