from collections.abc import Iterator

import pytest

from tests.engine.world import World


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.engine.close()
