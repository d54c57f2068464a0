from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateleg.host.principal import Principal
from gateleg.web.app import create_app
from tests.apps.agents.running.hosted import ANN, BOB, EVE, OTTO, SCRIPTS, Hosted, hosting, register_scripts


@dataclass(frozen=True)
class Served:
    """A host with agents behind its gate, and the keys of some callers."""

    hosted: Hosted
    app: Any
    tokens: dict[str, str]
    clients: dict[str, httpx.AsyncClient]

    def __getitem__(self, name: str) -> httpx.AsyncClient:
        return self.clients[name]


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    register_scripts(monkeypatch.setattr)
    yield
    SCRIPTS.clear()


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with hosting(tmp_path) as hosted, AsyncExitStack() as stack:
        app = create_app(hosted.host, console=False)
        await stack.enter_async_context(app.router.lifespan_context(app))
        tokens, clients = {}, {}
        for principal in (ANN, BOB, EVE, OTTO):
            tokens[principal.name] = await _token(hosted, principal)
            transport = httpx.ASGITransport(app, client=("127.0.0.1", 50_000))
            client = httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1:8000", headers={"Authorization": f"Bearer {tokens[principal.name]}"}
            )
            clients[principal.name] = await stack.enter_async_context(client)
        yield Served(hosted, app, tokens, clients)


async def _token(hosted: Hosted, principal: Principal) -> str:
    return (await hosted.host.keys.create(principal.name, principal.role, tenant=principal.tenant)).token
