"""Special attribute types, such as versions and expiry times.

Each is an ordinary type for Python and for type checkers (`Version` is an `int`, `TTL` a `datetime`, `S3Key` a `str`), with a mark that
the model recognises: `version: Attr[Version] = field(0)`.
"""

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field

from gateleg.model.errors import S3KeyRefused

__all__ = ["check_object_key", "check_s3_key", "find_mark"]

T = TypeVar("T")

#: `scheme:` of any URL (https:, s3:, data:, javascript:). One letter is not a scheme in use.
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)
#: The part of a URL before its path.
_HOST = re.compile(r"[a-z][a-z0-9+.-]*:/{1,2}|//", re.IGNORECASE)
#: A query string. Each vendor signs with other parameters, so none is accepted.
_QUERY = re.compile(r"\?[^/?=\s]*=")
_SIGNED = re.compile(r"[?&](x-amz-[a-z-]+|x-goog-[a-z-]+|awsaccesskeyid|signature|expires|sig)=", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Mark:
    """Metadata in an annotation that gives the attribute a special meaning, named by `kind`."""

    kind: str


VERSION = Mark("version")
TTL_SECONDS = Mark("ttl")
OBJECT_KEY = Mark("s3-key")
JSON_TEXT = Mark("json")
COMPRESSED = Mark("compressed")


def check_s3_key(value: str) -> str:
    """Return the object key; raise `S3KeyRefused` for a URL, a presigned URL or a key that S3 or a file system cannot hold safely.

    This is the rule of attributes. A store of objects also reads what others have stored: see `check_object_key`.
    """
    if not value.strip():
        raise S3KeyRefused("An object key must not be empty or blank.")
    # A blank or an invisible character in front would hide the scheme of a URL.
    if any(edge.isspace() or unicodedata.category(edge) == "Cf" for edge in (value[0], value[-1])):
        raise S3KeyRefused(f"{_shown(value)} begins or ends with a blank or an invisible character.")
    if _SCHEME.match(value):
        raise S3KeyRefused(f"{_shown(value)} is a URL, not an object key.")
    if _QUERY.search(value):
        raise S3KeyRefused(f"{_shown(value)} has a query string, as a presigned URL does. It is not an object key.")
    if "\\" in value:
        raise S3KeyRefused(f"{_shown(value)} contains a backslash. Separate folders with slashes.")
    return check_object_key(value)


def check_object_key(value: str) -> str:
    """Return the key of an object in a store; raise `S3KeyRefused` for a URL, and for a key that a store cannot hold safely."""
    if not value:
        raise S3KeyRefused("An object key must not be empty.")
    if _HOST.match(value):
        raise S3KeyRefused(f"{_shown(value)} is a URL, not an object key.")
    if _SIGNED.search(value):
        raise S3KeyRefused(f"{_shown(value)} is a presigned URL, not an object key.")
    if value.startswith("/"):
        raise S3KeyRefused(f"{_shown(value)} begins with a slash.")
    if any(part in (".", "..") for part in value.split("/")):
        raise S3KeyRefused(f"{_shown(value)} contains a '.' or '..' path segment.")
    if _CONTROL.search(value):
        raise S3KeyRefused(f"{_shown(value)} contains control characters.")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise S3KeyRefused(f"{_shown(value)} contains half of a surrogate pair, which is not valid UTF-8.")
    if len(value.encode()) > 1024:
        raise S3KeyRefused(f"{_shown(value)} is longer than 1,024 bytes.")
    return value


def _shown(value: str) -> str:
    """The value shortened for a message, without its query string: a presigned URL is a secret."""
    plain = value.split("?", 1)[0]
    return repr(plain if len(plain) <= 60 else plain[:57] + "...")


#: A version number for optimistic locking: every write checks it and increments it. 0 means never written.
Version = Annotated[int, Field(ge=0), VERSION]
#: The time after which DynamoDB may delete the item: a datetime in Python, stored as epoch seconds.
TTL = Annotated[datetime, TTL_SECONDS]
#: An object key, never a URL.
S3Key = Annotated[str, AfterValidator(check_s3_key), OBJECT_KEY]
#: A value stored as JSON text in one S attribute.
JsonText = Annotated[T, JSON_TEXT]
#: A value stored as compressed JSON in one B attribute, for large texts and nested data that expressions do not need.
Compressed = Annotated[T, COMPRESSED]


def find_mark(metadata: Any, kind: str) -> bool:
    """Whether annotation metadata contains the mark."""
    return any(isinstance(entry, Mark) and entry.kind == kind for entry in metadata)
