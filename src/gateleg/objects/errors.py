"""Errors of object stores: one class for each kind of failure.

Every error has a stable `code`, says `what` happened and `why`, and has a `fix`: what to do about it. A key that is none is refused with
the model's `S3KeyRefused` before anything else happens.
"""

from __future__ import annotations

from gateleg.errors import GatelegError


class ObjectsError(GatelegError):
    """Something that an objects store could not do."""

    code = "objects"


class ObjectMissing(ObjectsError):
    """No object has this key."""

    code = "object-missing"
    status = 404
    fix = "Look at the key, or ask with exists first."


class BucketMissing(ObjectsError):
    """The bucket does not exist, or these credentials cannot see it."""

    code = "bucket-missing"
    fix = "Create the bucket, or correct its name in the settings."


class NotModified(ObjectsError):
    """The object has not changed since the caller read it. Not a failure: a conditional read ends this way."""

    code = "not-modified"
    status = 304
    fix = "Use the copy that you have."


class ObjectChanged(ObjectsError):
    """The object was overwritten while it was being read or copied."""

    code = "object-changed"
    status = 409
    fix = "Begin again."


class ObjectExists(ObjectsError):
    """There is an object with this key already, and it was to be written only if there was none."""

    code = "object-exists"
    status = 409
    fix = "Choose another key, or write without if_absent to replace it."


class RangeOutside(ObjectsError):
    """A byte range is outside the object."""

    code = "range-outside"
    status = 416
    fix = "Ask for a range that begins before the end; head tells the size."

    def __init__(self, what: str, *, size: int | None = None) -> None:
        super().__init__(what)
        #: the size of the object, where it is known
        self.size = size


class DigestMismatch(ObjectsError):
    """The content does not match the announced digest or size. Nothing was stored."""

    code = "digest-mismatch"
    status = 422
    fix = "Send the content again."


class Damaged(ObjectsError):
    """A stored object is damaged: its content does not match its digest."""

    code = "damaged"
    fix = "Restore the object from a backup, and check the disk."


class BadMetadata(ObjectsError, ValueError):
    """Metadata or a content type that not every store can hold."""

    code = "bad-metadata"
    status = 422
    fix = "Names are lower-case letters, digits and hyphens; values are printable ASCII; 2,048 bytes in all."


class BadCursor(ObjectsError, ValueError):
    """The cursor does not come from a listing of this store."""

    code = "bad-cursor"
    status = 400
    fix = "Begin again without a cursor."


class LinkRefused(ObjectsError):
    """The signature of a link is not valid for this request."""

    code = "link-refused"
    status = 403
    fix = "Ask for a new link, and use it unchanged."


class LinkExpired(LinkRefused):
    """A signed link has expired."""

    code = "link-expired"
    fix = "Get a new link."


class StorageFull(ObjectsError):
    """The storage is full. The previous object under this key is unchanged."""

    code = "storage-full"
    status = 507
    fix = "Free some space and try again."


class StorageFailed(ObjectsError):
    """The disk or the service failed."""

    code = "storage-failed"
    status = 502
    fix = "Try again; if it stays, look at the disk, the network or the service."


class StorageThrottled(StorageFailed):
    """The service throttled the request on every attempt."""

    code = "storage-throttled"
    status = 503
    fix = "Send less at once, or try again later."


class AccessRefused(ObjectsError):
    """The credentials are missing, or do not allow this."""

    code = "access-refused"
    fix = "Check the credentials and the policy of the bucket."


class OutsideRoot(ObjectsError):
    """Something in the store's folder leads out of it, such as a symbolic link. It is not followed."""

    code = "outside-root"
    status = 404
    fix = "Remove what does not belong into the folder."


class BadObjectsAddress(ObjectsError, ValueError):
    """The text is not a valid object store address."""

    code = "bad-objects-address"
    fix = "Write dir:./data/objects, or s3://bucket, or s3://bucket/prefix."


class NothingReferenced(ObjectsError):
    """An orphan collection got no references at all: every object would be an orphan."""

    code = "nothing-referenced"
    why = "An empty list of references is most often a mistake."
    fix = "Check the code that reads the references; pass allow_empty=True to delete all objects."


class ArchiveRefused(ObjectsError):
    """An archive is damaged, encrypted, or packed in a way that is not read here."""

    code = "archive-refused"
    status = 422
    fix = "Pack it again as a plain ZIP, or send the files themselves."


class ArchiveTooLarge(ArchiveRefused):
    """An archive has more files, more bytes or more archives within it than allowed."""

    code = "archive-too-large"
    status = 413
    fix = "Send the files themselves, or in several archives."
