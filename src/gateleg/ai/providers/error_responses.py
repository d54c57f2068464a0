"""Translates error responses of services: status, headers and body."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.ai.errors import AiError, ContextExceeded, ModelAccessDenied, ModelFailed, ModelRefused, RateLimited
from gateleg.net import may_pass, retry_after

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def parse_error_response(status: int, headers: Mapping[str, str], body: bytes, key: str | None = None) -> AiError:
    """The error for an error response. If the service repeats the key in its message, the key is removed."""
    code, message = _error_parts(body)
    return error_for(status, code, redact_key(message, key), retry_after(headers))


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


def _error_parts(body: bytes) -> tuple[str, str]:
    """The code and message of an error body, in the forms that services use."""
    try:
        found: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return "", body[:_MAX_MESSAGE_CHARACTERS].decode("utf-8", "replace").strip() if not body.lstrip().startswith(b"<") else ""
    error = (found.get("error") or found) if isinstance(found, dict) else found
    if isinstance(error, dict):
        code = error.get("code") if isinstance(error.get("code"), str) else None
        kind = str(error.get("type") or "")
        # The type of a problem document (RFC 9457) is a URI, which says nothing.
        return str(code or ("" if ":" in kind else kind)), str(error.get("message") or "") or _detail(error)
    return "", str(error)


def _detail(problem: dict[str, Any]) -> str:
    """The message of a problem document, and of services on FastAPI: a text, or a list of invalid inputs."""
    detail = problem.get("detail") or problem.get("title") or ""
    if not isinstance(detail, list):
        return str(detail.get("message") or detail.get("msg") or "") if isinstance(detail, dict) else str(detail)
    inputs = [one for one in detail if isinstance(one, dict) and one.get("msg")]
    return "; ".join(f"{'.'.join(map(str, one.get('loc') or ()))}: {one['msg']}".removeprefix(": ") for one in inputs)
