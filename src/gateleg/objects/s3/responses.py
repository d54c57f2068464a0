"""Converts responses of S3 to values of object stores."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from gateleg.objects.descriptions import RESERVED_PREFIX
from gateleg.objects.values import ObjectInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The name of the digest in the object's metadata, the only place that every endpoint preserves.
SHA256 = f"{RESERVED_PREFIX}sha256"


def parse_info(key: str, response: Mapping[str, Any], size: int) -> ObjectInfo:
    """The description of the object in a HEAD or GET response."""
    metadata = {name.lower(): value for name, value in response.get("Metadata", {}).items()}
    digest = metadata.pop(SHA256, None)
    return ObjectInfo(
        key,
        size,
        etag_of(response),
        response["LastModified"].astimezone(UTC),
        response.get("ContentType") or "application/octet-stream",
        metadata,
        digest,
    )


def etag_of(response: Mapping[str, Any]) -> str:
    """The etag without quotes."""
    return str(response.get("ETag", "")).strip('"')


def date_of(response: Mapping[str, Any]) -> datetime:
    """The `Date` of a response, which is the time when the acknowledged object was written."""
    header = response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    return parsedate_to_datetime(header).astimezone(UTC) if header else datetime.now(UTC)
