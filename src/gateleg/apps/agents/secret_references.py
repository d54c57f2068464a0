"""Secret references: header values and API keys of tenants are stored encrypted, and items hold only `secret:NAME`.

Clients may receive a reference and send it back; they never receive the value. Names are scoped to a partition: the same name in another
partition is another secret.
"""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import blake2s
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.errors import BadField
from gateleg.apps.agents.items import check_object
from gateleg.apps.agents.tables import new_id
from gateleg.host.secrets import SecretNotFound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from gateleg.apps.agents.tenancy import Context
    from gateleg.host.secrets import Secrets

REFERENCE = "secret:"
#: Placeholder for a stored secret that is not a reference. A client that sends it back keeps the stored value.
HIDDEN = "secret:hidden"
SERVER, AGENT = "mcp", "agent"
_REFERENCE = re.compile(r"secret:[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")
#: The last words of names that denote secrets.
_SECRET_ENDINGS = (
    *(("key",), ("api", "key"), ("apikey",), ("secret",), ("password",), ("passwd",), ("passphrase",), ("token",)),
    *(("authorization",), ("credential",), ("credentials",), ("cookie",), ("headers",)),
)
#: Names with such an ending that are not secrets.
_NOT_SECRET = frozenset({"primary_key", "sort_key", "partition_key", "idempotency_key", "cache_key", "public_key", "prompt_cache_key"})
#: A valid HTTP header name (RFC 9110 token).
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")


def secret_prefix(kind: str, uuid: str) -> str:
    """The name prefix of an item's secrets. The id is hashed, because secret names allow fewer characters."""
    return f"{kind}.{blake2s(uuid.encode(), digest_size=12).hexdigest()}"


def is_reference(value: object) -> bool:
    """Whether a value is a secret reference."""
    return isinstance(value, str) and _REFERENCE.fullmatch(value) is not None


def is_secret_name(name: str) -> bool:
    """Whether a name denotes a secret, judged by its last words: `apiKey`, `x-access-token`, `client_secret`."""
    words = tuple(word.lower() for word in _WORDS.findall(name))
    if "_".join(words) in _NOT_SECRET:
        return False
    return any(words[-len(ending) :] == ending for ending in _SECRET_ENDINGS)


@dataclass(frozen=True)
class SecretWriter:
    """Stores the secrets of one item, and records their names so that a failed write can delete them."""

    secrets: Secrets
    context: Context
    owner: str
    names: list[str] = field(default_factory=list)

    async def conceal(self, configuration: Mapping[str, Any]) -> dict[str, Any]:
        """Replace secret values by references. A text is secret if its name, or that of an enclosing object, says so."""

        async def concealed(value: Any, place: str, *, secret: bool) -> Any:
            if isinstance(value, dict):
                return {name: await concealed(one, f"{place}.{name}", secret=secret or is_secret_name(name)) for name, one in value.items()}
            if isinstance(value, list):
                return [await concealed(one, place, secret=secret) for one in value]
            if is_reference(value):
                return await self._check_reference(value, place)
            return await self._store(value) if secret and isinstance(value, str) and value else value

        check_object(configuration, "configuration")
        found: dict[str, Any] = await concealed(dict(configuration), "configuration", secret=False)
        return found

    async def conceal_headers(self, headers: Mapping[str, Any]) -> dict[str, str]:
        """Replace all header values by references. Header names stay as given."""
        check_object(headers, "headers")
        for name, value in headers.items():
            if not _HEADER_NAME.fullmatch(name):
                raise BadField(f"{name[:200]!r} is not a valid header name.", details={"field": "headers"})
            if not isinstance(value, str) or not value or any(character in value for character in "\r\n\0"):
                raise BadField(f"The value of header {name} must be text without line breaks.", details={"field": f"headers.{name}"})
        return {
            name: await self._check_reference(value, f"headers.{name}") if is_reference(value) else await self._store(value)
            for name, value in headers.items()
        }

    async def copy(self, configuration: Mapping[str, Any], former: str) -> dict[str, Any]:
        """Copy the secrets of `former` that a configuration refers to, and refer to the copies. Other references stay."""

        async def copied(value: Any) -> Any:
            if isinstance(value, dict):
                return {name: await copied(one) for name, one in value.items()}
            if isinstance(value, list):
                return [await copied(one) for one in value]
            if is_reference(value) and value.startswith(f"{REFERENCE}{former}."):
                return await self._store(await self.secrets.resolve(value, tenant=self.context.partition_key))
            return value

        found: dict[str, Any] = await copied(dict(configuration))
        return found

    async def _check_reference(self, reference: str, place: str) -> str:
        """Return the reference if the tenant has that secret. Raises `BadField`."""
        try:
            await self.secrets.resolve(reference, tenant=self.context.partition_key)
        except SecretNotFound:
            raise BadField(
                f"{place} names the secret {reference.removeprefix(REFERENCE)!r}, which this tenant does not have.",
                fix="Send the value itself: it is stored encrypted, and the item keeps only a reference.",
                details={"field": place},
            ) from None
        return reference

    async def _store(self, value: str) -> str:
        name = f"{self.owner}.{new_id()}"
        await self.secrets.put(name, value, tenant=self.context.partition_key, by=self.context.principal.name)
        self.names.append(name)
        return f"{REFERENCE}{name}"


@asynccontextmanager
async def storing_secrets(secrets: Secrets, context: Context, owner: str) -> AsyncIterator[SecretWriter]:
    """Store secrets for an item that the block writes; if the block raises, delete them again."""
    keeper = SecretWriter(secrets, context, owner)
    try:
        yield keeper
    except BaseException:
        for name in keeper.names:
            await secrets.delete(name, tenant=context.partition_key)
        raise


def redact(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration for clients: references stay, and secrets that an import stored in the clear are hidden."""

    def hidden(value: Any, *, secret: bool) -> Any:
        if isinstance(value, dict):
            return {name: hidden(one, secret=secret or is_secret_name(name)) for name, one in value.items()}
        if isinstance(value, list):
            return [hidden(one, secret=secret) for one in value]
        return HIDDEN if secret and isinstance(value, str) and value and not is_reference(value) else value

    found: dict[str, Any] = hidden(dict(configuration), secret=False)
    return found


def restore_hidden(given: Any, before: Any) -> Any:
    """A client's values, with stored values in place of the `HIDDEN` placeholders that it sent back."""
    if isinstance(given, dict):
        known = before if isinstance(before, dict) else {}
        return {name: restore_hidden(one, known.get(name)) for name, one in given.items()}
    if isinstance(given, list):
        items: list[Any] = before if isinstance(before, list) else []
        return [restore_hidden(one, items[place] if place < len(items) else None) for place, one in enumerate(given)]
    return before if given == HIDDEN and before is not None else given


def redact_headers(headers: Mapping[str, Any]) -> dict[str, Any]:
    """Headers for clients: references only."""
    return {name: value if is_reference(value) else HIDDEN for name, value in headers.items()}


async def reveal_headers(secrets: Secrets, context: Context, headers: Mapping[str, str]) -> dict[str, str]:
    """Resolve the references in headers, for a request to the server. Raises `SecretNotFound`."""
    return {name: await secrets.resolve(value, tenant=context.partition_key) for name, value in headers.items()}


async def reveal(secrets: Secrets, context: Context, configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve the references in a configuration, for the handler that uses it. Raises `SecretNotFound`."""

    async def revealed(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: await revealed(one) for name, one in value.items()}
        if isinstance(value, list):
            return [await revealed(one) for one in value]
        return await secrets.resolve(value, tenant=context.partition_key) if is_reference(value) else value

    found: dict[str, Any] = await revealed(dict(configuration))
    return found


async def delete_secrets(secrets: Secrets, context: Context, owner: str) -> int:
    """Delete all secrets of a deleted item; returns their number."""
    names = [one.name for one in await secrets.list(tenant=context.partition_key) if one.name.startswith(f"{owner}.")]
    for name in names:
        await secrets.delete(name, tenant=context.partition_key)
    return len(names)
