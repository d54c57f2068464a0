"""The response to an SDK that uses the console's address as its DynamoDB endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.responses import Response
    from starlette.types import Scope

#: The error type, which the store recognises and SDKs print before the message.
NOT_DYNAMODB = "NotDynamoDB"


def is_dynamodb_request(scope: Scope, headers: Headers) -> bool:
    """Whether a request uses the DynamoDB protocol at an address for people."""
    return scope["type"] == "http" and scope["method"] == "POST" and scope["path"] == "/" and "x-amz-target" in headers


def not_dynamodb_response(dynamodb: bool) -> Response:
    """An error in DynamoDB's format, so that an SDK shows its message."""
    way = (
        "the host's tables are at /dynamodb below this address"
        if dynamodb
        else "start the host with --dynamodb and use the path /dynamodb, or use the address that `gateleg engine serve` prints"
    )
    message = f"This address is the console of a Gateleg host and does not speak the DynamoDB protocol: {way}."
    return JSONResponse({"__type": NOT_DYNAMODB, "message": message}, 400, media_type="application/x-amz-json-1.0")
