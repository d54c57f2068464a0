"""A store with the engine's tables, and the contexts of two users in each of two tenants."""

from collections.abc import AsyncIterator

import pytest

from gateleg.apps.agents.catalogue_tables import TABLES
from gateleg.apps.agents.settings import AgentsSettings
from gateleg.apps.agents.tenancy import Context, assemble
from gateleg.store import AsyncStore
from gateleg.web import Principal, Role

SETTINGS = AgentsSettings(endpoint_id="aws-prod")


def context_of(name: str, tenant: str | None, role: Role = Role.MEMBER) -> Context:
    return assemble(Principal(name, role, tenant=tenant), SETTINGS)


@pytest.fixture
async def store() -> AsyncIterator[AsyncStore]:
    async with AsyncStore.embedded() as store:
        await store.create_tables(*TABLES)
        yield store


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
