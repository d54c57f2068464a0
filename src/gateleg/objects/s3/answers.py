"""From the service's answers to our values."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from gateleg.objects.descriptions import OWN
from gateleg.objects.values import ObjectInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The digest of the content, among the object's metadata: the only place that every endpoint keeps.
SHA256 = f"{OWN}sha256"


def info_of(key: str, answer: Mapping[str, Any], size: int) -> ObjectInfo:
    """The object that an answer to HEAD or GET tells of."""
    metadata = {name.lower(): value for name, value in answer.get("Metadata", {}).items()}
    digest = metadata.pop(SHA256, None)
    return ObjectInfo(
        key,
        size,
        etag_of(answer),
        answer["LastModified"].astimezone(UTC),
        answer.get("ContentType") or "application/octet-stream",
        metadata,
        digest,
    )


def etag_of(answer: Mapping[str, Any]) -> str:
    """The etag without its quotes."""
    return str(answer.get("ETag", "")).strip('"')


def date_of(answer: Mapping[str, Any]) -> datetime:
    """The service's time at an answer; it says when an object was written that it has just acknowledged."""
    header = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    return parsedate_to_datetime(header).astimezone(UTC) if header else datetime.now(UTC)
