"""Local access: while a host has no keys, a direct caller on this machine who presents its token is admin.

An address proves nothing: through a proxy or a forwarded port, requests of others come from this machine. The token is derived from the
host's secret, which only its owner can read.
"""

from __future__ import annotations

import base64
import hmac
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from gateleg.net import is_loopback
from gateleg.web.errors import ForeignHost, KeyRefused, NotSignedIn
from gateleg.web.principal import LOCAL

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.types import Scope

    from gateleg.net import Secret
    from gateleg.web.keys import Keys
    from gateleg.web.principal import Principal

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
