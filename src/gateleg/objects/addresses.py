"""Object store addresses, as used in configuration: `dir:./data/objects`, `s3://bucket`, `s3://bucket/prefix`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gateleg.model.errors import S3KeyRefused
from gateleg.model.types import check_object_key
from gateleg.objects.errors import BadObjectsAddress

if TYPE_CHECKING:
    from gateleg.objects.directory import DirectoryObjects
    from gateleg.objects.s3 import S3Objects

#: Bucket names that S3 and compatible endpoints accept.
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


@dataclass(frozen=True, slots=True)
class ObjectsAddress:
    """A parsed address: the path of a folder, or the name of a bucket and a prefix of all keys."""

    kind: Literal["dir", "s3"]
    place: str
    prefix: str = ""

    def __str__(self) -> str:
        if self.kind == "dir":
            return f"dir:{self.place}"
        return f"s3://{self.place}/{self.prefix}" if self.prefix else f"s3://{self.place}"


def parse_objects_address(text: str) -> ObjectsAddress:
    """Parse an address. Raises `BadObjectsAddress`."""
    kind, colon, place = text.partition(":")
    if colon and kind == "dir" and place.strip() and "\0" not in place:
        return ObjectsAddress("dir", place)
    if kind == "s3" and place.startswith("//"):
        bucket, _, prefix = place[2:].partition("/")
        prefix = prefix.rstrip("/")
        if _BUCKET.fullmatch(bucket) and (not prefix or _is_key(prefix)):
            return ObjectsAddress("s3", bucket, prefix)
    from gateleg.store.errors import shown_address

    raise BadObjectsAddress(f"{shown_address(text)!r} is not a valid object store address.")


def _is_key(prefix: str) -> bool:
    try:
        check_object_key(prefix)
    except S3KeyRefused:
        return False
    return True


def open_objects(text: str, **options: Any) -> DirectoryObjects | S3Objects:
    """Open the object store at an address. `options` go to its class: `secret` and `url` for a folder, `endpoint` and `region` for a
    bucket.
    """
    address = parse_objects_address(text)
    if address.kind == "dir":
        from gateleg.objects.directory import DirectoryObjects

        return DirectoryObjects(address.place, **options)
    from gateleg.objects.s3 import S3Objects

    return S3Objects(address.place, prefix=address.prefix, **options)
