"""Forms from the JSON schema of a model: their fields, and parsing of their input. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import BaseModel

    from gateleg.web.console.fields import Content, Control

#: The type that a text is parsed as.
Form = Literal["string", "integer", "number", "boolean", "strings", "choices", "json"]


@dataclass(frozen=True)
class FormField:
    """One field of a form, and how to parse its input."""

    name: str
    label: str
    form: Form
    control: Control
    required: bool = False
    #: initial content
    start: Content = ""
    hint: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    least: float | None = None
    most: float | None = None


class InvalidInput(ValueError):
    """The input does not have the format of the field; the message says why."""


def form_fields(model: type[BaseModel], values: Mapping[str, Any] | None = None) -> list[FormField]:
    """The fields of a model, filled with `values`, or else with the model's defaults."""
    schema = model.model_json_schema()
    definitions, required = schema.get("$defs", {}), set(schema.get("required", ()))
    return [
        _form_field(name, _resolved(part, definitions), name in required, (values or {}).get(name, part.get("default")))
        for name, part in schema.get("properties", {}).items()
    ]


def _resolved(part: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """A property with its reference resolved, and without `null` for an optional one."""
    if "$ref" in part:
        found = definitions.get(part["$ref"].rsplit("/", 1)[-1], {})
        return {**_resolved(found, definitions), **{key: value for key, value in part.items() if key != "$ref"}}
    options = [one for one in part.get("anyOf", ()) if one.get("type") != "null"]
    if len(options) == 1:
        return {**_resolved(options[0], definitions), **{key: value for key, value in part.items() if key != "anyOf"}, "optional": True}
    return part


def _form_field(name: str, part: Mapping[str, Any], required: bool, value: Any) -> FormField:
    label = str(part.get("title") or name.replace("_", " ").capitalize())
    label = label[:1] + label[1:].lower() if label.istitle() else label
    hint = _sentence_case(str(part.get("description", "")))
    if "enum" in part or "const" in part:
        words = [str(one) for one in part.get("enum", [part.get("const")])]
        choices = [*([] if required or value is not None else [("", "not set")]), *_worded(words, part)]
        start = str(value) if value is not None else choices[0][0]
        return FormField(name, label, "string", "choice", required, start, hint, tuple(choices))
    kind = part.get("type")
    if kind == "boolean" and not part.get("optional"):
        return FormField(name, label, "boolean", "tick", False, bool(value), hint)
    if kind in ("integer", "number"):
        least, most = part.get("minimum", part.get("exclusiveMinimum")), part.get("maximum", part.get("exclusiveMaximum"))
        start = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        return FormField(name, label, kind, "number", required, start, hint or _span(least, most), least=least, most=most)
    if kind == "string":
        roomy = _long(value) or part.get("maxLength", 0) >= _ROOMY
        return FormField(name, label, "string", "area" if roomy else "text", required, "" if value is None else str(value), hint)
    if kind == "array" and (offered := _offered(part.get("items", {}))):
        return FormField(name, label, "choices", "ticks", required, [str(one) for one in value or ()], hint, tuple(_worded(offered, part)))
    if kind == "array" and part.get("items", {}).get("type") == "string":
        return FormField(name, label, "strings", "area", required, "\n".join(map(str, value or ())), hint or "One per line")
    start = "" if value is None else json.dumps(value, indent=2, ensure_ascii=False)
    return FormField(name, label, "json", "area", required, start, hint or "As JSON")


def _sentence_case(text: str) -> str:
    """A description with a capital, unless it starts with a name such as `s3://` or `gateleg.toml`."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+[ ,;:](?!/)", text) else text


def _offered(items: Mapping[str, Any]) -> list[str]:
    """The choices of a list."""
    found = items.get("enum", [items["const"]] if "const" in items else [])
    return found if all(isinstance(one, str) for one in found) else []


def _worded(values: Sequence[str], part: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Choices with their labels: `json_schema_extra={"labels": {value: label}}`."""
    labels = part.get("labels", {})
    return [(value, str(labels.get(value, value))) for value in values]


#: Fields with at least this maximum length have several lines.
_ROOMY = 1_000


def _long(value: Any) -> bool:
    return isinstance(value, str) and (len(value) > 120 or "\n" in value)


def _span(least: Any, most: Any) -> str:
    if least is not None and most is not None:
        return f"From {least:g} to {most:g}"
    return f"At least {least:g}" if least is not None else f"At most {most:g}" if most is not None else ""


def read(field: FormField, typed: Content) -> Any:
    """The parsed input; None if it is empty, so that the model's default applies."""
    if field.form == "boolean":
        return bool(typed)
    if field.form == "choices":
        return list(typed) if isinstance(typed, list) else []
    text = str(typed)
    if not text.strip():
        return [] if field.form == "strings" else None
    if field.form == "strings":
        return [line.strip() for line in text.splitlines() if line.strip()]
    if field.form == "string":
        return text
    try:
        return int(text) if field.form == "integer" else float(text) if field.form == "number" else json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"This is not JSON: {error.msg.lower()} in line {error.lineno}.") from None
    except ValueError:
        raise InvalidInput("Enter a whole number." if field.form == "integer" else "Enter a number.") from None


def read_all(fields: Sequence[FormField], typed: Mapping[str, Content]) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of a form, and its problems by field. Empty fields are omitted."""
    values: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for field in fields:
        try:
            value = read(field, typed.get(field.name, field.start))
        except InvalidInput as error:
            wrong[field.name] = str(error)
            continue
        if value is not None:
            values[field.name] = value
        elif field.required:
            wrong[field.name] = "This field is required."
    return values, wrong


def problems_by_field(problems: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The problems of a model by field; those without a field are under the empty name."""
    found: dict[str, str] = {}
    for problem in problems:
        place = [str(part) for part in problem.get("loc", ())]
        inside = f" (at {'.'.join(place[1:])})" if len(place) > 1 else ""
        found.setdefault(place[0] if place else "", f"{problem.get('msg', 'refused')}{inside}")
    return found
