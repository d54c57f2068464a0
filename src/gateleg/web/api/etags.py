"""Conditional responses: an ETag of the content, and 304 if the client already has it."""

import hashlib
from typing import Any

from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel

__all__ = ["fits"]


def fits(header: str | None, etag: str) -> bool:
    """Whether an `If-None-Match` header contains an ETag."""
    if header is None:
        return False
    named = [part.strip().removeprefix("W/") for part in header.split(",")]
    return "*" in named or etag in named


def tagged(request: Request, content: BaseModel, headers: dict[str, Any] | None = None) -> Response:
    """The content as JSON with its ETag, or an empty 304."""
    body = content.model_dump_json().encode()
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    all_headers = {"ETag": etag, "Cache-Control": "private, no-cache"} | (headers or {})
    if fits(request.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers=all_headers)
    return Response(body, headers=all_headers, media_type="application/json")
