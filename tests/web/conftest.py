from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.settings import Settings
from gateleg.jobs import ManualClock, TestWorker
from gateleg.web.app import create_app
from tests.web.sample import make_application

HOME = "http://127.0.0.1:8000"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        store="embedded::memory:",
        objects=f"dir:{tmp_path}/objects",
        data=tmp_path,
        body_limit=10_000,
        upload_limit=100_000,
        dynamodb=True,
    )


@pytest.fixture
async def host(settings: Settings, clock: ManualClock) -> AsyncIterator[Host]:
    async with Host.open(settings, [make_application()], clock=clock, ticks=clock) as host:
        yield host


@pytest.fixture
def app(host: Host) -> FastAPI:
    return create_app(host, console=False)


def client_of(app: FastAPI, *, token: str | None = None, peer: str = "127.0.0.1", home: str = HOME) -> httpx.AsyncClient:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app, client=(peer, 50_000)), base_url=home, headers=headers)


@pytest.fixture
async def client(app: FastAPI, host: Host) -> AsyncIterator[httpx.AsyncClient]:
    """A program at this machine with the token of the host, while there are no keys."""
    async with client_of(app, token=host.local.token) as client:
        yield client


@pytest.fixture
async def stranger(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A browser at this machine that has neither a key nor the token nor a session."""
    async with client_of(app) as client:
        yield client


@dataclass(frozen=True)
class Staff:
    """One caller of each role."""

    nobody: httpx.AsyncClient
    member: httpx.AsyncClient
    viewer: httpx.AsyncClient
    operator: httpx.AsyncClient
    admin: httpx.AsyncClient

    def of(self, role: Role) -> httpx.AsyncClient:
        found: httpx.AsyncClient = getattr(self, role.word)
        return found


@pytest.fixture
async def staff(app: FastAPI, host: Host) -> AsyncIterator[Staff]:
    tokens = {role.word: (await host.keys.create(role.word, role)).token for role in Role}
    clients = {"nobody": client_of(app)} | {word: client_of(app, token=token) for word, token in tokens.items()}
    yield Staff(**clients)
    for client in clients.values():
        await client.aclose()


async def run_all(host: Host) -> None:
    """Run every job that waits, in this process."""
    import asyncio

    from gateleg.jobs import Queue
    from gateleg.store import Store
    from gateleg.store.transports.embedded import EmbeddedTransport

    transport = host.store.transport
    store = Store(EmbeddedTransport(transport.engine), clock=host.store.setup.clock, ticks=host.store.setup.ticks)  # type: ignore[attr-defined]
    await asyncio.to_thread(TestWorker(Queue(store, host.queue.context.jobs, tables=host.queue.tables.names)).run)
