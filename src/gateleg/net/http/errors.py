"""Why a request got no response. Rooms put their own words to these for their callers."""

from __future__ import annotations


class HttpError(Exception):
    """A request got no whole response."""

    def __init__(self, reason: str, *, sent: bool = True, stale: bool = False, permanent: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        #: False if the service cannot have had the whole request, so that it certainly did nothing
        self.sent = sent
        #: the connection had been idle, and the service may simply have closed it: another one may do
        self.stale = stale
        #: the next attempt would fail in the same way
        self.permanent = permanent


class NotConnected(HttpError):
    """No connection could be made."""


class ConnectionLost(HttpError):
    """The connection broke before the response was whole."""


class ResponseTimedOut(HttpError):
    """The response, or its next bytes, took longer than allowed."""


class BadResponse(HttpError):
    """The response is not HTTP, larger than allowed, or not in the form that was asked for."""


class ResponseTooLarge(BadResponse):
    """The response is larger than the limit of its client."""


class BadHeader(ValueError):
    """A header cannot be sent: it holds a control character or a letter beyond ASCII."""
