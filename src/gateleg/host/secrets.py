"""`Secrets`: passwords and keys that applications use, encrypted in the store, by application, tenant and name.

A secret goes in by `put` and comes out by `get`, in Python only: no route, page, command or log line shows a value. It is encrypted with a
key that is derived from the host's secret, for its place: copied to another tenant or name, it cannot be read.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from gateleg.host.errors import Refusal
from gateleg.host.principal import HOST
from gateleg.host.tables import StoredSecret
from gateleg.net.tokens import DecryptionFailed, decrypt, encrypt
from gateleg.store import Page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gateleg.net import Secret
    from gateleg.store import AsyncStore

__all__ = ["HOST", "BadSecret", "SecretInfo", "SecretNotFound", "Secrets", "check_secret", "tenant_from_key_part", "tenant_key_part"]

#: Prefix of a setting that refers to a secret by its name.
REFERENCE = "secret:"
_PURPOSE = "secrets"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MAX_BYTES = 65_536


class SecretNotFound(Refusal):
    """No secret has this name, for this application and tenant."""

    status = 404
    fix = "List the names with `gateleg secrets list`, or set it with `gateleg secrets set NAME`."


class BadSecret(Refusal):
    """A secret cannot have this name or this value."""

    status = 422
    fix = "Names are up to 100 letters, digits, dots, hyphens and underscores; values have 1 to 65,536 bytes."


class SecretUnreadable(Refusal):
    """A secret was encrypted with another host secret, or was changed in the store."""

    status = 500
    fix = "Start the host with the `secret` that it had, or re-encrypt with `gateleg secrets rekey`, or set the secret again."


@dataclass(frozen=True)
class SecretInfo:
    """A secret without its value."""

    application: str
    tenant: str | None
    name: str
    #: starts at 1 and grows with each new value
    version: int
    created_at: datetime
    changed_at: datetime
    changed_by: str


@dataclass(frozen=True)
class Secrets:
    """The secrets of one application. `tenant` narrows them to one tenant's; without, they are those of the application itself."""

    store: AsyncStore
    secret: Secret
    application: str

    def of(self, application: str) -> Secrets:
        """The secrets of another application; for the host and its administrators."""
        return replace(self, application=application)

    async def get(self, name: str, *, tenant: str | None = None) -> str:
        """The value of a secret. Raises `SecretNotFound`."""
        found = await self._find(name, tenant)
        if found is None:
            raise self._not_found(name, tenant)
        return self._decrypt(found, self.secret)

    async def resolve(self, text: str, *, tenant: str | None = None) -> str:
        """The value that a setting stands for: of `secret:NAME` that secret, and of any other text the text itself."""
        return await self.get(text.removeprefix(REFERENCE), tenant=tenant) if text.startswith(REFERENCE) else text

    async def put(self, name: str, value: str, *, tenant: str | None = None, by: str = "") -> SecretInfo:
        """Store a secret, replacing its former value; the next `get` returns the new one."""
        check_secret(name, value)
        current, now = await self._find(name, tenant), self.store.setup.now()
        fresh = StoredSecret(
            application=self.application,
            tenant=tenant_key_part(tenant),
            name=name,
            sealed="",
            version=1 if current is None else current.version + 1,
            created_at=now if current is None else current.created_at,
            changed_at=now,
            changed_by=by,
        )
        stored = await self.store.put(_encrypted(fresh, value, self.secret))
        return _info(stored, tenant)

    async def delete(self, name: str, *, tenant: str | None = None) -> SecretInfo:
        """Delete a secret; return what it was. Raises `SecretNotFound`."""
        found = await self._find(name, tenant)
        if found is None:
            raise self._not_found(name, tenant)
        await self.store.delete(StoredSecret, application=self.application, tenant=tenant_key_part(tenant), name=name)
        return _info(found, tenant)

    async def list(self, *, tenant: str | None = None) -> list[SecretInfo]:
        """All secrets by name, without their values."""
        query = StoredSecret.of_tenant(application=self.application, tenant=tenant_key_part(tenant))
        return [_info(found, tenant) async for found in self.store.query(query)]

    async def page(
        self, *, tenant: str | None = None, every_tenant: bool = False, limit: int = 50, cursor: str | None = None
    ) -> Page[SecretInfo]:
        """One page of the secrets by name, without their values; `every_tenant` includes those of all tenants."""
        query = StoredSecret.of_tenant(application=self.application, tenant=tenant_key_part(tenant))
        if every_tenant:
            query = StoredSecret.of_application(application=self.application)
        found = await self.store.page(query, limit=limit, cursor=cursor)
        return Page([_info(one, tenant_from_key_part(one.tenant)) for one in found], found.next)

    async def rekey(self, former: Secret) -> int:
        """Re-encrypt all secrets that were encrypted with a former host secret, of all tenants; return their number."""
        unreadable = await self.unreadable()
        for info in unreadable:
            await self.rekey_one(info.name, former, tenant=info.tenant)
        return len(unreadable)

    async def unreadable(self) -> Sequence[SecretInfo]:
        """The secrets of all tenants that the host's secret does not decrypt."""
        query = StoredSecret.of_application(application=self.application)
        return [_info(found, tenant_from_key_part(found.tenant)) async for found in self.store.query(query) if not self._readable(found)]

    async def rekey_one(self, name: str, former: Secret, *, tenant: str | None = None) -> SecretInfo:
        """Re-encrypt a secret that was encrypted with a former host secret. Raises `SecretUnreadable` if it was not."""
        found = await self._find(name, tenant)
        if found is None:
            raise self._not_found(name, tenant)
        if not self._readable(found):
            await self.store.put(_encrypted(found, self._decrypt(found, former), self.secret))
        return _info(found, tenant)

    def _readable(self, found: StoredSecret) -> bool:
        try:
            self._decrypt(found, self.secret)
        except SecretUnreadable:
            return False
        return True

    async def _find(self, name: str, tenant: str | None) -> StoredSecret | None:
        if not _NAME.fullmatch(name):
            return None
        key = {"application": self.application, "tenant": tenant_key_part(tenant), "name": name}
        return await self.store.find(StoredSecret, consistent=True, **key)

    def _not_found(self, name: str, tenant: str | None) -> SecretNotFound:
        whose = self.application if tenant is None else f"{self.application}, tenant {tenant}"
        return SecretNotFound(f"There is no secret {name[:200]!r} of {whose}.")

    def _decrypt(self, found: StoredSecret, secret: Secret) -> str:
        try:
            return decrypt(secret.key(_PURPOSE), b64decode(found.sealed), _context(found)).decode()
        except (DecryptionFailed, ValueError):
            raise SecretUnreadable(f"The secret {found.name!r} of {found.application} cannot be decrypted.") from None


def check_secret(name: str, value: str) -> None:
    """Validate the name and the value of a secret. Raises `BadSecret`."""
    if not _NAME.fullmatch(name):
        raise BadSecret(f"A secret cannot be named {name[:200]!r}.")
    if not 0 < len(value.encode()) <= _MAX_BYTES:
        raise BadSecret(f"The value of {name!r} has {len(value.encode()):,} bytes.")


def _encrypted(stored: StoredSecret, value: str, secret: Secret) -> StoredSecret:
    return stored.model_copy(update={"sealed": b64encode(encrypt(secret.key(_PURPOSE), value.encode(), _context(stored))).decode()})


def _context(stored: StoredSecret) -> bytes:
    return json.dumps([stored.application, stored.tenant, stored.name, stored.version]).encode()


def tenant_key_part(tenant: str | None) -> str:
    """Encode a tenant as part of a key. The encoding is unambiguous, also for None."""
    return "-" if tenant is None else f"={quote(tenant, safe='')}"


def tenant_from_key_part(tenant: str) -> str | None:
    """Decode a tenant from part of a key."""
    return None if tenant == "-" else unquote(tenant.removeprefix("="))


def _info(stored: StoredSecret, tenant: str | None) -> SecretInfo:
    return SecretInfo(stored.application, tenant, stored.name, stored.version, stored.created_at, stored.changed_at, stored.changed_by)
