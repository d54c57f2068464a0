"""Fields that are sent along with files: declared once as a model, and read from the query, from a form or from an upload's metadata.

A field that no model declares is refused, whichever way it is sent: a misspelt `collectionId` must not store a file somewhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from gateleg.errors import problem_message
from gateleg.model.types import did_you_mean
from gateleg.web.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
