"""Convert HTTP responses of DynamoDB to results or errors."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.net.http.errors import BadResponse
from gateleg.store.transports import FOREIGN, ServiceError

if TYPE_CHECKING:
    from gateleg.net.http.responses import Response

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
