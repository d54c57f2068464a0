"""Encode requests as JSON, and report text with lone surrogates, which Python allows but Unicode does not."""

from __future__ import annotations

from typing import Any

import orjson

from gateleg.model.errors import EncodeError
from gateleg.store.sizes import ITEM_LIMIT, item_size
from gateleg.store.transports import ServiceError


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
