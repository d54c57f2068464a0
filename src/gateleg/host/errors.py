"""Errors of the host: one class for each kind of failure, with a code, an HTTP status, what happened and what to do.

Applications raise their own by deriving from `Refusal`; the host answers them in its envelope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.errors import GatelegError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Refusal(GatelegError):
    """A request that is refused. `details` goes into the envelope, `headers` into the response."""

    code = "refused"
    status = 400

    def __init__(
        self, message: str, *, fix: str | None = None, details: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, fix=fix)
        self.details = dict(details or {})
        self.headers = dict(headers or {})


class BadRequest(Refusal):
    """The request is malformed."""


class InvalidRequest(Refusal):
    """The path, query or body of a request does not match the API's schema."""

    code = "invalid"
    status = 422
    fix = "See `problems`, and the documentation of the API at /api/docs."


class NotSignedIn(Refusal):
    """The request is not authenticated."""

    status = 401
    fix = "Send an API key as `Authorization: Bearer ...`, or sign in."

    def __init__(self, what: str = "This request needs an API key.", **options: Any) -> None:
        super().__init__(what, headers={"WWW-Authenticate": 'Bearer realm="gateleg"'}, **options)


class StoreAway(Refusal):
    """The store does not answer, so callers cannot be authenticated. The reason is only in the log, because the caller is unknown."""

    status = 503
    fix = "Try again in a moment. The log of the host has the reason."

    def __init__(self) -> None:
        super().__init__("This host cannot reach its store.", headers={"Retry-After": "5"})


class KeyRefused(NotSignedIn):
    """The key is unknown to this host."""

    fix = "Check the key; `gateleg keys create` creates a new one."


class KeyExpired(NotSignedIn):
    """The key has expired."""

    fix = "Ask an admin for a new key."


class KeyRevoked(NotSignedIn):
    """The key was revoked."""

    fix = "Ask an admin for a new key."


class NotAllowed(Refusal):
    """The caller is authenticated, but not allowed to do this."""

    status = 403
    fix = "Use a key with that role, or ask an admin for one."


class ForeignOrigin(Refusal):
    """A browser sent the request on behalf of another site."""

    status = 403
    fix = "Send it from the console, or with a key in the Authorization header."


class ForeignHost(Refusal):
    """The request is for another host name. This prevents DNS rebinding by pages of other sites."""

    status = 421
    fix = "Use the address that the host printed, or add this name to the setting `hosts`."


class Unknown(Refusal):
    """Nothing exists at this address, or nothing that the caller may see."""

    code = "not-found"
    status = 404


class TooLargeBody(Refusal):
    """The body exceeds the limit of the host."""

    code = "body-too-large"
    status = 413
    fix = "Send a smaller body; upload large content to the object store with a PUT link."


class HeadTooLarge(Refusal):
    """The request line and headers exceed the limit of the host."""

    status = 431
    fix = "Send fewer or shorter headers; cookies of other programs on the same machine count too."


class TooSlow(Refusal):
    """The request did not arrive in time."""

    status = 408
    fix = "Send it again, without pauses."


class TooManyConnections(Refusal):
    """The host has reached its limit of open connections, in total or from one address."""

    status = 503
    fix = "Close unused connections, and try again in a moment."

    def __init__(self, what: str) -> None:
        super().__init__(what, headers={"Retry-After": "5"})


class TooOften(Refusal):
    """The caller exceeds its rate limit."""

    status = 429
    fix = "Wait for the seconds in the Retry-After header."

    def __init__(self, what: str, *, seconds: float) -> None:
        super().__init__(what, headers={"Retry-After": str(max(1, round(seconds + 0.5)))})


class StoreNotConfigured(Refusal):
    """No object store of the settings has this name."""

    status = 422
    fix = "Use one of the configured stores, or add one to the setting `object_stores` of the host."


class ApiKeyMissing(Refusal):
    """No key has this id."""

    code = "key-missing"
    status = 404
    fix = "List the keys to find the id."


class BadKey(Refusal):
    """A key cannot be created with these values."""

    status = 422
    fix = "Set a name, a role and, if it expires, a time in the future."
