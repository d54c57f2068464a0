"""Object store addresses, as used in configuration: `dir:./data/objects`, `s3://bucket`, `s3://bucket/prefix`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gateleg.model import check_s3_key
from gateleg.model.errors import S3KeyRefused
from gateleg.objects.errors import BadObjectsAddress

if TYPE_CHECKING:
    from gateleg.objects.directory import DirectoryObjects
    from gateleg.objects.s3 import S3Objects

#: What S3 and the endpoints like it take for the name of a bucket.
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


@dataclass(frozen=True, slots=True)
class ObjectsAddress:
    """Where objects are: in a folder by its path, or in a bucket by its name and what all keys begin with."""

    kind: Literal["dir", "s3"]
    place: str
    prefix: str = ""

    def __str__(self) -> str:
        if self.kind == "dir":
            return f"dir:{self.place}"
        return f"s3://{self.place}/{self.prefix}" if self.prefix else f"s3://{self.place}"


def parse_objects_address(text: str) -> ObjectsAddress:
    """Read an address."""
    kind, colon, place = text.partition(":")
    if colon and kind == "dir" and place.strip() and "\0" not in place:
        return ObjectsAddress("dir", place)
    if kind == "s3" and place.startswith("//"):
        bucket, _, prefix = place[2:].partition("/")
        prefix = prefix.rstrip("/")
        if _BUCKET.fullmatch(bucket) and (not prefix or _is_key(prefix)):
            return ObjectsAddress("s3", bucket, prefix)
    raise BadObjectsAddress(f"{text!r} names no objects store.")


def _is_key(prefix: str) -> bool:
    try:
        check_s3_key(prefix)
    except S3KeyRefused:
        return False
    return True


def open_objects(text: str, **options: Any) -> DirectoryObjects | S3Objects:
    """The objects store at an address. `options` go to its class: `secret`, `url` for a folder, `endpoint`, `region` for a bucket."""
    address = parse_objects_address(text)
    if address.kind == "dir":
        from gateleg.objects.directory import DirectoryObjects

        return DirectoryObjects(address.place, **options)
    from gateleg.objects.s3 import S3Objects

    return S3Objects(address.place, prefix=address.prefix, **options)
