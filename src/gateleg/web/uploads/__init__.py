"""Uploads: files received within the limits of a route, identified by their content, and optionally one at a time for each API key."""

from gateleg.extras import explained

try:
    import python_multipart  # noqa: F401 - the receiver needs it
    import starlette  # noqa: F401
except ModuleNotFoundError as error:
    raise explained(error) from error
from gateleg.host.tables import PendingUpload
from gateleg.web.uploads.fields import (
    BadForm,
    FormFields,
    NotUploaded,
    OffsetMismatch,
    UploadInProgress,
    UploadNotFound,
    UploadRules,
    WrongContent,
    form_body,
    upload_folder,
    upload_slot,
)
from gateleg.web.uploads.receiver import ReceivedFile, ReceivedForm, receive_files, receive_form, receive_object
from gateleg.web.uploads.resumable import UploadKind, Uploads

__all__ = [
    "BadForm",
    "FormFields",
    "NotUploaded",
    "OffsetMismatch",
    "PendingUpload",
    "ReceivedFile",
    "ReceivedForm",
    "UploadInProgress",
    "UploadKind",
    "UploadNotFound",
    "UploadRules",
    "Uploads",
    "WrongContent",
    "form_body",
    "receive_files",
    "receive_form",
    "receive_object",
    "upload_folder",
    "upload_slot",
]
