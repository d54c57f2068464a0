"""A host with agents and its callers: two users in each of two tenants, and an admin of the host."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI

from gateleg.apps.agents.application import application
from gateleg.host import Role
from gateleg.host.host import Host
from gateleg.host.settings import Settings
from gateleg.web.app import create_app
from tests.web.conftest import client_of


class Refused(AssertionError):
    """The errors of an answer that was to have none."""

    def __init__(self, errors: list[dict[str, Any]]) -> None:
        super().__init__(errors)
        self.errors = errors
        self.code = errors[0]["extensions"]["code"]


@dataclass
class Caller:
    """Somebody with a key."""

    name: str
    token: str
    client: httpx.AsyncClient
    headers: dict[str, str] = field(default_factory=dict)

    async def post(self, query: str, **variables: Any) -> dict[str, Any]:
        """The whole answer."""
        answer = await self.client.post("/graphql", json={"query": query, "variables": variables}, headers=self.headers)
        found: dict[str, Any] = answer.json()
        return found

    async def ask(self, query: str, **variables: Any) -> Any:
        """The value of the one field that was asked for. Raises `Refused`."""
        answer = await self.post(query, **variables)
        if answer.get("errors"):
            raise Refused(answer["errors"])
        (found,) = answer["data"].values()
        return found


@dataclass
class Callers:
    """Everybody who calls."""

    host: Host
    app: FastAPI
    ann: Caller
    bob: Caller
    eve: Caller
    evan: Caller
    admin: Caller


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def callers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Callers]:
    """One host for the tests of a module: opening one takes longer than most tests."""
    folder = tmp_path_factory.mktemp("host")
    settings = Settings(store="embedded::memory:", objects=f"dir:{folder}/objects", data=folder)
    async with Host.open(settings, [application]) as host:
        app = create_app(host, console=False)
        found = {}
        for name, tenant, role in (
            ("ann", "acme", Role.MEMBER),
            ("bob", "acme", Role.MEMBER),
            ("eve", "umbrella", Role.MEMBER),
            ("evan", "umbrella", Role.MEMBER),
            ("admin", None, Role.ADMIN),
        ):
            token = (await host.keys.create(name, role, tenant=tenant)).token
            found[name] = Caller(name, token, client_of(app, token=token))
        async with app.router.lifespan_context(app):
            yield Callers(host, app, **found)
        for caller in found.values():
            await caller.client.aclose()
