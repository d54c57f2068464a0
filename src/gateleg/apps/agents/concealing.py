"""Secrets by reference: what tenants give as headers or keys is kept encrypted, and items hold only `secret:NAME`.

A reference can be returned to clients and sent back by them; the value behind it never leaves. Names belong to a partition: the same one in
another is another secret.
"""

from __future__ import annotations

import re
from hashlib import blake2s
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.errors import BadField
from gateleg.apps.agents.tables import new_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.apps.agents.tenancy import Context
    from gateleg.web.secret_store import Secrets

REFERENCE = "secret:"
SERVER, AGENT = "mcp", "agent"
_REFERENCE = re.compile(r"secret:[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")
#: How names of secrets end, word by word.
_SECRET_ENDINGS = (
    *(("key",), ("api", "key"), ("apikey",), ("secret",), ("password",), ("passwd",), ("passphrase",), ("token",)),
    *(("authorization",), ("credential",), ("credentials",), ("cookie",), ("headers",)),
)
#: Names that end so, and are no secrets.
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


async def conceal(secrets: Secrets, context: Context, configuration: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """A configuration with its secrets kept apart: texts whose name, or the name of what they are in, says that they are secret."""

    async def concealed(value: Any, *, secret: bool) -> Any:
        if isinstance(value, dict):
            return {name: await concealed(one, secret=secret or is_secret_name(name)) for name, one in value.items()}
        if isinstance(value, list):
            return [await concealed(one, secret=secret) for one in value]
        kept = secret and isinstance(value, str) and value and not is_reference(value)
        return await _keep(secrets, context, owner, value) if kept else value

    found: dict[str, Any] = await concealed(dict(configuration), secret=False)
    return found


async def conceal_headers(secrets: Secrets, context: Context, headers: Mapping[str, Any], owner: str) -> dict[str, str]:
    """Headers with references in the place of all their values. Names stay as they were given."""
    found = {}
    for name, value in headers.items():
        if not _HEADER.fullmatch(name):
            raise BadField(f"{name[:200]!r} cannot be the name of a header.", details={"field": "headers"})
        if not isinstance(value, str) or not value or any(character in value for character in "\r\n\0"):
            raise BadField(f"The header {name} must have a text without line breaks.", details={"field": f"headers.{name}"})
        found[name] = value if is_reference(value) else await _keep(secrets, context, owner, value)
    return found


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


async def _keep(secrets: Secrets, context: Context, owner: str, value: str) -> str:
    name = f"{owner}.{new_id()}"
    await secrets.put(name, value, tenant=context.partition_key, by=context.principal.name)
    return f"{REFERENCE}{name}"
