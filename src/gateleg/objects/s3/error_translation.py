"""Translates botocore's errors into errors of object stores."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gateleg.net import is_throttled
from gateleg.objects.errors import (
    AccessRefused,
    BucketMissing,
    NotModified,
    ObjectChanged,
    ObjectMissing,
    ObjectsError,
    RangeOutside,
    StorageFailed,
    StorageFull,
    StorageThrottled,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS: dict[str, type[ObjectsError]] = {
    "NoSuchBucket": BucketMissing,
    "NoSuchKey": ObjectMissing,
    "NotFound": ObjectMissing,
    "NotModified": NotModified,
    "PreconditionFailed": ObjectChanged,
    "ConditionalRequestConflict": ObjectChanged,
    "QuotaExceeded": StorageFull,
    "InsufficientStorage": StorageFull,
    "XMinioStorageFull": StorageFull,
}
_STATUSES: dict[int, type[ObjectsError]] = {
    304: NotModified,
    401: AccessRefused,
    403: AccessRefused,
    404: ObjectMissing,
    412: ObjectChanged,
    507: StorageFull,
}


@contextmanager
def translated_errors(key: str) -> Iterator[None]:
    """Translate errors of S3 raised in the block."""
    try:
        yield
    except ObjectsError:
        raise
    except Exception as error:
        known = explained(error, key)
        if known is None:
            raise
        raise known from error


def explained(error: Exception, key: str) -> ObjectsError | None:
    """The error of object stores for an error of botocore. None for other exceptions."""
    from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, NoCredentialsError

    if isinstance(error, ClientError):
        return _refused(error.response, key)
    if isinstance(error, NoCredentialsError):
        return AccessRefused(f"{str(error).rstrip('.')}.")
    if isinstance(error, BotoCoreError | HTTPClientError):
        return StorageFailed(f"{key!r}: {str(error).rstrip('.')}.")
    return None


def _refused(response: dict[str, Any], key: str) -> ObjectsError:
    details = response.get("Error", {})
    code = str(details.get("Code", ""))
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code == "InvalidRange" or status == 416:
        return RangeOutside(f"The range is outside the object {key!r}.")
    kind = StorageThrottled if is_throttled(code, status) else _KINDS.get(code) or _STATUSES.get(status, StorageFailed)
    if kind is ObjectMissing:
        return kind(f"The object {key!r} does not exist.")
    if kind is NotModified:
        return kind(f"{key!r} is not modified.")
    return kind(f"{key!r}: {str(details.get('Message') or code or status).rstrip('.')}.")
