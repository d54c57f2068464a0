from collections.abc import Callable
from functools import partial

import pytest

from tests.ai.driving import Asker


@pytest.fixture(params=["called", "awaited"])
def asker(request: pytest.FixtureRequest) -> Callable[..., Asker]:
    """Makes an asker of either kind."""
    return partial(Asker, request.param)


@pytest.fixture(autouse=True)
def _aws_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials for servers of tests that speak Bedrock, so that nothing is searched for in the network."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
