"""Files that come in: received within the rules of a route, told by their content, one upload of a key at a time where asked for."""

from gateleg.web.tables import PendingUpload
from gateleg.web.uploads.receiver import ReceivedFile, receive_files, receive_object
from gateleg.web.uploads.resumable import UploadKind, Uploads
from gateleg.web.uploads.rules import BadForm, NotUploaded, OffsetMismatch, UploadNotFound, UploadRules, UploadUnderWay, WrongContent
from gateleg.web.uploads.turns import turn, upload_folder

__all__ = [
    "BadForm",
    "NotUploaded",
    "OffsetMismatch",
    "PendingUpload",
    "ReceivedFile",
    "UploadKind",
    "UploadNotFound",
    "UploadRules",
    "UploadUnderWay",
    "Uploads",
    "WrongContent",
    "receive_files",
    "receive_object",
    "turn",
    "upload_folder",
]
