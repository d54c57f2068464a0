"""Transports send requests to DynamoDB. Requests and responses are the dictionaries of its JSON protocol.

A transport raises `ServiceError` if the service answers with an error, and `Unreachable` if there is no response. It retries throttling,
internal errors and lost connections within a budget, so the errors that it raises are final. It never changes a request and keeps no state
of callers, so stores and threads may share it.

- `embedded.EmbeddedTransport(engine)` and `embedded.AsyncEmbeddedTransport(engine)`: an embedded engine
- `http.WireTransport(...)` and `async_http.AsyncWireTransport(...)`: Amazon DynamoDB, or any endpoint that speaks its protocol
- `botocore.BotocoreTransport(client)`: an existing botocore client

Encode requests as JSON, and report text with lone surrogates, which Python allows but Unicode does not.

Convert HTTP responses of DynamoDB to results or errors.

Which requests are idempotent, so that they may be resent after their response was lost.

If a response is lost, the request may or may not have been executed. Resending it is safe only if executing it twice has the same effect
and the same response as once:

- Reads change nothing.
- Repeating a put or delete stores the same, but only the first one returns the replaced item: it is not resent with `ReturnValues`.
- An update is resent if it only sets attributes to constants, or removes them. Updates with arithmetic, `ADD`, `DELETE`, list elements
  (whose positions shift) or values copied from other attributes are not.
- A batch of writes consists of puts and deletes.
- The service recognises a repeated transaction by its token.
- All other requests, such as CreateTable, are not resent: the second response would be an error because of the first request.

A condition does not change this, with one exception: if it fails in the second request, the first one may be the reason. The caller of
`is_idempotent` handles that case.

Compute item sizes as DynamoDB counts them, to refuse items that are too large before they are sent.
"""

from __future__ import annotations

import re
import zlib
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import orjson

from gateleg.model.errors import EncodeError
from gateleg.net.errors import BadResponse
from gateleg.store.errors import TooLarge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model import Item
    from gateleg.model.wire import Value
    from gateleg.net.http.pool import Response
    from gateleg.store.flow import Request

__all__ = [
    "CLOSED",
    "FOREIGN",
    "ITEM_LIMIT",
    "AsyncTransport",
    "ServiceError",
    "Transport",
    "Unreachable",
    "is_small",
    "item_size",
    "missing_credentials",
]


#: The error code of a call on a closed transport.
CLOSED = "TransportClosed"
#: The prefix of the error code for responses that are not DynamoDB's; the HTTP status follows.
FOREIGN = "Http"


class ServiceError(Exception):
    """The service answered with an error.

    `code` is its short name (`ConditionalCheckFailedException`), `extra` the other members of the response's body, such as the `Item` of a
    failed condition or the `CancellationReasons` of a transaction, and `attempts` the number of times that the request was sent.
    """

    def __init__(
        self, code: str, message: str | None = None, extra: Mapping[str, Any] | None = None, status: int = 400, attempts: int = 1
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message or ""
        self.extra: dict[str, Any] = dict(extra or {})
        self.status = status
        self.attempts = attempts

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" if self.message else self.code


def missing_credentials(message: str) -> ServiceError:
    """The error for a request that was not sent because it could not be signed without credentials."""
    return ServiceError("MissingAuthenticationTokenException", message, attempts=0)


class Unreachable(Exception):
    """The service did not answer: no connection, a lost connection, or a timeout. Whether a write was applied is unknown."""

    def __init__(self, message: str, attempts: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.attempts = attempts


@runtime_checkable
class Transport(Protocol):
    """Sends requests and returns their responses."""

    def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """Send a request, such as `call("GetItem", {"TableName": ..., "Key": ...})`. `timeout` is in seconds and includes retries."""
        ...

    def close(self) -> None:
        """Let go of connections and files."""
        ...


@runtime_checkable
class AsyncTransport(Protocol):
    """As `Transport`, awaited. Cancelling the task abandons the request."""

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """Send a request. `timeout` is in seconds and includes retries."""
        ...

    async def close(self) -> None:
        """Let go of connections and files."""
        ...


def encode(operation: str, request: dict[str, Any]) -> bytes:
    """The body of a request.

    Raises `EncodeError` with the location of text that cannot be sent, and the service's error for an item that is too large, because not
    every service has the limit.
    """
    try:
        body = orjson.dumps(request)
    except TypeError as error:
        raise unwritable(operation, request) or error from None
    # The JSON of an item is never shorter than its size.
    if operation == "PutItem" and len(body) > ITEM_LIMIT and item_size(request["Item"]) > ITEM_LIMIT:
        raise ServiceError("ValidationException", "Item size has exceeded the maximum allowed size", attempts=0)
    return body


def unwritable(operation: str, request: dict[str, Any]) -> EncodeError | None:
    """The error for a request that contains text with a lone surrogate, or None."""
    place = _broken(request)
    if place is None:
        return None
    return EncodeError(
        f"{operation} cannot be sent: {'.'.join(place)} contains half of a surrogate pair.",
        fix="Use valid Unicode: decode bytes with their encoding, and do not split UTF-16 text.",
    )


def _broken(part: Any) -> tuple[str, ...] | None:
    """The path of the first invalid text, without its last step if that is itself invalid; None if all text is valid."""
    if isinstance(part, str):
        return None if _is_whole(part) else ()
    entries = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list | tuple) else ()
    for step, entry in entries:
        if isinstance(step, str) and not _is_whole(step):
            return ()
        place = _broken(entry)
        if place is not None:
            return (str(step), *place)
    return None


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


#: The maximum size of a response. DynamoDB's are much smaller: an item has at most 400 KB, a page 1 MB, a batch 16 MB.
LIMIT = 64 * 1024 * 1024

_CODES = {413: "RequestEntityTooLarge", 500: "InternalServerError", 503: "ServiceUnavailable"}


def content(response: Response) -> bytes:
    """The body of a response, decompressed. Raises `BadResponse` if its checksum is wrong or it cannot be decompressed."""
    body = response.body
    checksum = response.headers.get(b"x-amz-crc32")
    if checksum is not None and checksum != b"%d" % zlib.crc32(body):
        raise BadResponse("The response's checksum is wrong.")
    if b"content-encoding" not in response.headers:
        return body
    encoding = response.headers[b"content-encoding"]
    if encoding == b"identity":
        return body
    if encoding != b"gzip":
        raise BadResponse(f"The response is encoded with {encoding.decode('latin-1')}, which was not requested.")
    inflater = zlib.decompressobj(wbits=31)
    try:
        body = inflater.decompress(body, LIMIT)
    except zlib.error as error:
        raise BadResponse(f"The response cannot be decompressed: {error}.") from None
    if not inflater.eof:
        raise BadResponse("The response cannot be decompressed: it is truncated or too large.")
    return body


def result(response: Response) -> dict[str, Any]:
    """The content of a successful response. Raises `ServiceError` for an error, and `BadResponse` if the response is not DynamoDB's."""
    body = content(response)
    if response.status != 200:
        raise error_of(response.status, body, response.headers.get(b"x-amzn-errortype", b"").decode("latin-1"))
    try:
        members = orjson.loads(body or b"{}")
    except orjson.JSONDecodeError:
        members = None
    if not isinstance(members, dict):
        raise BadResponse("The response is not DynamoDB's: check which server listens at the address.")
    return members


def error_of(status: int, body: bytes, kind: str = "") -> ServiceError:
    """The error in a response; made from the status if a proxy or load balancer answered instead of the service."""
    try:
        members = orjson.loads(body)
    except orjson.JSONDecodeError:
        members = None
    if not isinstance(members, dict):
        members = {}
    name = members.pop("__type", None) or kind
    code = str(name).rpartition("#")[2].partition(":")[0] or _CODES.get(status, f"{FOREIGN}{status}")
    message = members.pop("message", None)
    message = members.pop("Message", None) or message
    if not name and (not message or code.startswith(FOREIGN)):
        message = f"The response has the status {status} and is not DynamoDB's."
    return ServiceError(code, message, members, status)


_READS = re.compile("Get|Query|Scan|BatchGet|TransactGet|Describe|List|SearchVectors")
_NAME = r"(?:#\w+|[A-Za-z_]\w*)"
_PATH = rf"{_NAME}(?:\.{_NAME})*"
_ASSIGNMENT = rf"\s*(?P<path>{_PATH})\s*=\s*(?::\w+|if_not_exists\s*\(\s*(?P=path)\s*,\s*:\w+\s*\))\s*"
_CLAUSE = re.compile(r"(?<![\w#:.])(SET|REMOVE|ADD|DELETE)\b", re.IGNORECASE)
_ACTIONS = {"SET": re.compile(_ASSIGNMENT), "REMOVE": re.compile(rf"\s*{_PATH}\s*")}


def is_idempotent(operation: str, request: dict[str, Any]) -> bool:
    """Whether executing a request twice has the same effect and response as once, so that it may be resent."""
    if _READS.match(operation) or operation == "BatchWriteItem":
        return True
    if operation in ("PutItem", "DeleteItem"):
        return str(request.get("ReturnValues", "NONE")) == "NONE"
    if operation == "UpdateItem":
        return "OLD" not in str(request.get("ReturnValues", "NONE")) and _is_plain(request.get("UpdateExpression"))
    if operation in ("TransactWriteItems", "ExecuteTransaction"):
        return bool(request.get("ClientRequestToken"))
    if operation == "ExecuteStatement":
        return str(request.get("Statement", "")).lstrip()[:6].upper() == "SELECT"
    return False


def _is_plain(expression: str | None) -> bool:
    """Whether an update only sets attributes to constants and removes attributes."""
    if expression is None:
        return False
    pieces = _CLAUSE.split(expression)
    if pieces[0].strip():
        return False
    clauses = zip(pieces[1::2], pieces[2::2], strict=True)
    return all(
        (form := _ACTIONS.get(keyword.upper())) is not None and all(form.fullmatch(action) for action in _actions(body))
        for keyword, body in clauses
    )


def _actions(clause: str) -> list[str]:
    """Split a clause into actions, at commas outside of parentheses."""
    return re.split(r",(?![^(]*\))", clause)


#: The maximum bytes of an item, and of all items of a transaction together.
ITEM_LIMIT = 400 * 1024
TRANSACTION_LIMIT = 4 * 1024 * 1024
#: More digits than any DynamoDB number.
_EXACT = Context(prec=64)


def item_size(item: Item) -> int:
    """The size of an item in bytes: names and values in UTF-8, numbers by their digits, and overhead for lists and maps."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: Value) -> int:
    ((tag, content),) = value.items()
    if tag == "S":
        return len(content.encode())
    if tag == "N":
        return _number_size(content)
    if tag == "B":
        return _binary_size(content)
    if tag in ("BOOL", "NULL"):
        return 1
    if tag == "M":
        return 3 + sum(1 + len(key.encode()) + _value_size(element) for key, element in content.items())
    if tag == "L":
        return 3 + sum(1 + _value_size(element) for element in content)
    measure: Any = {"SS": lambda text: len(text.encode()), "NS": _number_size, "BS": _binary_size}[tag]
    return sum(measure(element) for element in content)


def _number_size(text: str) -> int:
    """One byte, plus one for each pair of significant digits (counted from the decimal point), plus one for a minus sign."""
    sign, digits, exponent = Decimal(text).normalize(_EXACT).as_tuple()
    if digits == (0,):
        return 1
    odd = (len(digits) + int(exponent)) % 2
    return 1 + (len(digits) + odd + 1) // 2 + sign


def _binary_size(text: str) -> int:
    return len(text) * 3 // 4 - text.endswith("=") - text.endswith("==")


def is_small(item: Item) -> bool:
    """Whether an item is certainly not too large, by the length of its JSON, which is fast to compute and never less than the size."""
    try:
        return len(orjson.dumps(item)) <= ITEM_LIMIT
    except TypeError:
        return False


def check_size(item: Item, about: str, request: Request | None = None) -> int:
    """Raise `TooLarge` for an item that is too large; return its size or an upper bound. The exact size is computed only near the limit."""
    try:
        bound = len(orjson.dumps(item))
    except TypeError as error:
        fix = "Remove lone surrogates from texts: they are not valid Unicode."
        raise EncodeError(f"{about} cannot be written: {error}.", fix=fix) from error
    if bound <= ITEM_LIMIT:
        return bound
    size = item_size(item)
    if size > ITEM_LIMIT:
        raise too_large(item, about, request)
    return size


def too_large(item: Item, about: str, request: Request | None) -> TooLarge:
    """The error for an item that is too large."""
    size = item_size(item)
    message = f"{about} has {size:,} bytes, but an item can have at most {ITEM_LIMIT:,}."
    return TooLarge(message, size=size, limit=ITEM_LIMIT, request=request)
