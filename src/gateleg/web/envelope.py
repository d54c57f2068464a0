"""The error envelope: `{"error": {"code", "message", "details"}}` with the right status."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import Response

from gateleg.errors import GatelegError
from gateleg.host.errors import Refusal
from gateleg.jobs import errors as job_errors
from gateleg.model import errors as model_errors
from gateleg.objects import ObjectsError
from gateleg.objects import errors as object_errors
from gateleg.store import errors as store_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["body_of"]

_log = logging.getLogger("gateleg.web")
_TRY_LATER = "Try again in a moment. The log of the host has the reason."
_READ_AGAIN = "Read it again, and repeat the change on its current state."
_SEND_LESS = "Send less: upload large content to the object store, and send its key."
#: Fixes for clients of the API, for errors whose own fix is for the developers of an application.
ADVICE: Mapping[type[Exception], str] = {
    store_errors.StoreError: "",
    store_errors.NotFound: "Check the id; the item may have been deleted.",
    store_errors.ConditionFailed: _READ_AGAIN,
    store_errors.AlreadyExists: "Choose another key, or change the existing item.",
    store_errors.UniqueTaken: "Choose another value.",
    store_errors.TransactionCanceled: "Nothing was written. Read the items again, and repeat the change on their current state.",
    store_errors.TransactionConflict: _TRY_LATER,
    store_errors.IdempotencyMismatch: "Use a token for one request only.",
    store_errors.Throttled: _TRY_LATER,
    store_errors.TooLarge: "Send less.",
    store_errors.KeyTooLong: "Send a shorter name or id.",
    store_errors.TooMany: "Send fewer at once.",
    store_errors.BadLimit: "Request at least one result.",
    store_errors.CursorRejected: "Start again without a cursor.",
    store_errors.LockHeld: _TRY_LATER,
    store_errors.LockLost: _TRY_LATER,
    store_errors.TableMissing: _TRY_LATER,
    store_errors.TableBusy: _TRY_LATER,
    store_errors.QuotaExceeded: _TRY_LATER,
    store_errors.ServiceFailed: _TRY_LATER,
    store_errors.NoAnswer: _TRY_LATER,
    store_errors.TimedOut: "Request less at once, or try again in a moment.",
    model_errors.ModelError: "",
    model_errors.ExpressionValue: "Send a value of the attribute's type.",
    model_errors.NumberRefused: "Send numbers of up to 38 significant digits, between 1E-130 and 1E+126 in magnitude.",
    model_errors.ReadOnlyAttribute: "Leave the attribute out.",
    model_errors.ImmutableKey: "Leave the attribute out: the key of an item cannot change.",
    model_errors.EmptyUpdate: "Send at least one attribute to change.",
    model_errors.EncodeError: "Send another value.",
    model_errors.DelimiterInValue: "Send a value without that character.",
    model_errors.EmptyKey: "Send a value that is not empty.",
    model_errors.EmptySet: "Omit the list instead of sending an empty one.",
    model_errors.KeyValueError: "Send a value of the type that the message names.",
    model_errors.MissingComponent: "Send the values that the message names.",
    model_errors.UnknownArgument: "Send only the arguments that the access pattern has.",
    model_errors.KeyRangeError: "Send a value within the range.",
    model_errors.NaiveTime: "Send the time with its zone, such as 2026-01-31T12:00:00Z.",
    model_errors.S3KeyRefused: "Send the key of an object, such as films/1/final.mp4, instead of a URL.",
    job_errors.UnknownJobType: "Correct the name of the job type.",
    job_errors.ConfigTooLarge: _SEND_LESS,
    job_errors.BadEvent: _SEND_LESS,
    object_errors.ContentDiffers: "Ask the host's operator to restore the content.",
    object_errors.ObjectExists: "Choose another key.",
    object_errors.ObjectsClosed: _TRY_LATER,
    object_errors.ObjectMissing: "Check the key; the object may have been deleted.",
    object_errors.OutsideRoot: "Check the key; the object may have been deleted.",
    object_errors.RangeOutside: "Request a range that starts before the end of the object.",
}
#: Error codes of plain HTTP errors, by status.
_CODES = {400: "bad-request", 401: "not-signed-in", 403: "not-allowed", 404: "not-found", 405: "method-not-allowed", 413: "body-too-large"}


def status_of(error: Exception) -> int:
    """The status of an error."""
    if isinstance(error, GatelegError):
        return error.status
    return error.status_code if isinstance(error, HTTPException) else 500


def body_of(error: Exception) -> dict[str, Any]:
    """An error as clients see it. Internal details and unexpected errors are not shown."""
    status = status_of(error)
    if isinstance(error, HTTPException):
        return _body(_CODES.get(status, "refused"), str(error.detail), {})
    if not isinstance(error, GatelegError) or (status == 500 and not isinstance(error, Refusal)):
        return _body("internal", "The host failed. Its log has the reason under the request id.", {})
    if status >= 500 and isinstance(error, store_errors.StoreError | ObjectsError):
        # Messages of disks and services contain folders, addresses and accounts, which belong in the log only.
        return _body(error.code, (type(error).__doc__ or "").partition("\n")[0], {"fix": _TRY_LATER})
    found = {"fix": advice_for(error), "why": error.why}
    return _body(error.code, error.public or error.message, {name: text for name, text in found.items() if text} | error.details)


def advice_for(error: GatelegError) -> str:
    """What the client can do about an error."""
    own = error.fix if error.public_fix is None else error.public_fix
    return next((ADVICE[kind] for kind in type(error).__mro__ if kind in ADVICE), own)


def _body(code: str, message: str, details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "details": details}}


def error_response(error: Exception) -> Response:
    """The response for an error."""
    headers = dict(getattr(error, "headers", None) or {})
    status = status_of(error)
    if status == 304:
        return Response(status_code=304, headers=headers)
    if status >= 500 and isinstance(error, store_errors.StoreError | ObjectsError):
        _log.error("The store failed.", exc_info=error)
    content = orjson.dumps(body_of(error), default=str)
    return Response(content, status, headers | {"Cache-Control": "no-store"}, "application/json")
