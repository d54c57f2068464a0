"""What the host refuses: one class for each kind of failure, with a code, an HTTP status, what happened and what to do.

Applications raise their own by deriving from `Refusal`; the host answers them in its envelope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.errors import GatelegError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Refusal(GatelegError):
    """A request that is not granted. `details` goes into the envelope, `headers` beside it."""

    code = "refused"
    status = 400

    def __init__(
        self, message: str, *, fix: str | None = None, details: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, fix=fix)
        self.details = dict(details or {})
        self.headers = dict(headers or {})


class BadRequest(Refusal):
    """A request that cannot be understood."""

    code = "bad-request"


class NotSignedIn(Refusal):
    """Nobody is known to have sent the request."""

    code = "not-signed-in"
    status = 401
    fix = "Send a key as `Authorization: Bearer ...`, or sign in."

    def __init__(self, what: str = "This needs a key.", **options: Any) -> None:
        super().__init__(what, headers={"WWW-Authenticate": 'Bearer realm="gateleg"'}, **options)


class StoreAway(Refusal):
    """The store does not answer, so that nobody can be recognised. Why is for the log: whoever asks is not known."""

    code = "store-away"
    status = 503
    fix = "Try again in a moment. Whoever runs this host finds the reason in its log."

    def __init__(self) -> None:
        super().__init__("This host cannot reach its store.", headers={"Retry-After": "5"})


class KeyRefused(NotSignedIn):
    """The key is not one of ours."""

    code = "key-refused"
    fix = "Look at the key; `gateleg keys create` makes a new one."


class KeyExpired(NotSignedIn):
    """The key is over."""

    code = "key-expired"
    fix = "Ask for a new key."


class KeyRevoked(NotSignedIn):
    """The key was taken back."""

    code = "key-revoked"
    fix = "Ask for a new key."


class NotAllowed(Refusal):
    """The caller is known, and may not do this."""

    code = "not-allowed"
    status = 403
    fix = "Ask somebody whose key has the role."


class ForeignOrigin(Refusal):
    """A browser sent the request on behalf of another site."""

    code = "foreign-origin"
    status = 403
    fix = "Send it from the console, or with a key in the Authorization header."


class ForeignHost(Refusal):
    """The request is for another host: a page of another site may have had this machine's address put under its own name."""

    code = "foreign-host"
    status = 421
    fix = "Use the address that the host printed, or name this one in the setting `hosts`."


class Unknown(Refusal):
    """There is nothing at the address, or nothing that the caller may know of."""

    code = "not-found"
    status = 404


class TooLargeBody(Refusal):
    """The body is larger than the host takes."""

    code = "body-too-large"
    status = 413
    fix = "Send less at once; large content goes to the objects by a link to PUT."


class HeadTooLarge(Refusal):
    """The request line and the headers are larger than the host takes."""

    code = "head-too-large"
    status = 431
    fix = "Send fewer or shorter headers; cookies of other programs on the same machine count too."


class TooSlow(Refusal):
    """The request did not arrive in time."""

    code = "too-slow"
    status = 408
    fix = "Send it again, without pauses."


class TooManyConnections(Refusal):
    """The host has as many open connections as it takes, in all or from one address."""

    code = "too-many-connections"
    status = 503
    fix = "Close connections that are not used, and try again in a moment."

    def __init__(self, what: str) -> None:
        super().__init__(what, headers={"Retry-After": "5"})


class TooOften(Refusal):
    """The caller asks more often than it may."""

    code = "too-often"
    status = 429
    fix = "Wait as long as Retry-After says."

    def __init__(self, what: str, *, seconds: float) -> None:
        super().__init__(what, headers={"Retry-After": str(max(1, round(seconds + 0.5)))})


class KeyMissing(Refusal):
    """There is no key with the id."""

    code = "key-missing"
    status = 404
    fix = "List the keys for their ids."


class BadKey(Refusal):
    """A key that cannot be made so."""

    code = "bad-key"
    status = 422
    fix = "Give it a name, a role and, if it ends, a time that is still to come."
