"""Errors of requests to addresses that users supply, such as webhooks, tools and web pages."""

from __future__ import annotations

from gateleg.errors import GatelegError


class OutgoingError(GatelegError):
    """A request to an address that a user supplied failed."""

    code = "outgoing"
    status = 502


class AddressRefused(OutgoingError):
    """The host does not send requests to this address: it is not an http or https URL of the public Internet."""

    code = "address-refused"
    status = 422
    fix = "Use a public http or https URL; the operator of the host can allow an internal server with the setting `outgoing_allow`."


class TooManyRedirects(OutgoingError):
    """The address redirects too many times."""

    code = "too-many-redirects"
    fix = "Use the address that it finally redirects to."


class AnswerTooLarge(OutgoingError):
    """The answer is larger than allowed."""

    code = "answer-too-large"
    fix = "Request less, or ask the operator to raise the limit."


class OutgoingTimedOut(OutgoingError):
    """The address did not answer in time."""

    code = "outgoing-timed-out"
    status = 504
    fix = "Try again later; if that fails too, the server at the address is too slow."


class NotReached(OutgoingError):
    """No connection could be made, the connection was lost, or the answer was not HTTP."""

    code = "not-reached"
    fix = "Check the address, and whether its server is running."
