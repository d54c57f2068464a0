"""Local access: while a host has no keys, a caller on this machine who presents its token, not through a proxy, is admin.

An address proves nothing: a proxy or a forwarded port on this machine makes the requests of others come from here. The token is derived
from the host's secret, which only its owner can read.
"""

from __future__ import annotations

import base64
import hmac
import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from gateleg.web.errors import ForeignHost, KeyRefused, NotSignedIn
from gateleg.web.principal import LOCAL

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.types import Scope

    from gateleg.net import Secret
    from gateleg.web.keys import Keys
    from gateleg.web.principal import Principal

#: What the token begins with, so that it is told apart from keys.
LOCAL_PREFIX = "gl_local_"
#: The access key id under which SDKs sign with the token.
LOCAL_ID = "local"
#: What proxies, tunnels and load balancers add to requests.
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


def is_loopback(address: str) -> bool:
    """Whether an address, or a host name as a request has it, means this machine."""
    name = address.strip("[]").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def host_name(headers: Headers) -> str:
    """The host that a request is for, without its port."""
    try:
        return urlsplit(f"//{headers.get('host', '')}").hostname or ""
    except ValueError:
        return ""


def came_directly(scope: Scope, headers: Headers) -> bool:
    """Whether a request was sent on this machine, to this machine, and shows no sign of a proxy. HTTP/1.0 is one: proxies speak it."""
    client = scope.get("client")
    if client is None or not is_loopback(client[0]) or not is_loopback(host_name(headers)) or scope.get("http_version") == "1.0":
        return False
    return not any(name in _ADDED or name.startswith(_ADDED_BEGIN) for name in headers)


def check_direct(scope: Scope, headers: Headers) -> None:
    """Refuse what did not come directly."""
    if not came_directly(scope, headers):
        raise ForeignHost(
            "This host has no keys yet, so it takes requests only from this machine, under its own name, and not through a proxy.",
            fix="Open the link that it printed at its start, or make a key with `gateleg keys create` first.",
        )


def token_needed() -> NotSignedIn:
    """What a caller without the token is told."""
    return NotSignedIn(
        "This host has no keys yet, and needs its token.",
        fix="Open the link that it printed at its start, or send what `gateleg token` prints as `Authorization: Bearer ...`.",
    )


def token_from(secret: Secret) -> str:
    """The token of a host with a secret. It stays the same over restarts, and ends with the secret."""
    return LOCAL_PREFIX + base64.urlsafe_b64encode(secret.key("local access")).decode().rstrip("=")


class LocalAccess:
    """Recognises the token, as long as there is no key."""

    def __init__(self, keys: Keys, secret: Secret) -> None:
        self._keys = keys
        self.token = token_from(secret)

    async def recognise(self, token: str, scope: Scope, headers: Headers) -> Principal:
        """Whom the token stands for; raises `KeyRefused` or `ForeignHost`. The first key ends it."""
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            raise KeyRefused("The token is not the one of this host.", fix="`gateleg token` prints it, with the settings of the host.")
        if await self._keys.exist():
            raise KeyRefused(
                "The token is no longer accepted, because this host has keys.", fix="Use a key; `gateleg keys create` makes one."
            )
        check_direct(scope, headers)
        return LOCAL

    def link(self, address: str) -> str:
        """The address that signs a browser in."""
        return f"{address}/signin?token={quote(self.token)}"
