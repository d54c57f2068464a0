"""A store with the engine's tables, and the contexts of two users in each of two tenants."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gateleg.apps.agents.catalogue_tables import TABLES
from gateleg.apps.agents.settings import AgentsSettings
from gateleg.apps.agents.tenancy import Context, assemble
from gateleg.host import Principal, Role
from gateleg.host.secrets import Secrets
from gateleg.host.tables import StoredSecret
from gateleg.model import spec_of
from gateleg.net import Secret
from gateleg.store import AsyncStore
from gateleg.store.transports import AsyncTransport

SETTINGS = AgentsSettings(endpoint_id="aws-prod")


def context_of(name: str, tenant: str | None, role: Role = Role.MEMBER) -> Context:
    return assemble(Principal(name, role, tenant=tenant), SETTINGS)


@pytest.fixture
async def store() -> AsyncIterator[AsyncStore]:
    async with AsyncStore.embedded() as store:
        await store.create_tables(*TABLES)
        yield store


@pytest.fixture
async def secrets(store: AsyncStore) -> Secrets:
    await store.create_tables(spec_of(StoredSecret).table)
    return Secrets(store, Secret(b"s" * 32), "agents")


class Interleaving:
    """A transport that lets other tasks go first before each request, as a network does, and notes what is asked."""

    def __init__(self, usual: AsyncTransport) -> None:
        self.usual = usual
        self.calls: list[str] = []

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        self.calls.append(operation)
        await asyncio.sleep(0)
        return await self.usual.call(operation, request, timeout=timeout)

    async def close(self) -> None:
        await self.usual.close()


@pytest.fixture
def network(store: AsyncStore) -> Interleaving:
    return Interleaving(store.transport)


@pytest.fixture
def ann() -> Context:
    """A user of the tenant acme."""
    return context_of("ann", "acme")


@pytest.fixture
def bob() -> Context:
    """Another user of the tenant acme."""
    return context_of("bob", "acme")


@pytest.fixture
def eve() -> Context:
    """A user of the tenant umbrella."""
    return context_of("eve", "umbrella")


@pytest.fixture
def evan() -> Context:
    """Another user of the tenant umbrella."""
    return context_of("evan", "umbrella")


@pytest.fixture
def operator() -> Context:
    """An operator of the host, at work in the part of the tenant acme."""
    return assemble(Principal("olga", Role.OPERATOR, tenant="acme"), SETTINGS)


@pytest.fixture
def admin() -> Context:
    """An admin of the host, who has no tenant."""
    return context_of("adam", None, Role.ADMIN)
