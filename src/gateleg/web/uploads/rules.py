"""Limits on uploads, and the errors for violations. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from gateleg.objects.sniffing import ARCHIVES
from gateleg.web.errors import Refusal, TooLargeBody

#: Text formats, accepted wherever plain text is.
_TEXT_TYPES = frozenset({"text/csv", "text/html", "application/json", "message/rfc822", "application/xml", "image/svg+xml"})


class WrongContent(Refusal):
    """The content of a file is not of an accepted type, whatever its name says."""

    status = 415
    fix = "Send a file of one of the accepted types; see `details`."


class BadForm(Refusal):
    """The body is not a valid multipart form, or is incomplete."""

    fix = "Send multipart/form-data with one or more files, or one file as the whole body."


class UploadInProgress(Refusal):
    """Another upload with the same API key is in progress, or the host has reached its limit of concurrent uploads."""

    status = 429
    fix = "Try again when the other upload has finished."

    def __init__(self, what: str) -> None:
        super().__init__(what, headers={"Retry-After": "10"})


class UploadNotFound(Refusal):
    """No upload has this id, or it belongs to somebody else, or it was removed."""

    status = 404
    fix = "Start a new upload."


class OffsetMismatch(Refusal):
    """A part does not start at the current offset of the upload."""

    status = 409
    fix = "Send HEAD to get the current Upload-Offset, and continue from there."


class NotUploaded(Refusal):
    """An upload straight to the object store was finished before the file arrived."""

    status = 409
    fix = "Send the file to the URL of the upload first, then finish it."


@dataclass(frozen=True)
class UploadRules:
    """The limits of a route: at most `max_bytes` bytes in total, in at most `files` files, of these types if any are named."""

    max_bytes: int
    files: int = 1
    types: frozenset[str] | None = None

    def check_size(self, size: int) -> None:
        """Refuse content that is too large."""
        if size > self.max_bytes:
            raise TooLargeBody(f"The upload is larger than the limit of {self.max_bytes:,} bytes.", details={"limit": self.max_bytes})

    def check_type(self, name: str, found: str, *, empty: bool = False) -> None:
        """Refuse content whose type is not accepted. An `empty` file has the type of a text."""
        if self.types is None or found in self.types or (found in _TEXT_TYPES and "text/plain" in self.types):
            return
        details = {"found": found, "accepted": sorted(self.types)}
        if empty:
            raise WrongContent(f"{name} is empty.", fix="Send the content of the file as the body, or in a form.", details=details)
        raise WrongContent(f"The content of {name} is {found}, which is not accepted here.", details=details)

    def check_start(self, name: str, found: str) -> None:
        """Refuse content by its first bytes. A ZIP archive passes if a document format based on ZIP is accepted: its end decides."""
        if found == "application/zip" and any(kind in (self.types or ()) for kind in ARCHIVES):
            return
        self.check_type(name, found)
