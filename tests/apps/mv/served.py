"""A host that serves music videos, with callers of every kind and a project of one of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from gateleg.apps.mv.application import application
from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.settings import load_settings
from gateleg.web.app import create_app

#: Everybody who may come: the name of their key, their role and their tenant.
CALLERS: dict[str, tuple[str, Role, str | None]] = {
    "owner": ("ann", Role.MEMBER, None),
    "stranger": ("bob", Role.MEMBER, None),
    "namesake": ("ann", Role.MEMBER, "acme"),
    "viewer": ("vera", Role.VIEWER, None),
    "operator": ("otto", Role.OPERATOR, None),
}


@dataclass(frozen=True)
class Served:
    """The host and its callers by name."""

    host: Host
    callers: dict[str, httpx.AsyncClient]

    def __getitem__(self, name: str) -> httpx.AsyncClient:
        return self.callers[name]

    async def create(self, **changes: Any) -> dict[str, Any]:
        """A project of the owner."""
        body = {"prompt": "Robot exploring Austin", "characterDescription": "Silver robot", **changes}
        answer = await self["owner"].post("/api/mv/projects", json=body)
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found


@asynccontextmanager
async def serving(folder: Path, store: str = "embedded::memory:", file: Path | None = None, **own: object) -> AsyncIterator[Served]:
    """A host, in memory unless processes are to read its store. `own` are settings of the application, beside those of a file."""
    flags = {"store": store, "objects": f"dir:{folder}/objects", "data": folder}
    environ = {f"GATELEG_MV__{name.upper()}": str(value) for name, value in own.items()}
    settings = load_settings(flags=flags, environ=environ, file=file)
    async with Host.open(settings, [application]) as host:
        app = create_app(host, console=False)
        callers = {"nobody": _client(app, {})}
        for name, (key, role, tenant) in CALLERS.items():
            token = (await host.keys.create(key, role, tenant=tenant)).token
            callers[name] = _client(app, {"authorization": f"Bearer {token}"})
        yield Served(host, callers)
        for client in callers.values():
            await client.aclose()


def _client(app: Any, headers: dict[str, str]) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 50_000))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", headers=headers)
