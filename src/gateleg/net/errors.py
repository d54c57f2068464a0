"""Errors of HTTP requests: those without a valid response, which rooms translate into their own errors, and for users those of requests to
addresses that users supply, such as webhooks, tools and web pages.
"""

from __future__ import annotations

from gateleg.errors import GatelegError


class HttpError(GatelegError):
    """A request got no complete response."""

    code = "http-failed"
    status = 502
    fix = "Check the address and whether its server is running, and try again."

    def __init__(self, message: str, *, sent: bool = True, stale: bool = False, permanent: bool = False) -> None:
        super().__init__(message)
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

    status = 504
    fix = "Try again later, or allow more time."


class BadResponse(HttpError):
    """The response is not HTTP, is larger than allowed, or does not have the expected form."""

    fix = "Check which server listens at the address."


class ResponseTooLarge(BadResponse):
    """The response is larger than the client's limit."""

    fix = "Request less, or raise the limit."


class BadHeader(GatelegError, ValueError):
    """A header cannot be sent because it contains a control character or a non-ASCII character."""

    status = 422
    fix = "Give only printable ASCII characters."


class OutgoingError(GatelegError):
    """A request to an address that a user supplied failed."""

    status = 502


class AddressRefused(OutgoingError):
    """The host does not send requests to this address: it is not an http or https URL of the public Internet."""

    status = 422
    fix = "Use a public http or https URL; the operator of the host can allow an internal server with the setting `outgoing_allow`."


class TooManyRedirects(OutgoingError):
    """The address redirects too many times."""

    fix = "Use the address that it finally redirects to."


class AnswerTooLarge(OutgoingError):
    """The answer is larger than allowed."""

    fix = "Request less, or ask the operator to raise the limit."


class OutgoingTimedOut(OutgoingError):
    """The address did not answer in time."""

    status = 504
    fix = "Try again later; if that fails too, the server at the address is too slow."


class NotReached(OutgoingError):
    """No connection could be made, the connection was lost, or the answer was not HTTP."""

    fix = "Check the address, and whether its server is running."
