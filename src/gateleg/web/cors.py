"""CORS: which pages of other origins may call the APIs of a host with a key or token, and which of them with a session too.

Only the paths of programs take part: `/api`, `/events`, the links below `/objects`, and the surfaces of applications (`/graphql`, `/v1`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.responses import Response

from gateleg.host.settings import ANY_ORIGIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.datastructures import Headers
    from starlette.types import Scope

    from gateleg.host.settings import Settings
    from gateleg.web.surfaces import Surfaces

_PREFIXES = ("/api/", "/events/", "/objects/")
_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
#: Seconds for which browsers keep a preflight's answer; Chromium keeps none for longer.
_MAX_AGE = 7_200
_HEADER_NAMES = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+(\s*,\s*[A-Za-z0-9!#$%&'*+.^_`|~-]+)*")
#: Headers that pages can read without being told, and those that none may read.
_NOT_NAMED = frozenset(
    {"cache-control", "content-language", "content-length", "content-type", "expires", "last-modified", "pragma", "set-cookie", "vary"}
)


@dataclass(frozen=True)
class Cors:
    """The origins of the settings."""

    origins: frozenset[str]
    #: origins whose requests may use a session
    credentials: frozenset[str]
    surfaces: Surfaces

    @classmethod
    def of(cls, settings: Settings, surfaces: Surfaces) -> Cors:
        """The policy of a host."""
        return cls(frozenset(settings.cors_origins), frozenset(settings.cors_credentials), surfaces)

    def applies(self, path: str) -> bool:
        """Whether pages of other origins may call a path at all."""
        return bool(self.origins or self.credentials) and (path.startswith(_PREFIXES) or self.surfaces.at(path) is not None)

    def allows(self, origin: str | None) -> bool:
        """Whether pages of an origin may read responses."""
        return origin is not None and (ANY_ORIGIN in self.origins or origin in self.origins or origin in self.credentials)

    def allows_session(self, path: str, origin: str | None) -> bool:
        """Whether requests of an origin to a path may use a session. A write needs the session's token as well."""
        return origin in self.credentials and self.applies(path)

    def preflight(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a browser that asks before it sends a request; None for any other request, and for origins without access."""
        asked, origin = headers.get("access-control-request-method"), headers.get("origin")
        if scope["method"] != "OPTIONS" or asked is None or not self.applies(scope["path"]) or not self.allows(origin):
            return None
        answer = {"Access-Control-Allow-Methods": _METHODS, "Access-Control-Max-Age": str(_MAX_AGE)}
        names = headers.get("access-control-request-headers", "").strip()
        if _HEADER_NAMES.fullmatch(names):
            # Any header: an application may have some of its own, and the origin is trusted with its requests.
            answer["Access-Control-Allow-Headers"] = names
        return Response(None, 204, answer)

    def response_headers(self, path: str, origin: str | None, present: Mapping[str, str]) -> dict[str, str]:
        """The headers to add to a response, whatever its status: a page must be able to read errors too."""
        if not self.applies(path):
            return {}
        # Also without an origin: a cache must not give the response to a page of an origin.
        preflight = "access-control-allow-methods" in present
        vary = ["Origin", *(["Access-Control-Request-Headers"] if preflight else [])]
        headers = {"vary": ", ".join(filter(None, [present.get("vary"), *vary]))}
        if origin is None or not self.allows(origin):
            return headers
        headers["access-control-allow-origin"] = origin if ANY_ORIGIN not in self.origins or origin in self.credentials else ANY_ORIGIN
        if origin in self.credentials:
            headers["access-control-allow-credentials"] = "true"
        if not preflight and (names := _named(present)):
            headers["access-control-expose-headers"] = names
        return headers


def _named(present: Iterable[str]) -> str:
    """The headers of a response that its page may read, such as its ETag, its request id and those of applications."""
    names = {name.lower() for name in present} - _NOT_NAMED
    return ", ".join(sorted(name for name in names if not name.startswith("access-control-")))
