"""DynamoDB's requests and responses as JSON: how they are encoded and read, and which requests may be sent twice.

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
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.model.errors import EncodeError
from gateleg.net.errors import BadResponse
from gateleg.store.sizes import ITEM_LIMIT, item_size
from gateleg.store.transports import FOREIGN, ServiceError

if TYPE_CHECKING:
    from gateleg.net.http import Response

#: The maximum size of a response. DynamoDB's are much smaller: an item has at most 400 KB, a page 1 MB, a batch 16 MB.
LIMIT = 64 * 1024 * 1024

_CODES = {413: "RequestEntityTooLarge", 500: "InternalServerError", 503: "ServiceUnavailable"}


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
