"""What can go wrong with objects: one class for each kind of failure.

Every error has a stable `code`, says `what` happened and `why`, and has a `fix`: what to do about it. A key that is none is refused with
the model's `S3KeyRefused` before anything else happens.
"""

from __future__ import annotations

from gateleg.errors import GatelegError


class ObjectsError(GatelegError):
    """Something that an objects store could not do."""

    code = "objects"


class ObjectMissing(ObjectsError):
    """There is no object with the key."""

    code = "object-missing"
    status = 404
    fix = "Look at the key, or ask with exists first."


class BucketMissing(ObjectsError):
    """The bucket does not exist, or not for these credentials."""

    code = "bucket-missing"
    fix = "Create the bucket, or correct its name in the settings."


class NotModified(ObjectsError):
    """The object is still the one that the caller has. Not a failure: it is how a conditional read ends early."""

    code = "not-modified"
    status = 304
    fix = "Use the copy that you have."


class ObjectChanged(ObjectsError):
    """The object was written over while it was being read or copied."""

    code = "object-changed"
    status = 409
    fix = "Begin again."


class RangeOutside(ObjectsError):
    """A range of bytes lies outside the object."""

    code = "range-outside"
    status = 416
    fix = "Ask for a range that begins before the end; head tells the size."

    def __init__(self, what: str, *, size: int | None = None) -> None:
        super().__init__(what)
        #: the size of the object, where it is known
        self.size = size


class DigestMismatch(ObjectsError):
    """What was received is not what was announced. Nothing was stored."""

    code = "digest-mismatch"
    status = 422
    fix = "Send the content again."


class Damaged(ObjectsError):
    """A stored object is not what was written: bytes were lost or changed below this store."""

    code = "damaged"
    fix = "Restore the object from a backup, and look at the disk."


class BadMetadata(ObjectsError, ValueError):
    """Metadata or a content type that not every store could keep."""

    code = "bad-metadata"
    status = 422
    fix = "Names are lower-case letters, digits and hyphens; values are printable ASCII; 2,048 bytes in all."


class BadCursor(ObjectsError, ValueError):
    """A cursor that no listing gave."""

    code = "bad-cursor"
    status = 400
    fix = "Begin again without a cursor."


class LinkRefused(ObjectsError):
    """A signed link was not made here for this request."""

    code = "link-refused"
    status = 403
    fix = "Ask for a new link, and use it unchanged."


class LinkExpired(LinkRefused):
    """A signed link is over."""

    code = "link-expired"
    fix = "Ask for a new link."


class StorageFull(ObjectsError):
    """There is no room for the object. What was stored under its key before is still there."""

    code = "storage-full"
    status = 507
    fix = "Free some space and try again."


class StorageFailed(ObjectsError):
    """The disk or the service did not do what it was asked to."""

    code = "storage-failed"
    status = 502
    fix = "Try again; if it stays, look at the disk, the network or the service."


class StorageThrottled(StorageFailed):
    """The service is asked for too much, and still was after several attempts."""

    code = "storage-throttled"
    status = 503
    fix = "Send less at once, or try again later."


class AccessRefused(ObjectsError):
    """The credentials do not allow this, or there are none."""

    code = "access-refused"
    fix = "Look at the credentials and at the policy of the bucket."


class OutsideRoot(ObjectsError):
    """Something in the store's folder leads out of it, such as a symbolic link. It is not followed."""

    code = "outside-root"
    status = 404
    fix = "Remove what does not belong into the folder."


class BadObjectsAddress(ObjectsError, ValueError):
    """A text that names no objects store."""

    code = "bad-objects-address"
    fix = "Write dir:./data/objects, or s3://bucket, or s3://bucket/prefix."


class NothingReferenced(ObjectsError):
    """A collection was asked for with no referenced key at all: every object would be an orphan."""

    code = "nothing-referenced"
    why = "An empty list of references is most often a mistake."
    fix = "Look at what reads the references; say allow_empty=True if all objects are to go."
