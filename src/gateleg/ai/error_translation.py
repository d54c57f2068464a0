"""Translates failures into errors of models: network errors, and the error responses of services."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.ai.errors import (
    ContextExceeded,
    InvalidModelRequest,
    InvalidModelResponse,
    ModelAccessDenied,
    ModelFailed,
    ModelRefused,
    ModelTimedOut,
    ModelUnreachable,
    RateLimited,
)
from gateleg.net import may_pass, retry_after
from gateleg.net.http import BadHeader, BadResponse, HttpError, ResponseTimedOut

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateleg.ai.errors import AiError

#: Larger than any response of a model: a batch of 2,048 vectors of 3,072 numbers is at most 130 MB.
LIMIT = 256 * 1024 * 1024
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,59}")
#: The maximum length of a service's message that is shown.
_MAX_MESSAGE_CHARACTERS = 400
_TOO_LONG = (
    "context_length",
    "context length",
    "context size",
    "exceed_context",
    "maximum context",
    "prompt is too long",
    "input is too long",
)


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translate network errors raised in the block."""
    try:
        yield
    except HttpError as error:
        raise model_error(error) from error
    except BadHeader as error:
        raise InvalidModelRequest(str(error), fix="Check the key.") from error


def model_error(error: HttpError) -> AiError:
    """The error for a request without a response."""
    failure: AiError
    if isinstance(error, BadResponse):
        failure = InvalidModelResponse(error.message)
    elif isinstance(error, ResponseTimedOut):
        failure = ModelTimedOut(error.message)
    else:
        failure = ModelUnreachable(error.message)
        failure.passing = not error.permanent
        failure.sent = error.sent
    # Reasons contain addresses, possibly of an internal network.
    failure.public = type(failure).said
    return failure


@dataclass(frozen=True, slots=True)
class ServiceError:
    """What a service says about a failure. The status is that of the response, or the one that an error in a stream stands for."""

    status: int
    code: str = ""
    message: str = ""
    #: the seconds that the service asks to wait
    retry_after: float | None = None


def read_error(status: int, headers: Mapping[str, str], body: bytes) -> ServiceError:
    """The error in a response, in the forms that most services use. An error in a stream comes with status 200."""
    code, message, own_status = _error_parts(body)
    return ServiceError((own_status or 500) if 200 <= status < 300 else status, code, message, retry_after(headers))


def parse_error_response(status: int, headers: Mapping[str, str], body: bytes, key: str | None = None) -> AiError:
    """The error for an error response. If the service repeats the key in its message, the key is removed."""
    return translate_service_error(read_error(status, headers, body), key)


def translate_service_error(error: ServiceError, key: str | None = None) -> AiError:
    """The error of models for an error of a service. If the service repeats the key in its message, the key is removed."""
    return error_for(error.status, error.code, redact_key(error.message, key), error.retry_after)


def redact_key(message: str, key: str | None) -> str:
    """A message without the key. Very short keys are not removed: they could be part of any word."""
    return message.replace(key, "...") if key and len(key) >= 8 else message


def error_for(status: int, code: str, message: str, wait: float | None = None) -> AiError:
    """The error for a status, the service's error code and its message."""
    text = f"The service answered {status}" + (f" ({code})" if code else "")
    error = _refused(status, code, message, text + (f": {message[:_MAX_MESSAGE_CHARACTERS].rstrip('.')}." if message else "."), wait)
    # A service's message may repeat what was sent; its codes do not.
    error.public = f"The service answered {status}" + (f" ({code})." if _CODE.fullmatch(code) else ".")
    return error


def _refused(status: int, code: str, message: str, text: str, wait: float | None) -> AiError:
    if status in (401, 403):
        return ModelAccessDenied(text)
    if status == 429:
        limited = RateLimited(text, retry_after=wait)
        # Waiting does not fill an empty account.
        limited.passing = code not in ("insufficient_quota", "billing_hard_limit_reached")
        return limited
    if may_pass(status):
        return ModelFailed(text, retry_after=wait)
    if any(words in f"{code} {message}".lower() for words in _TOO_LONG):
        return ContextExceeded(text)
    return ModelRefused(text)


def _error_parts(body: bytes) -> tuple[str, str, int | None]:
    """The code and message of an error body, and the HTTP status that it names itself, as some do in streams."""
    try:
        content: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        text = body[:_MAX_MESSAGE_CHARACTERS].decode("utf-8", "replace").strip()
        return "", "" if body.lstrip().startswith(b"<") else text, None
    error = (content.get("error") or content) if isinstance(content, dict) else content
    if not isinstance(error, dict):
        return "", str(error), None
    code = error.get("code")
    kind = str(error.get("type") or "")
    # The type of a problem document (RFC 9457) is a URI, which says nothing.
    name = str((code if isinstance(code, str) else None) or ("" if ":" in kind else kind))
    own_status = code if isinstance(code, int) and 400 <= code < 600 else None
    return name, str(error.get("message") or "") or _detail(error), own_status


def _detail(problem: dict[str, Any]) -> str:
    """The message of a problem document, and of services on FastAPI: a text, or a list of invalid inputs."""
    detail = problem.get("detail") or problem.get("title") or ""
    if not isinstance(detail, list):
        return str(detail.get("message") or detail.get("msg") or "") if isinstance(detail, dict) else str(detail)
    inputs = [entry for entry in detail if isinstance(entry, dict) and entry.get("msg")]
    return "; ".join(f"{'.'.join(map(str, entry.get('loc') or ()))}: {entry['msg']}".removeprefix(": ") for entry in inputs)
