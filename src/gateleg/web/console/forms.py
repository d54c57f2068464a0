"""Forms from the JSON schema of a model: their fields, and parsing of their input. Pure.

`Field`: a labelled control of a form, with a hint and its error.

`ModelForm`: a form that is generated from a pydantic model, with validation errors at their fields.

Warns before unsaved input is lost. The browser's script watches for it; see `console.js`.

Confirmation before data is lost; for large losses the user must type a name.
"""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from nicegui import context, ui
from nicegui.element import Element
from pydantic import BaseModel, ValidationError

from gateleg.web.console.dialogs import button, sheet
from gateleg.web.console.failures import ErrorText, trouble
from gateleg.web.console.markup import tag

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from nicegui.events import GenericEventArguments

__all__ = ["Field"]

M = TypeVar("M", bound=BaseModel)
E = TypeVar("E", bound="Element")

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


Control = Literal["text", "number", "password", "search", "date", "datetime-local", "area", "choice", "tick", "ticks"]
#: The value of a field: a text, a bool, or a list of texts.
Content = str | bool | list[str]


class Field(Element, component="static/field.js"):
    """A field: `Field("Title", required=True)`. `value` is its current value: a text, a bool for a `tick`, a list of texts for `ticks`.

    `choices` are pairs of value and label, of which a `choice` takes one and `ticks` any number; `options` are suggested while typing.
    `on_change` is called with the value after every change, `on_enter` when the enter key is pressed.
    """

    def __init__(
        self,
        label: str,
        value: Content = "",
        *,
        kind: Control = "text",
        hint: str = "",
        placeholder: str = "",
        required: bool = False,
        whole: bool = False,
        off: bool = False,
        rows: int = 6,
        choices: Sequence[tuple[str, str]] = (),
        options: Sequence[str] = (),
        least: float | None = None,
        most: float | None = None,
        on_change: Callable[[Any], Any] | None = None,
        on_enter: Callable[[], Any] | None = None,
    ) -> None:
        super().__init__()
        self.value: Content = value
        given: dict[str, Any] = {
            "label": label,
            "name": f"field-{self.id}",
            "kind": kind,
            "value": value,
            "hint": hint,
            "placeholder": placeholder or None,
            "required": required,
            "whole": whole,
            "off": off,
            "rows": rows,
            "choices": [list(choice) for choice in choices],
            "options": list(options),
            "min": least,
            "max": most,
        }
        for name, one in given.items():
            if one is not None:
                self.props[name] = one
        self._on_change = on_change
        self.on("typed", self._on_typed)
        if on_enter is not None:
            self.on("enter", on_enter)

    @property
    def text(self) -> str:
        """The content of the field, stripped."""
        return str(self.value).strip()

    def show_wrong(self, why: str | None) -> None:
        """Show an error, or clear it."""
        if self.props.get("wrong") != why:
            self.props["wrong"] = why
            self.props["value"] = self.value
            self.update()

    def set(self, value: Content) -> None:
        """Set the value."""
        self.value = value
        self.props["value"] = value
        self.props["turn"] = self.props.get("turn", 0) + 1
        self.update()

    def _on_typed(self, event: GenericEventArguments) -> Any:
        self.value = event.args
        # So that a later update of the page does not undo the input.
        with self.props.suspend_updates():
            self.props["value"] = event.args
        return None if self._on_change is None else self._on_change(event.args)


def field_of(form_field: FormField, *, placeholder: str = "") -> Field:
    """The control for one field of a form."""
    return Field(
        form_field.label,
        form_field.start,
        kind=form_field.control,
        hint=form_field.hint,
        placeholder=placeholder,
        required=form_field.required,
        whole=form_field.control in ("area", "ticks"),
        rows=3 if form_field.form == "strings" else 6,
        choices=form_field.choices,
        least=form_field.least,
        most=form_field.most,
    )


class ModelForm(Generic[M]):
    """A form for a model: `ModelForm(Note, save, title="New note")`.

    `on_submit` is called with the valid model, and may be asynchronous. Its errors are shown below the fields, and the input stays.
    `values` are the initial values; other fields start with the model's defaults.
    """

    def __init__(
        self,
        model: type[M],
        on_submit: Callable[[M], Awaitable[Any] | Any],
        *,
        title: str = "",
        submit: str = "Save",
        values: Mapping[str, Any] | None = None,
    ) -> None:
        self._model, self._on_submit = model, on_submit
        self._form_field = form_fields(model, values)
        with tag("section", classes="card stack gap-2 narrow", aria_label=title or submit):
            if title:
                tag("h3", title)
            with tag("div", classes="fields"):
                self.fields = {form_field.name: field_of(form_field) for form_field in self._form_field}
            self._problem = tag("div", classes="fill")
            with tag("div"):
                button(submit, self.submit, look="first")

    def clear(self) -> None:
        """Reset the fields to their defaults."""
        for form_field in self._form_field:
            self.fields[form_field.name].set(form_field.start)

    async def submit(self) -> None:
        """Validate the fields, and call `on_submit` with the model."""
        client = context.client
        made = self.read()
        if made is None:
            return
        try:
            answer = self._on_submit(made)
            if inspect.isawaitable(answer):
                await answer
        except Exception as error:
            with client, self._problem:
                trouble(error)

    def read(self) -> M | None:
        """The model. None if a field is invalid, which is then shown."""
        self._problem.clear()
        values, wrong = read_all(self._form_field, {name: field.value for name, field in self.fields.items()})
        made = None
        if not wrong:
            try:
                made = self._model.model_validate(values)
            except ValidationError as error:
                wrong = problems_by_field([dict(problem) for problem in error.errors()])
        for name, field in self.fields.items():
            field.show_wrong(wrong.get(name))
        for about in [text for name, text in wrong.items() if name not in self.fields]:
            with self._problem:
                trouble(ErrorText(about))
        return made


def guarded(part: E) -> E:
    """A part of a page whose unsaved input is protected."""
    part.props["data-guards"] = ""
    return part


def unguarded(part: E) -> E:
    """A control whose change loses nothing, or a link or button that says what it discards."""
    part.props["data-free"] = ""
    return part


def open_after_save(address: str) -> None:
    """Open another page after the input was saved."""
    ui.run_javascript(f"gateleg.leave({json.dumps(address)})")


async def confirm(title: str, loss: str, *, verb: str, name: str | None = None, harmless: bool = False) -> bool:
    """Ask for confirmation. `loss` says what will be lost; with `name`, the user must type it first. Escape declines.

    A `harmless` action is confirmed without the colour of danger.
    """
    with sheet(title) as dialog:
        tag("p", loss)
        typed = None if name is None else Field(f"Type {name} to continue", on_change=lambda _: check())
        with tag("div", classes="deeds"):
            tag("button", "Cancel", "deed", type="button").on("click", lambda: dialog.submit(False))
            go = tag("button", verb, "deed first" if harmless else "deed danger first", type="button")

    def named() -> bool:
        return typed is None or typed.text == name

    def check() -> None:
        go.props["disabled"] = not named()
        go.update()

    check()
    go.on("click", lambda: dialog.submit(True) if named() else None)
    answer = await dialog
    dialog.delete()
    return answer is True
