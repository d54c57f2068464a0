"""Texts that no JSON can carry: those with half of a surrogate pair, which Python allows and Unicode does not."""

from __future__ import annotations

from typing import Any

import orjson

from gateleg.model.errors import EncodeError


def encode(operation: str, request: dict[str, Any]) -> bytes:
    """The body of a request, or an error that says which text cannot be sent."""
    try:
        return orjson.dumps(request)
    except TypeError as error:
        raise unwritable(operation, request) or error from None


def unwritable(operation: str, request: dict[str, Any]) -> EncodeError | None:
    """The error for a request that holds a broken text; None when it holds none."""
    place = _broken(request)
    if place is None:
        return None
    return EncodeError(
        f"{operation} cannot be sent: {'.'.join(place)} holds half of a surrogate pair.",
        fix="Texts must be whole characters of Unicode: decode bytes with their own encoding, and do not cut UTF-16.",
    )


def _broken(part: Any) -> tuple[str, ...] | None:
    """Where the first broken text is; its last step is left out when it is not whole itself."""
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
