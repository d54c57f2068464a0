"""Errors of object stores. Each class has a stable `code`, and a `fix` that says what to do.

An invalid key raises the model's `S3KeyRefused` before anything else happens.
"""

from __future__ import annotations

from gateleg.errors import GatelegError


class ObjectsError(GatelegError):
    """The base class of all errors of object stores."""


class ObjectMissing(ObjectsError):
    """No object has this key."""

    status = 404
    fix = "Check the key, or call exists() first."


class BucketMissing(ObjectsError):
    """The bucket does not exist, or these credentials cannot see it."""

    fix = "Create the bucket, or correct its name in the settings."


class NotModified(ObjectsError):
    """The object still has the etag that the caller passed. For a conditional read, this is a normal result."""

    status = 304
    fix = "Use your copy of the object."


class ObjectChanged(ObjectsError):
    """The object was overwritten while it was being read or copied."""

    status = 409
    fix = "Start the read or copy again."


class ContentDiffers(ObjectsError):
    """The object does not have the content that was asked for: it was replaced."""

    status = 409
    fix = "Find out who has replaced the object, and restore the content from a backup or a version of the bucket."


class ObjectExists(ObjectsError):
    """An object with this key already exists, and `if_absent` was set."""

    status = 409
    fix = "Choose another key, or write without if_absent to replace it."


class RangeOutside(ObjectsError):
    """A byte range is outside the object."""

    status = 416
    fix = "Request a range that starts before the end of the object; head() returns its size."

    def __init__(self, what: str, *, size: int | None = None) -> None:
        super().__init__(what)
        #: the size of the object, if known
        self.size = size


class DigestMismatch(ObjectsError):
    """The content does not match the announced digest or size. Nothing was stored."""

    status = 422
    fix = "Send the content again."


class Damaged(ObjectsError):
    """A stored object is damaged: its content does not match its digest."""

    fix = "Restore the object from a backup, and check the disk."


class BadMetadata(ObjectsError, ValueError):
    """The metadata or content type is not valid in all stores."""

    status = 422
    fix = "Use lower-case letters, digits and hyphens in names and printable ASCII in values, at most 2,048 bytes in total."


class BadCursor(ObjectsError, ValueError):
    """The cursor is not from a listing of this store."""

    status = 400
    fix = "Start again without a cursor."


class LinkRefused(ObjectsError):
    """The signature of a link is not valid for this request."""

    status = 403
    fix = "Request a new link and use it unchanged."


class LinkExpired(LinkRefused):
    """A signed link has expired."""

    fix = "Request a new link."


class StorageFull(ObjectsError):
    """The storage is full. The previous object under this key is unchanged."""

    status = 507
    fix = "Free some space and try again."


class StorageFailed(ObjectsError):
    """The disk or the service failed."""

    status = 502
    fix = "Try again; if the error persists, check the disk, the network or the service."


class ObjectsClosed(StorageFailed):
    """The object store was used after it was closed. Nothing was read or written."""

    status = 503
    fix = "Keep the object store open as long as it is used: leave its `with` block, or call close, after the last operation."


class StorageThrottled(StorageFailed):
    """The service throttled the request on every attempt."""

    status = 503
    fix = "Send fewer requests at once, or try again later."


class AccessRefused(ObjectsError):
    """The credentials are missing, or do not permit the operation."""

    fix = "Check the credentials and the policy of the bucket."


class OutsideRoot(ObjectsError):
    """An entry in the store's folder, such as a symbolic link, points outside of it. It is not followed."""

    status = 404
    fix = "Remove the entry from the folder."


class BadObjectsAddress(ObjectsError, ValueError):
    """The text is not a valid object store address."""

    fix = "Use dir:./data/objects, s3://bucket or s3://bucket/prefix."


class NothingReferenced(ObjectsError):
    """`collect_orphans` got no references, so it would delete every object."""

    why = "An empty list of references is usually a mistake."
    fix = "Check the code that reads the references; pass allow_empty=True to delete all objects."


class ArchiveRefused(ObjectsError):
    """An archive is damaged, encrypted, or in an unsupported format."""

    status = 422
    fix = "Pack it again as a plain ZIP, or send the files themselves."


class ArchiveTooLarge(ArchiveRefused):
    """An archive has more files, bytes or nested archives than allowed."""

    status = 413
    fix = "Send the files themselves, or in several archives."
