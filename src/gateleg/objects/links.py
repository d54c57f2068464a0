"""Signed links, which let their holder read or write one object until they expire. No I/O; the time is an argument."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, quote, urlencode

from gateleg.model.errors import S3KeyRefused
from gateleg.model.types import check_object_key
from gateleg.net import BadToken, Secret, TokenExpired
from gateleg.objects.errors import LinkExpired, LinkRefused
from gateleg.objects.values import content_type_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.objects.values import Method

#: The maximum validity of a presigned URL of S3: seven days.
MAX_EXPIRES = 7 * 24 * 3600
WINDOW_SECONDS = 900
_PURPOSE = "object-link"
_MEMBERS = {"expires", "signature", "type", "length", "max_bytes", "download", "sha256", "once"}


@dataclass(frozen=True, slots=True)
class Grant:
    """What a signed link permits: one method on one object, with requirements for the request and the response."""

    key: str
    method: Method = "GET"
    #: the content type that a PUT must have
    content_type: str | None = None
    #: the exact number of bytes that a PUT must have
    length: int | None = None
    #: the file name under which browsers save a GET
    download: str | None = None
    #: the maximum number of bytes of a PUT
    max_bytes: int | None = None
    #: the SHA-256 digest of the content that a GET serves, in hexadecimal; any other content is refused
    sha256: str | None = None
    #: whether a PUT only creates the object, and never replaces it
    once: bool = False

    def __post_init__(self) -> None:
        check_object_key(self.key)
        if self.method not in ("GET", "PUT"):
            raise ValueError("The method of a link must be GET or PUT.")
        if self.method == "GET" and (self.content_type, self.length, self.max_bytes) != (None, None, None):
            raise ValueError("Only a PUT link may have a content type or a length.")
        if self.method == "GET" and self.once:
            raise ValueError("Only a PUT link may create an object once.")
        if self.method == "PUT" and (self.download, self.sha256) != (None, None):
            raise ValueError("Only a GET link may have a download name or a digest.")
        if self.length is not None and self.max_bytes is not None:
            raise ValueError("A link may have an exact length or a maximum length, not both.")
        if min(self.length or 0, self.max_bytes or 0) < 0:
            raise ValueError("The length of a link must not be negative.")
        if self.content_type is not None:
            content_type_of(self.key, self.content_type)
        if self.download is not None:
            content_disposition(self.download)


@dataclass(frozen=True, slots=True)
class UploadForm:
    """How a client uploads one object: a request to `url` with `method`. If there are `fields`, send them before the file, as form data."""

    url: str
    method: Literal["PUT", "POST"]
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Validity:
    """The validity of a link, in epoch seconds."""

    begins: int
    ends: int


def validity(now: float, expires: float, window: int = WINDOW_SECONDS) -> Validity:
    """The validity of a link: the same for all calls within a window, and at least `expires` seconds from now.

    The window is at most as long as `expires`, so that short-lived links stay short-lived.
    """
    if not 1 <= expires <= MAX_EXPIRES:
        raise ValueError("A link must be valid for one second to seven days.")
    seconds = int(expires)
    width = max(1, min(window, seconds, MAX_EXPIRES - seconds))
    begins = int(now) // width * width
    return Validity(begins, begins + min(MAX_EXPIRES, seconds + width))


def content_disposition(name: str) -> str:
    """The `Content-Disposition` header for a download with a file name, which may be non-ASCII. Raises `ValueError` for invalid names."""
    if not name or len(name) > 255 or any(not character.isprintable() or character in "/\\" for character in name):
        raise ValueError("A download name must have 1 to 255 printable characters and no slashes.")
    plain = name.encode("ascii", "replace").decode().replace('"', "_").replace("?", "_").replace("%", "_")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


@dataclass(frozen=True, slots=True)
class LinkSigner:
    """Creates and verifies links of the form `{base}/{key}?expires=..&signature=..`."""

    secret: bytes = field(repr=False)
    base: str = "/objects"

    def sign(self, grant: Grant, ends: int) -> str:
        """The link for a grant that expires at `ends`, in epoch seconds."""
        members: dict[str, Any] = {
            "expires": ends,
            "type": grant.content_type,
            "length": grant.length,
            "max_bytes": grant.max_bytes,
            "download": grant.download,
            "sha256": grant.sha256,
            "once": 1 if grant.once else None,
            "signature": Secret(self.secret).sign(_PURPOSE, _text(grant), ends=ends),
        }
        query = urlencode({name: value for name, value in members.items() if value is not None}, quote_via=quote, safe="")
        return f"{self.base.rstrip('/')}/{quote(grant.key, safe='/-_.~')}?{query}"

    def verify(self, method: str, key: str, query: str, now: float, *, content_type: str | None = None, length: int | None = None) -> Grant:
        """Verify a request and return its grant, given the method, the decoded key, the raw query string, and the headers of a PUT.

        Raises `LinkRefused` or `LinkExpired`. A GET link also permits HEAD.
        """
        members = _parsed(query)
        try:
            grant = Grant(
                key,
                "PUT" if method == "PUT" else "GET",
                members.get("type"),
                _number(members["length"]) if "length" in members else None,
                members.get("download"),
                _number(members["max_bytes"]) if "max_bytes" in members else None,
                members.get("sha256"),
                "once" in members,
            )
            ends = _number(members["expires"])
            signature = members["signature"]
        except (KeyError, ValueError, S3KeyRefused):
            raise LinkRefused("The link was not created by this store.") from None
        if method not in ("GET", "HEAD", "PUT"):
            raise LinkRefused("The link was not created for this request.")
        try:
            Secret(self.secret).check(_PURPOSE, _text(grant), signature, ends=ends, now=now)
        except TokenExpired:
            raise LinkExpired("The link has expired.") from None
        except BadToken:
            raise LinkRefused("The link was not created for this request.") from None
        if grant.content_type is not None and grant.content_type != content_type:
            raise LinkRefused(f"The link requires content of the type {grant.content_type}.")
        if grant.length is not None and grant.length != length:
            raise LinkRefused(f"The link requires content of exactly {grant.length:,} bytes.")
        if grant.max_bytes is not None and length is not None and length > grant.max_bytes:
            raise LinkRefused(f"The link allows content of at most {grant.max_bytes:,} bytes.")
        return grant


def _text(grant: Grant) -> str:
    """The signed text. JSON separates the members unambiguously. Those that earlier releases did not know are added only if set."""
    added = [value for value in (grant.max_bytes, grant.sha256, grant.once or None) if value is not None]
    return json.dumps([grant.method, grant.key, grant.content_type, grant.length, grant.download, *added])


def _parsed(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=len(_MEMBERS))
    except ValueError:
        raise LinkRefused("The link has no valid signature.") from None
    members = dict(pairs)
    if len(members) != len(pairs) or not members.keys() <= _MEMBERS:
        raise LinkRefused("The link has parameters that were not signed.")
    return members


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise ValueError(text)
    return int(text)
