"""What an upload may be, and the errors for what it may not. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from gateleg.objects.sniffing import ARCHIVES
from gateleg.web.errors import Refusal, TooLargeBody

#: Kinds of text, which are accepted wherever plain text is.
_TEXTS = frozenset({"text/csv", "text/html", "application/json", "message/rfc822", "application/xml", "image/svg+xml"})


class WrongContent(Refusal):
    """The content of a file is not of a type that is accepted here, whatever the file is called."""

    code = "wrong-content"
    status = 415
    fix = "Send a file of one of the accepted types; see `details`."


class BadForm(Refusal):
    """The body is not a form with files, or not a whole one."""

    code = "bad-form"
    fix = "Send multipart/form-data with one or more files, or one file as the whole body."


class UploadUnderWay(Refusal):
    """Another upload of the same key, or as many as the host takes, have not ended yet."""

    code = "upload-under-way"
    status = 429
    fix = "Wait until it has ended, and send this one again."

    def __init__(self, what: str) -> None:
        super().__init__(what, headers={"Retry-After": "10"})


class UploadNotFound(Refusal):
    """No upload has this id, or it is somebody else's, or it was given up."""

    code = "upload-not-found"
    status = 404
    fix = "Begin another upload."


class OffsetMismatch(Refusal):
    """A part does not begin where the host has got to."""

    code = "offset-mismatch"
    status = 409
    fix = "Ask with HEAD how many bytes have arrived, and go on from there."


class NotUploaded(Refusal):
    """The object that was to be written straight to the store is not there."""

    code = "not-uploaded"
    status = 409
    fix = "Send the file to the address that the upload began with, and finish it then."


@dataclass(frozen=True)
class UploadRules:
    """What a route takes: at most `most` bytes in all, in at most `files` files, of these types if some are named."""

    most: int
    files: int = 1
    types: frozenset[str] | None = None

    def check_size(self, size: int) -> None:
        """Refuse content of more bytes than allowed."""
        if size > self.most:
            raise TooLargeBody(f"Files may have {self.most:,} bytes in all.", details={"limit": self.most})

    def check_type(self, name: str, found: str) -> None:
        """Refuse content of another type than those that are accepted."""
        if self.types is None or found in self.types or (found in _TEXTS and "text/plain" in self.types):
            return
        raise WrongContent(f"{name} is {found} by its content.", details={"found": found, "accepted": sorted(self.types)})

    def check_start(self, name: str, found: str) -> None:
        """Refuse content by its first bytes. What an archive is, its end tells, unless nothing that is accepted is an archive."""
        if found == "application/zip" and any(kind in (self.types or ()) for kind in ARCHIVES):
            return
        self.check_type(name, found)
