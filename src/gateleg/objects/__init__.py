"""Object storage: content by key, in a folder or an S3 bucket, with one interface. Store keys in items, and generate URLs for responses.

`open_objects("dir:./data/objects")` and `open_objects("s3://bucket")` return an `Objects`; `ThreadedObjects` converts either to an
`AsyncObjects`.
"""

from gateleg.objects.addresses import ObjectsAddress, open_objects, parse_objects_address
from gateleg.objects.archives import ArchiveBounds, plain_name, unpack
from gateleg.objects.directory import DirectoryObjects
from gateleg.objects.errors import (
    ArchiveRefused,
    ArchiveTooLarge,
    BadCursor,
    ContentDiffers,
    DigestMismatch,
    LinkRefused,
    ObjectExists,
    ObjectMissing,
    ObjectsError,
    RangeOutside,
)
from gateleg.objects.links import Grant, UploadForm, content_disposition
from gateleg.objects.protocol import AsyncDownload, AsyncObjects, Download, Objects, ThreadedObjects, Upload
from gateleg.objects.references import (
    CollectedOrphans,
    Large,
    References,
    collect_orphans,
    collect_orphans_async,
    keep,
    keep_async,
    load,
    load_async,
)
from gateleg.objects.s3 import S3Objects
from gateleg.objects.sniffing import sniff, sniff_file
from gateleg.objects.values import AsyncBody, Body, ByteRange, Entry, ObjectInfo, ObjectPage

__all__ = [
    "ArchiveBounds",
    "ArchiveRefused",
    "ArchiveTooLarge",
    "AsyncBody",
    "AsyncDownload",
    "AsyncObjects",
    "BadCursor",
    "Body",
    "ByteRange",
    "CollectedOrphans",
    "ContentDiffers",
    "DigestMismatch",
    "DirectoryObjects",
    "Download",
    "Entry",
    "Grant",
    "Large",
    "LinkRefused",
    "ObjectExists",
    "ObjectInfo",
    "ObjectMissing",
    "ObjectPage",
    "Objects",
    "ObjectsAddress",
    "ObjectsError",
    "RangeOutside",
    "References",
    "S3Objects",
    "ThreadedObjects",
    "Upload",
    "UploadForm",
    "collect_orphans",
    "collect_orphans_async",
    "content_disposition",
    "keep",
    "keep_async",
    "load",
    "load_async",
    "open_objects",
    "parse_objects_address",
    "plain_name",
    "sniff",
    "sniff_file",
    "unpack",
]
