import ssl
from collections.abc import Callable
from functools import partial

import pytest

from tests.ai.driving import Asker


@pytest.fixture(params=["called", "awaited"])
def asker(request: pytest.FixtureRequest) -> Callable[..., Asker]:
    """Makes an asker of either kind."""
    return partial(Asker, request.param)


@pytest.fixture
def no_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    """SDKs read all certificate authorities for every client, which takes longer than the test; servers of tests have no certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    monkeypatch.setattr(ssl, "create_default_context", lambda *args, **options: context)
