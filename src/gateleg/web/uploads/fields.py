"""Fields that are sent along with files: declared once as a model, and read from the query, from a form or from an upload's metadata.

A field that no model declares is refused, whichever way it is sent: a misspelt `collectionId` must not store a file somewhere else.

Limits on uploads, and the errors for violations. Pure.

Limits on concurrent uploads: one for each API key, and few for the host, because each takes memory and time to read.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from gateleg.errors import problem_message
from gateleg.host.errors import InvalidRequest, Refusal, TooLargeBody
from gateleg.model.types import did_you_mean
from gateleg.objects.sniffing import ARCHIVES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping

    from gateleg.host.principal import Principal


#: The names of the parts of a form that are files.
FILE_FIELDS = ("file", "files")


class FormFields(BaseModel):
    """The fields that a route accepts beside its files; without any of its own, it accepts none.

    Declare a parameter of the route as `Annotated[YourFields, Query()]`, so that the fields are accepted in the query, and pass it to
    `receive_form`, which accepts them in the form, too.
    """

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, sent: Any) -> Any:
        if isinstance(sent, dict):
            for name in sent:
                cls.check_name(name)
        return sent

    @classmethod
    def names(cls) -> dict[str, str]:
        """The fields by each name under which they may be sent."""
        spelled = {field.alias or name: name for name, field in cls.model_fields.items()}
        return spelled | {name: name for name in cls.model_fields}

    @classmethod
    def check_name(cls, name: str) -> None:
        """Refuse a field that is not declared, with the names of those that are."""
        if name in cls.names():
            return
        known = [field.alias or name for name, field in cls.model_fields.items()]
        listed = f"The fields are {', '.join(known)}." if known else "No fields are accepted here."
        hint = did_you_mean(name, known, otherwise=listed)
        message = f"There is no field {name[:100]!r}. {hint if hint == listed else f'{hint} {listed}'}"
        raise PydanticCustomError("extra_forbidden", "{text}", {"text": message})


Fields = TypeVar("Fields", bound=FormFields)


def merge_fields(query: Fields, sent: Iterable[tuple[str, str]], place: str = "body") -> Fields:
    """The fields of a query together with those of a form. A field with two different values is refused. Raises `InvalidRequest`."""
    kind = type(query)
    names, merged = kind.names(), {name: getattr(query, name) for name in query.model_fields_set}
    read: dict[str, str] = {}
    for name, value in sent:
        check_field(kind, name, place)
        if read.setdefault(names[name], value) != value:
            raise _invalid(place, name, f"{name!r} was sent twice, with different values.")
    form = parse_fields(kind, read, place)
    for name in form.model_fields_set:
        if name in merged and merged[name] != getattr(form, name):
            alias = kind.model_fields[name].alias or name
            raise _invalid(place, alias, f"{alias!r} is {str(merged[name])[:100]!r} in the query and {read[name][:100]!r} in the form.")
    return form.model_copy(update=merged)


def parse_fields(kind: type[Fields], sent: Mapping[str, str], place: str) -> Fields:
    """Fields from texts. Raises `InvalidRequest`, with each problem and the `place` where it is."""
    try:
        return kind.model_validate(dict(sent))
    except ValidationError as error:
        problems = [{"at": [place, *map(str, problem["loc"])], "message": problem_message(problem)} for problem in error.errors()]
        raise InvalidRequest(str(problems[0]["message"]), details={"problems": problems}) from None


def check_field(kind: type[FormFields], name: str, place: str = "body") -> None:
    """Refuse an unknown field as soon as its name is known, before anything behind it is read. Raises `InvalidRequest`."""
    try:
        kind.check_name(name)
    except PydanticCustomError as error:
        raise _invalid(place, name, error.message()) from None


def check_file_field(kind: type[FormFields], name: str) -> None:
    """Refuse a file under a name that is not one for files. Raises `InvalidRequest`."""
    if name in FILE_FIELDS:
        return
    if name in kind.names():
        raise _invalid("body", name, f"The field {name!r} was sent as a file; send its value as text, without a file name.")
    known = " or ".join(map(repr, FILE_FIELDS))
    raise _invalid("body", name, f"The form has a file in the field {name[:100]!r}; send files in the field {known}.")


def _invalid(place: str, name: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, details={"problems": [{"at": [place, name[:100]], "message": message}]})


def form_body(fields: type[FormFields] = FormFields, *, many: bool = False) -> dict[str, Any]:
    """The description of a body for OpenAPI, as `openapi_extra` of a route: a form with its fields and files, or one file as the body."""
    binary = {"type": "string", "format": "binary"}
    schema = fields.model_json_schema(by_alias=True)
    file: dict[str, Any] = {"type": "array", "items": binary, "minItems": 1} if many else dict(binary)
    form = {
        "type": "object",
        # The file is last, so that a wrong field is refused before the file arrives.
        "properties": schema.get("properties", {}) | {"file": file},
        "required": [*schema.get("required", ()), "file"],
        "additionalProperties": False,
    }
    content = {"multipart/form-data": {"schema": form}, "application/octet-stream": {"schema": binary}}
    return {"requestBody": {"required": True, "content": content}}


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


#: The maximum number of concurrent uploads of a host process.
_MAX_CONCURRENT = 4


class UploadSlots:
    """The uploads in progress, by API key."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._busy: set[str] = set()

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Hold a slot for the duration of the block. Raises `UploadInProgress` if none is free."""
        if name in self._busy:
            raise UploadInProgress("Another upload with the same API key is in progress.")
        if len(self._busy) >= self._limit:
            raise UploadInProgress(f"The host has reached its limit of {self._limit} concurrent uploads.")
        self._busy.add(name)
        try:
            yield
        finally:
            self._busy.discard(name)


_slots = UploadSlots(_MAX_CONCURRENT)


@asynccontextmanager
async def upload_slot(principal: Principal) -> AsyncIterator[None]:
    """Hold the caller's upload slot for the duration of the block."""
    with _slots.hold(principal.key_id or principal.name):
        yield


@asynccontextmanager
async def upload_folder() -> AsyncIterator[Path]:
    """A temporary folder for uploaded files, removed at the end of the block."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="gateleg-upload-"))
    try:
        yield folder
    finally:
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))
