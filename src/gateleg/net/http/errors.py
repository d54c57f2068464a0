"""Errors of HTTP requests without a valid response. Rooms translate them into their own errors."""

from __future__ import annotations


class HttpError(Exception):
    """A request got no complete response."""

    def __init__(self, reason: str, *, sent: bool = True, stale: bool = False, permanent: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        #: False if the service cannot have received the whole request, so it certainly did not execute it
        self.sent = sent
        #: whether the connection had been idle, so that the service may have closed it: a new connection may work
        self.stale = stale
        #: whether another attempt would fail in the same way
        self.permanent = permanent


class NotConnected(HttpError):
    """No connection could be made."""


class ConnectionLost(HttpError):
    """The connection was closed before the response was complete."""


class ResponseTimedOut(HttpError):
    """The response, or its next bytes, took longer than allowed."""


class BadResponse(HttpError):
    """The response is not HTTP, is larger than allowed, or does not have the expected form."""


class ResponseTooLarge(BadResponse):
    """The response is larger than the client's limit."""


class BadHeader(ValueError):
    """A header cannot be sent because it contains a control character or a non-ASCII character."""
