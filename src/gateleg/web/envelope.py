"""The error envelope: `{"error": {"code", "message", "details"}}` with the right status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import Response

from gateleg import jobs, objects, store
from gateleg.model import ModelError
from gateleg.model.errors import S3KeyRefused
from gateleg.web.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The status of each kind of error; of a class that is not listed, that of the nearest class above it.
STATUSES: Mapping[type[Exception], int] = {
    store.StoreError: 500,
    store.NotFound: 404,
    store.ConditionFailed: 409,
    store.UniqueTaken: 409,
    store.TransactionCanceled: 409,
    store.TransactionConflict: 409,
    store.IdempotencyMismatch: 409,
    store.Throttled: 503,
    store.TooLarge: 413,
    store.KeyTooLong: 422,
    store.TooMany: 422,
    store.CursorRejected: 400,
    store.OutOfScope: 404,
    store.LockHeld: 409,
    store.LockLost: 409,
    store.TableMissing: 503,
    store.TableBusy: 503,
    store.QuotaExceeded: 503,
    store.ServiceFailed: 502,
    store.NotDynamoDB: 502,
    store.StoreClosed: 503,
    store.NoAnswer: 503,
    store.TimedOut: 504,
    jobs.JobError: 409,
    jobs.UnknownJobType: 422,
    jobs.BadConfig: 422,
    jobs.ConfigTooLarge: 413,
    jobs.BadSubmission: 422,
    jobs.DependencyCycle: 422,
    jobs.DependencyMissing: 422,
    jobs.TooManyDependencies: 422,
    jobs.JobMissing: 404,
    jobs.BadSchedule: 422,
    jobs.ScheduleMissing: 404,
    objects.ObjectsError: 500,
    objects.ObjectMissing: 404,
    objects.NotModified: 304,
    objects.ObjectChanged: 409,
    objects.RangeOutside: 416,
    objects.DigestMismatch: 422,
    objects.BadMetadata: 422,
    objects.BadCursor: 400,
    objects.LinkRefused: 403,
    objects.StorageFull: 507,
    objects.StorageFailed: 502,
    objects.StorageThrottled: 503,
    objects.OutsideRoot: 404,
    ModelError: 422,
    S3KeyRefused: 422,
}
_LATER = "Try again in a moment. The log of the host has the reason."
_AGAIN = "Read it again, and decide on what it is now."
#: What a client of the API can do about an error of the store. The store's own advice is for whoever writes the application.
ADVICE: Mapping[type[Exception], str] = {
    store.StoreError: "",
    store.NotFound: "Look at the id; what was there may have been deleted.",
    store.ConditionFailed: _AGAIN,
    store.AlreadyExists: "Choose another key, or change what is there.",
    store.UniqueTaken: "Choose another value.",
    store.TransactionCanceled: "Read again what it was about; nothing was written.",
    store.TransactionConflict: _LATER,
    store.IdempotencyMismatch: "Use a token for one request only.",
    store.Throttled: _LATER,
    store.TooLarge: "Send less.",
    store.KeyTooLong: "Send a shorter name or id.",
    store.TooMany: "Send fewer at once.",
    store.CursorRejected: "Start again without a cursor.",
    store.LockHeld: _LATER,
    store.LockLost: _LATER,
    store.TableMissing: _LATER,
    store.TableBusy: _LATER,
    store.QuotaExceeded: _LATER,
    store.ServiceFailed: _LATER,
    store.NoAnswer: _LATER,
    store.TimedOut: "Ask for less at once, or try again in a moment.",
}
#: What HTTP itself refuses, by status.
_CODES = {400: "bad-request", 401: "not-signed-in", 403: "not-allowed", 404: "not-found", 405: "method-not-allowed", 413: "body-too-large"}


def status_of(error: Exception) -> int:
    """The status of an error."""
    if isinstance(error, Refusal):
        return error.status
    if isinstance(error, HTTPException):
        return error.status_code
    return next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 500)


def body_of(error: Exception) -> dict[str, Any]:
    """An error as callers see it. What an error of ours does not say, and what nobody expected, is not told."""
    status = status_of(error)
    if isinstance(error, HTTPException):
        return _body(_CODES.get(status, "refused"), str(error.detail), {})
    code = getattr(error, "code", None)
    if not isinstance(code, str) or (status == 500 and not isinstance(error, Refusal)):
        return _body("internal", "Something went wrong here; the log has it under the request id.", {})
    details = dict(error.details) if isinstance(error, Refusal) else _details(error)
    if fix := advice_for(error):
        details = {"fix": fix} | details
    what = str(getattr(error, "what", "") or error)
    return _body(code, what, details)


def advice_for(error: Exception) -> str:
    """What whoever has sent the request can do about an error."""
    own = str(getattr(error, "fix", ""))
    return next((ADVICE[kind] for kind in type(error).__mro__ if kind in ADVICE), own)


def _details(error: Exception) -> dict[str, Any]:
    """What an error of the kit knows besides its message."""
    found: dict[str, Any] = {}
    if why := getattr(error, "why", ""):
        found["why"] = why
    if problems := getattr(error, "problems", None):
        found["problems"] = [{"at": list(problem.get("loc", ())), "message": problem.get("msg", "")} for problem in problems]
    return found


def _body(code: str, message: str, details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "details": details}}


def answer(error: Exception) -> Response:
    """The answer to a request that an error ended."""
    headers = dict(getattr(error, "headers", None) or {})
    status = status_of(error)
    if status == 304:
        return Response(status_code=304, headers=headers)
    content = orjson.dumps(body_of(error), default=str)
    return Response(content, status, headers | {"Cache-Control": "no-store"}, "application/json")
