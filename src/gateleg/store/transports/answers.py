"""Convert HTTP responses of DynamoDB to results or errors."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.net.http.errors import BadResponse
from gateleg.store.transports import FOREIGN, ServiceError

if TYPE_CHECKING:
    from gateleg.net.http.responses import Response

#: The maximum size of an answer. DynamoDB's are much smaller: an item has at most 400 KB, a page 1 MB, a batch 16 MB.
LIMIT = 64 * 1024 * 1024

_CODES = {413: "RequestEntityTooLarge", 500: "InternalServerError", 503: "ServiceUnavailable"}


def content(answer: Response) -> bytes:
    """The body of an answer, decompressed. Raises `BadResponse` if its checksum is wrong or it cannot be decompressed."""
    body = answer.body
    checksum = answer.headers.get(b"x-amz-crc32")
    if checksum is not None and checksum != b"%d" % zlib.crc32(body):
        raise BadResponse("The answer's checksum is wrong.")
    if b"content-encoding" not in answer.headers:
        return body
    encoding = answer.headers[b"content-encoding"]
    if encoding == b"identity":
        return body
    if encoding != b"gzip":
        raise BadResponse(f"The answer is encoded with {encoding.decode('latin-1')}, which was not requested.")
    inflater = zlib.decompressobj(wbits=31)
    try:
        body = inflater.decompress(body, LIMIT)
    except zlib.error as error:
        raise BadResponse(f"The answer cannot be decompressed: {error}.") from None
    if not inflater.eof:
        raise BadResponse("The answer cannot be decompressed: it is truncated or too large.")
    return body


def result(answer: Response) -> dict[str, Any]:
    """The content of a successful answer. Raises `ServiceError` for an error, and `BadResponse` if the answer is not DynamoDB's."""
    body = content(answer)
    if answer.status != 200:
        raise error_of(answer.status, body, answer.headers.get(b"x-amzn-errortype", b"").decode("latin-1"))
    try:
        members = orjson.loads(body or b"{}")
    except orjson.JSONDecodeError:
        members = None
    if not isinstance(members, dict):
        raise BadResponse("The answer is not DynamoDB's: check which server listens at the address.")
    return members


def error_of(status: int, body: bytes, kind: str = "") -> ServiceError:
    """The error in an answer; made from the status if a proxy or load balancer answered instead of the service."""
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
        message = f"The answer has the status {status} and is not DynamoDB's."
    return ServiceError(code, message, members, status)
