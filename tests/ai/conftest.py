from collections.abc import Callable
from functools import partial

import pytest

from tests.ai.driving import Asker


@pytest.fixture(params=["called", "awaited"])
def asker(request: pytest.FixtureRequest) -> Callable[..., Asker]:
    """Makes an asker of either kind."""
    return partial(Asker, request.param)
