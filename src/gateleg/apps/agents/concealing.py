"""Secrets by reference: what tenants give as headers or keys is kept encrypted, and items hold only `secret:NAME`.

A reference can be returned to clients and sent back by them; the value behind it never leaves. Names belong to a partition: the same one in
another is another secret.
"""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import blake2s
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.errors import BadField
from gateleg.apps.agents.tables import new_id
from gateleg.web.secret_store import SecretNotFound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from gateleg.apps.agents.tenancy import Context
    from gateleg.web.secret_store import Secrets

REFERENCE = "secret:"
#: What is shown in the place of a secret that is not a reference. Sent back, it is not taken for a new value.
HIDDEN = "secret:hidden"
SERVER, AGENT = "mcp", "agent"
_REFERENCE = re.compile(r"secret:[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")
#: How names of secrets end, word by word.
_SECRET_ENDINGS = (
    *(("key",), ("api", "key"), ("apikey",), ("secret",), ("password",), ("passwd",), ("passphrase",), ("token",)),
    *(("authorization",), ("credential",), ("credentials",), ("cookie",), ("headers",)),
)
#: Names that end so, and are not secrets.
_HARMLESS = frozenset({"primary_key", "sort_key", "partition_key", "idempotency_key", "cache_key", "public_key", "prompt_cache_key"})
#: What a header name is made of.
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")


def about(kind: str, uuid: str) -> str:
    """What the names of the secrets of something begin with, whatever characters its id has."""
    return f"{kind}.{blake2s(uuid.encode(), digest_size=12).hexdigest()}"


def is_reference(value: object) -> bool:
    """Whether a value names a secret."""
    return isinstance(value, str) and _REFERENCE.fullmatch(value) is not None


def is_secret_name(name: str) -> bool:
    """Whether what has this name is a secret, judged by its last words: `apiKey`, `x-access-token`, `client_secret`."""
    words = tuple(word.lower() for word in _WORDS.findall(name))
    if "_".join(words) in _HARMLESS:
        return False
    return any(words[-len(ending) :] == ending for ending in _SECRET_ENDINGS)


@dataclass(frozen=True)
class Keeper:
    """Keeps the secrets of one thing, and knows those that it has kept."""

    secrets: Secrets
    context: Context
    owner: str
    names: list[str] = field(default_factory=list)

    async def conceal(self, configuration: Mapping[str, Any]) -> dict[str, Any]:
        """A configuration with its secrets kept apart: texts whose name, or the name of what they are in, says that they are secret."""

        async def concealed(value: Any, place: str, *, secret: bool) -> Any:
            if isinstance(value, dict):
                return {name: await concealed(one, f"{place}.{name}", secret=secret or is_secret_name(name)) for name, one in value.items()}
            if isinstance(value, list):
                return [await concealed(one, place, secret=secret) for one in value]
            if is_reference(value):
                return await self._known(value, place)
            return await self._keep(value) if secret and isinstance(value, str) and value else value

        _check_object(configuration, "configuration")
        found: dict[str, Any] = await concealed(dict(configuration), "configuration", secret=False)
        return found

    async def conceal_headers(self, headers: Mapping[str, Any]) -> dict[str, str]:
        """Headers with references in the place of all their values. Names stay as they were given."""
        _check_object(headers, "headers")
        for name, value in headers.items():
            if not _HEADER.fullmatch(name):
                raise BadField(f"{name[:200]!r} cannot be the name of a header.", details={"field": "headers"})
            if not isinstance(value, str) or not value or any(character in value for character in "\r\n\0"):
                raise BadField(f"The header {name} must have a text without line breaks.", details={"field": f"headers.{name}"})
        return {
            name: await self._known(value, f"headers.{name}") if is_reference(value) else await self._keep(value)
            for name, value in headers.items()
        }

    async def copy(self, configuration: Mapping[str, Any], former: str) -> dict[str, Any]:
        """A configuration with secrets of its own in the place of those of another thing. References to others stay."""

        async def copied(value: Any) -> Any:
            if isinstance(value, dict):
                return {name: await copied(one) for name, one in value.items()}
            if isinstance(value, list):
                return [await copied(one) for one in value]
            if is_reference(value) and value.startswith(f"{REFERENCE}{former}."):
                return await self._keep(await self.secrets.resolve(value, tenant=self.context.partition_key))
            return value

        found: dict[str, Any] = await copied(dict(configuration))
        return found

    async def _known(self, reference: str, place: str) -> str:
        """A reference to a secret that the tenant has. Raises `BadField`."""
        try:
            await self.secrets.resolve(reference, tenant=self.context.partition_key)
        except SecretNotFound:
            raise BadField(
                f"{place} names the secret {reference.removeprefix(REFERENCE)!r}, which this tenant does not have.",
                fix="Give the value itself: it is kept as a secret, and only its name is stored.",
                details={"field": place},
            ) from None
        return reference

    async def _keep(self, value: str) -> str:
        name = f"{self.owner}.{new_id()}"
        await self.secrets.put(name, value, tenant=self.context.partition_key, by=self.context.principal.name)
        self.names.append(name)
        return f"{REFERENCE}{name}"


@asynccontextmanager
async def keeping(secrets: Secrets, context: Context, owner: str) -> AsyncIterator[Keeper]:
    """Keep secrets for something that is written inside the block; they are forgotten again if that fails."""
    keeper = Keeper(secrets, context, owner)
    try:
        yield keeper
    except BaseException:
        for name in keeper.names:
            await secrets.delete(name, tenant=context.partition_key)
        raise


def shown(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as clients see it: references stay, and secrets that came in the clear from elsewhere are hidden."""

    def hidden(value: Any, *, secret: bool) -> Any:
        if isinstance(value, dict):
            return {name: hidden(one, secret=secret or is_secret_name(name)) for name, one in value.items()}
        if isinstance(value, list):
            return [hidden(one, secret=secret) for one in value]
        return HIDDEN if secret and isinstance(value, str) and value and not is_reference(value) else value

    found: dict[str, Any] = hidden(dict(configuration), secret=False)
    return found


def _check_object(given: object, field: str) -> None:
    """Refuse JSON that is not an object: clients may send any."""
    if not isinstance(given, dict):
        raise BadField(f"{field} must be an object.", details={"field": field})


def restored(given: Any, before: Any) -> Any:
    """What a client has sent, with the values of before in the place of those that it was not shown."""
    if isinstance(given, dict):
        known = before if isinstance(before, dict) else {}
        return {name: restored(one, known.get(name)) for name, one in given.items()}
    if isinstance(given, list):
        items: list[Any] = before if isinstance(before, list) else []
        return [restored(one, items[place] if place < len(items) else None) for place, one in enumerate(given)]
    return before if given == HIDDEN and before is not None else given


def shown_headers(headers: Mapping[str, Any]) -> dict[str, Any]:
    """Headers as clients see them: references only."""
    return {name: value if is_reference(value) else HIDDEN for name, value in headers.items()}


async def reveal_headers(secrets: Secrets, context: Context, headers: Mapping[str, str]) -> dict[str, str]:
    """Headers with their values, to be sent. Raises `SecretNotFound`."""
    return {name: await secrets.resolve(value, tenant=context.partition_key) for name, value in headers.items()}


async def reveal(secrets: Secrets, context: Context, configuration: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with its secrets, for the handler that needs them. Raises `SecretNotFound`."""

    async def revealed(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: await revealed(one) for name, one in value.items()}
        if isinstance(value, list):
            return [await revealed(one) for one in value]
        return await secrets.resolve(value, tenant=context.partition_key) if is_reference(value) else value

    found: dict[str, Any] = await revealed(dict(configuration))
    return found


async def forget(secrets: Secrets, context: Context, owner: str) -> int:
    """Delete the secrets of something that is deleted; how many there were."""
    names = [one.name for one in await secrets.list(tenant=context.partition_key) if one.name.startswith(f"{owner}.")]
    for name in names:
        await secrets.delete(name, tenant=context.partition_key)
    return len(names)
