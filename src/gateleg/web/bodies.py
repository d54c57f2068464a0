"""Limits on request bodies, counted as they arrive: bytes, and values of JSON. A route declares its own limits with `body_limit`.

Values are limited because parsing and validating a body holds the event loop: a byte may be a value, and each may have a problem to report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from gateleg.extras import explained

try:
    from starlette.datastructures import Headers
except ModuleNotFoundError as error:
    raise explained(error) from error
from starlette.routing import compile_path

from gateleg.host.errors import BadRequest, TooLargeBody
from gateleg.web.envelope import error_response

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from gateleg.host.settings import Settings

__all__ = ["body_limit"]

#: Bytes, or `upload` for the setting `upload_limit`.
Limit = int | Literal["upload"]
E = TypeVar("E", bound=Callable[..., Any])
_ATTRIBUTE = "gateleg_body_limit"
#: The path of uploads of console pages.
_CONSOLE_UPLOADS = "/_nicegui/client/"
#: The values of a JSON body, and the bytes of the setting `body_limit` for each further one.
_VALUES, _BYTES_PER_VALUE = 10_000, 100


def body_limit(limit: Limit, *, values: int | None = None) -> Callable[[E], E]:
    """Set the maximum body size of a route in bytes; `"upload"` stands for the setting `upload_limit`.

    `values` is the maximum number of values in a JSON body, by default 10,000, or one for each 100 bytes of the setting `body_limit` if
    that is more. They are not limited by default if the route reads its body itself.

    Put it below the decorator of the route. By default, the setting `body_limit` applies.
    """

    def mark(endpoint: E) -> E:
        setattr(endpoint, _ATTRIBUTE, (limit, values))
        return endpoint

    return mark


@dataclass(frozen=True)
class DeclaredLimit:
    """The limits of one route or surface."""

    pattern: re.Pattern[str]
    #: None for all methods
    methods: frozenset[str] | None
    limit: Limit
    #: the values of a JSON body, if declared
    values: int | None = None
    #: whether the route reads its body itself, such as a file
    streamed: bool = False


@dataclass(frozen=True)
class RequestLimits:
    """The limits of one request: bytes, and values if the body is JSON; None for any number."""

    size: int
    values: int | None


def declared_limits(routes: Iterable[Any]) -> list[DeclaredLimit]:
    """The limits that routes declare."""
    found = []
    for route in routes:
        limit, values = getattr(getattr(route, "endpoint", None), _ATTRIBUTE, (None, None))
        if limit is not None:
            methods = frozenset(route.methods or ()) or None
            streamed = getattr(route, "body_field", None) is None
            found.append(DeclaredLimit(compile_path(route.path)[0], methods, limit, values, streamed))
    return found


def limits_of(method: str, path: str, settings: Settings, declared: Iterable[DeclaredLimit] = ()) -> RequestLimits:
    """The limits on the body of a request."""
    if path.startswith(_CONSOLE_UPLOADS):
        return RequestLimits(settings.upload_limit, None)
    most = max(_VALUES, settings.body_limit // _BYTES_PER_VALUE)
    for one in declared:
        if (one.methods is None or method in one.methods) and one.pattern.match(path):
            size = settings.upload_limit if one.limit == "upload" else one.limit
            return RequestLimits(size, one.values or (None if one.streamed else most))
    return RequestLimits(settings.body_limit, most)


class JsonValues:
    """Counts the values of a JSON text as it arrives, without parsing it: commas and opening brackets outside of strings."""

    def __init__(self, most: int) -> None:
        self.count = 1
        self.most = most
        self._quotes = 0
        self._in_string = False
        self._wide = False
        #: a backslash at the end of a chunk, which escapes the first character of the next
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        """Count the values of the next chunk. Of too many strings, only some are looked at."""
        text = self._rest + chunk
        self._rest = b"\\" if (len(text) - len(text.rstrip(b"\\"))) % 2 else b""
        text = text[: len(text) - len(self._rest)].replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = text.split(b'"', 4 * self.most + 1)
        self._quotes += len(parts) - 1
        # UTF-16 and UTF-32 write zeros between the characters of an escape, so commas in strings count there.
        self._wide = self._wide or b"\0" in text
        outside = text if self._wide else b"".join(parts[self._in_string :: 2])
        self._in_string ^= len(parts) % 2 == 0
        self.count += outside.count(b",") + outside.count(b"[") + outside.count(b"{")

    @property
    def too_many(self) -> bool:
        """Whether there are more values than allowed. A value has two strings at most: its key and itself."""
        return self.count > self.most or self._quotes > 4 * self.most


class BodyLimit:
    """Middleware that refuses bodies over their limit."""

    def __init__(self, app: ASGIApp, settings: Settings, declared: Iterable[DeclaredLimit]) -> None:
        self.app = app
        self._settings = settings
        self._declared = declared

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with a limit on its body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limits = limits_of(scope["method"], scope["path"], self._settings, self._declared)
        headers = Headers(scope=scope)
        announced = headers.get("content-length")
        if announced is not None and not (announced.isascii() and announced.isdigit()):
            await error_response(BadRequest("The Content-Length is not a number."))(scope, receive, send)
            return
        if announced is not None and int(announced[:18]) > limits.size:
            await error_response(_too_large(limits.size))(scope, receive, send)
            return
        is_json = "json" in headers.get("content-type", "").lower()
        await self._counted(scope, receive, send, limits if is_json else replace(limits, values=None))

    async def _counted(self, scope: Scope, receive: Receive, send: Send, limits: RequestLimits) -> None:
        received, started = 0, False
        refusal: TooLargeBody | None = None
        values = None if limits.values is None else JsonValues(limits.values)

        async def counted() -> Message:
            nonlocal received, refusal
            message = await receive()
            chunk = message.get("body", b"")
            received += len(chunk)
            if received > limits.size:
                refusal = _too_large(limits.size)
            elif values is not None and chunk:
                values.feed(chunk)
                refusal = _too_many(values.most) if values.too_many else None
            if refusal is not None:
                raise refusal
            return message

        async def noted(message: Message) -> None:
            nonlocal started
            if refusal is not None and not started:
                # The reader of the body takes it for an incomplete one, and responds accordingly.
                return
            started = True
            await send(message)

        try:
            await self.app(scope, counted, noted)
        except Exception:
            # The refusal itself, or what a surface has made of it, such as a group of errors.
            if refusal is None:
                raise
        if refusal is not None and not started:
            await error_response(refusal)(scope, receive, send)


def _too_large(limit: int) -> TooLargeBody:
    return TooLargeBody(f"The body is larger than the limit of {limit:,} bytes.", details={"limit": limit})


def _too_many(limit: int) -> TooLargeBody:
    return TooLargeBody(
        f"The body has more than {limit:,} values, which is the limit for JSON.",
        fix="Send fewer elements in one request, and the rest in further ones.",
        details={"limit": limit, "unit": "values"},
    )
