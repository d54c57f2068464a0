"""API keys: created, shown once, verified by a digest, and revoked at once.

Local access: while a host has no keys, a direct caller on this machine who presents its token is admin.

An address proves nothing: through a proxy or a forwarded port, requests of others come from this machine. The token is derived from the
host's secret, which only its owner can read.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import re
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, urlsplit

from pydantic import ValidationError

from gateleg.errors import problem_message
from gateleg.host.errors import ApiKeyMissing, BadKey, ForeignHost, KeyExpired, KeyRefused, KeyRevoked, NotSignedIn
from gateleg.host.principal import LOCAL, Principal, Role
from gateleg.host.tables import ApiKey
from gateleg.net import is_loopback
from gateleg.store import NotFound, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.datastructures import Headers
    from starlette.types import Scope

    from gateleg.net import Secret
    from gateleg.store import AsyncStore, Page

__all__ = [
    "CACHE_SECONDS",
    "LOCAL_ID",
    "LOCAL_PREFIX",
    "ROLE_WORDS",
    "NewKey",
    "RoleWord",
    "check_direct",
    "check_usable",
    "host_name",
    "principal_of",
    "token_needed",
]

_log = logging.getLogger("gateleg.web")

_TOKEN = re.compile(r"gl_([a-z2-7]{12})_([A-Za-z0-9_-]{43})")
RoleWord = Literal["member", "viewer", "operator", "admin"]
ROLE_WORDS: dict[Role, RoleWord] = {Role.MEMBER: "member", Role.VIEWER: "viewer", Role.OPERATOR: "operator", Role.ADMIN: "admin"}
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
#: How often the last use of a key is recorded.
_KEY_USE_NOTED_EVERY = timedelta(minutes=10)
#: Seconds for which a key is cached: a revoked key is refused everywhere after this time.
CACHE_SECONDS = 1.0


@dataclass(frozen=True)
class NewKey:
    """A new key. `token` is what callers send; it is not stored, and cannot be shown again."""

    key: ApiKey
    token: str = field(repr=False)


def principal_of(key: ApiKey) -> Principal:
    """The principal of a key."""
    return Principal(key.name, Role[key.role.upper()], frozenset(key.groups or ()), key.tenant, key.key_id)


def digest_of(secret: str) -> str:
    """The digest of a secret. With 256 random bits it needs no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


def check_usable(key: ApiKey, now: datetime) -> None:
    """Refuse a key that was revoked or has expired."""
    if key.revoked_at is not None:
        raise KeyRevoked("The key was revoked.")
    if key.ends_at is not None and key.ends_at <= now:
        raise KeyExpired("The key has expired.")


class Keys:
    """The keys of a host, in its store."""

    def __init__(self, store: AsyncStore, check_tenant: Callable[[str], None] = lambda tenant: None) -> None:
        self._store = store
        self._check_tenant = check_tenant
        self._read: dict[str, tuple[float, ApiKey | None]] = {}
        self._some: tuple[float, bool] | None = None

    async def create(
        self,
        name: str,
        role: Role,
        *,
        groups: Iterable[str] = (),
        tenant: str | None = None,
        ends_at: datetime | None = None,
        by: str = "local",
    ) -> NewKey:
        """Create a key. Its token is in the result and nowhere else."""
        return await self.keep(self.prepare(name, role, groups=groups, tenant=tenant, ends_at=ends_at, by=by))

    def prepare(
        self,
        name: str,
        role: Role,
        *,
        groups: Iterable[str] = (),
        tenant: str | None = None,
        ends_at: datetime | None = None,
        by: str = "local",
    ) -> NewKey:
        """A key that can be shown, but is not valid before `keep`."""
        now = self._store.setup.now()
        if tenant:
            self._check_tenant(tenant)
        if ends_at is not None and (ends_at.tzinfo is None or ends_at <= now):
            raise BadKey("A key must expire in the future, at a time with a time zone.")
        key_id = "".join(secrets.choice(_ALPHABET) for _ in range(12))
        secret = secrets.token_urlsafe(32)
        try:
            key = ApiKey(
                key_id=key_id,
                name=name.strip(),
                digest=digest_of(secret),
                role=ROLE_WORDS[role],
                groups=set(groups) or None,
                tenant=tenant or None,
                created_at=now,
                created_by=by,
                ends_at=ends_at,
            )
        except ValidationError as error:
            raise BadKey(f"The key is not valid: {problem_message(error.errors()[0])}.") from None
        return NewKey(key, f"gl_{key_id}_{secret}")

    async def keep(self, made: NewKey) -> NewKey:
        """Make a prepared key valid. The first key ends access without one."""
        stored = await self._store.create(made.key)
        self._forget(stored.key_id)
        return NewKey(stored, made.token)

    async def principals(self) -> list[Principal]:
        """The principals of all valid keys, newest key first."""
        now = self._store.setup.now()
        return [principal_of(key) for key in await self.list() if key.revoked_at is None and (key.ends_at is None or key.ends_at > now)]

    async def list(self) -> list[ApiKey]:
        """All keys, including expired and revoked ones, newest first."""
        found = [key async for key in self._store.query(ApiKey.every())]
        return sorted(found, key=lambda key: key.created_at, reverse=True)

    async def page(self, *, limit: int = 50, cursor: str | None = None) -> Page[ApiKey]:
        """A page of keys ordered by id, including expired and revoked ones."""
        return await self._store.page(ApiKey.every, limit=limit, cursor=cursor)

    async def get(self, key_id: str) -> ApiKey:
        """A key by its id."""
        found = await self._store.find(ApiKey, key_id=key_id, consistent=True)
        if found is None:
            raise ApiKeyMissing(f"There is no key {key_id!r}.")
        return found

    async def revoke(self, key_id: str, *, by: str = "local") -> ApiKey:
        """Revoke a key; sessions that were started with it end too."""
        current = await self.get(key_id)
        if current.revoked_at is not None:
            return current
        now = self._store.setup.now()
        try:
            changed = await self._store.patch(current, ApiKey.revoked_at.set(now), ApiKey.revoked_by.set(by))
        except NotFound:
            raise ApiKeyMissing(f"There is no key {key_id!r}.") from None
        self._forget(key_id)
        return changed

    async def end_sessions(self, key_id: str) -> ApiKey:
        """End all sessions that were started with a key, everywhere."""
        current = await self.get(key_id)
        changed = await self._store.patch(current, ApiKey.sessions_from.set(self._store.setup.now()))
        self._forget(key_id)
        return changed

    async def exist(self) -> bool:
        """Whether a key was ever created. Until then, users of this machine have access with the host's token."""
        now = self._store.setup.ticks()
        if self._some is None or (not self._some[1] and now - self._some[0] >= CACHE_SECONDS):
            # Keys are never deleted, so this stays true.
            self._some = (now, len(await self._store.page(ApiKey.every(), limit=1)) > 0)
        return self._some[1]

    async def recognise(self, token: str) -> Principal:
        """The principal of a token. Raises `KeyRefused`, `KeyExpired` or `KeyRevoked`."""
        match = _TOKEN.fullmatch(token)
        key = await self.read(match[1]) if match else None
        if match is None or key is None or not hmac.compare_digest(key.digest, digest_of(match[2])):
            raise KeyRefused("The API key is unknown to this host.")
        check_usable(key, self._store.setup.now())
        await self._note_use(key)
        return principal_of(key)

    async def read(self, key_id: str) -> ApiKey | None:
        """A key as it was at most a second ago."""
        now = self._store.setup.ticks()
        known = self._read.get(key_id)
        if known is not None and now - known[0] < CACHE_SECONDS:
            return known[1]
        if len(self._read) > 10_000:
            self._read.clear()
        key = await self._store.find(ApiKey, key_id=key_id, consistent=True)
        self._read[key_id] = (now, key)
        return key

    async def _note_use(self, key: ApiKey) -> None:
        now = self._store.setup.now()
        if key.used_at is None or now - key.used_at >= _KEY_USE_NOTED_EVERY:
            try:
                changed = await self._store.patch(ApiKey.key(key_id=key.key_id), ApiKey.used_at.set(now))
            except StoreError as error:
                # A store that accepts no writes, because the disk is full, can still be read.
                _log.warning("could not record the use of a key: %s", error)
                return
            self._read[key.key_id] = (self._store.setup.ticks(), changed)

    def _forget(self, key_id: str) -> None:
        self._read.pop(key_id, None)
        self._some = None


#: The prefix of the token, which distinguishes it from keys.
LOCAL_PREFIX = "gl_local_"
#: The access key id with which SDKs sign with the token.
LOCAL_ID = "local"
#: Headers that proxies, tunnels and load balancers add.
_ADDED = frozenset(
    {
        "via",
        "forwarded",
        "x-real-ip",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-proxyuser-ip",
        "true-client-ip",
        "cdn-loop",
        "x-amzn-trace-id",
    }
)
_ADDED_BEGIN = ("x-forwarded", "x-original-", "x-envoy-", "cf-", "fly-")


def host_name(headers: Headers) -> str:
    """The host name of a request, without its port."""
    try:
        return urlsplit(f"//{headers.get('host', '')}").hostname or ""
    except ValueError:
        return ""


def came_directly(scope: Scope, headers: Headers) -> bool:
    """Whether a request was sent from this machine to itself without a proxy. HTTP/1.0 counts as one: proxies use it."""
    client = scope.get("client")
    if client is None or not is_loopback(client[0]) or not is_loopback(host_name(headers)) or scope.get("http_version") == "1.0":
        return False
    return not any(name in _ADDED or name.startswith(_ADDED_BEGIN) for name in headers)


def check_direct(scope: Scope, headers: Headers) -> None:
    """Refuse requests that did not come directly."""
    if not came_directly(scope, headers):
        raise ForeignHost(
            "This host has no API keys yet, so it accepts requests only from this machine, under its own name, and not through a proxy.",
            fix="Open the link that the host printed when it started, or create a key with `gateleg keys create` first.",
        )


def token_needed() -> NotSignedIn:
    """The error for a caller without the token."""
    return NotSignedIn(
        "This host has no API keys yet, so requests need its token.",
        fix="Open the link that the host printed when it started, or send the output of `gateleg token` as `Authorization: Bearer ...`.",
    )


def token_from(secret: Secret) -> str:
    """The token of a host, derived from its secret. It survives restarts, and changes with the secret."""
    return LOCAL_PREFIX + base64.urlsafe_b64encode(secret.key("local access")).decode().rstrip("=")


class LocalAccess:
    """Verifies the token while there are no keys."""

    def __init__(self, keys: Keys, secret: Secret) -> None:
        self._keys = keys
        self.token = token_from(secret)

    async def recognise(self, token: str, scope: Scope, headers: Headers) -> Principal:
        """The principal of the token. Raises `KeyRefused` or `ForeignHost`. The token ends with the first key."""
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            raise KeyRefused(
                "The token does not belong to this host.", fix="Run `gateleg token` with the settings of the host to print it."
            )
        if await self._keys.exist():
            raise KeyRefused(
                "The token is no longer accepted, because this host has keys.", fix="Use an API key; `gateleg keys create` creates one."
            )
        check_direct(scope, headers)
        return LOCAL

    def link(self, address: str) -> str:
        """The link that signs a browser in."""
        return f"{address}/signin?token={quote(self.token)}"
