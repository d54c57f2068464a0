"""Errors of requests to addresses that users supply: webhooks, tools, pages to be read."""

from __future__ import annotations

from gateleg.errors import GatelegError


class OutgoingError(GatelegError):
    """A request to an address that was given could not be made."""

    code = "outgoing"
    status = 502


class AddressRefused(OutgoingError):
    """The host does not send requests to this address: it is not an http or https URL of the public Internet."""

    code = "address-refused"
    status = 422
    fix = "Give a public http or https URL; the operator of the host can allow an internal server with the setting `outgoing_allow`."


class TooManyRedirects(OutgoingError):
    """The address redirects again and again."""

    code = "too-many-redirects"
    fix = "Give the address that it leads to."


class AnswerTooLarge(OutgoingError):
    """The answer is larger than allowed."""

    code = "answer-too-large"
    fix = "Ask for less, or have the limit raised."


class OutgoingTimedOut(OutgoingError):
    """The address did not answer in the time that it had."""

    code = "outgoing-timed-out"
    status = 504
    fix = "Try again later; if it stays, the server at the address is too slow."


class NotReached(OutgoingError):
    """No connection could be made, the connection broke, or what came was not HTTP."""

    code = "not-reached"
    fix = "Check the address, and whether its server is running."
