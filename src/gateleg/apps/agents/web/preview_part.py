"""The preview of a prompt: a field for each variable, and the rendered text, updated while typing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.errors import BadTemplate
from gateleg.apps.agents.rendering import Variable, as_text, placeholders, preview, read_variables
from gateleg.web.console.components import Field, tag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.apps.agents.rendering import PromptPreview
    from gateleg.web.console.components import Tag

#: The placeholder of the flow, which is not a variable.
_FLOW = "flow_snippet"


class PreviewPart:
    """The variables and the rendered text of a prompt. `flow` is the text of the flow to insert."""

    def __init__(self, template: str, declared: Sequence[Mapping[str, Any]], flow: str | None = None) -> None:
        self._template, self._declared, self._flow = template, declared, flow
        self._fields: dict[str, tuple[Variable, Field]] = {}
        self._notes: Tag
        self._text: Tag

    def show(self) -> None:
        """Draw the fields and the text."""
        variables = variables_of(self._template, self._declared, self._flow)
        if variables:
            with tag("div", classes="fields narrow"):
                for variable in variables:
                    self._fields[variable.name] = variable, self._field(variable)
        else:
            tag("p", "This prompt has no variables.", "meta")
        self._notes = tag("div", classes="stack gap-1", role="status")
        self._text = tag("pre", "", "card agents-text agents-preview", dir="auto", aria_label="Rendered text")
        self._render()

    def _field(self, variable: Variable) -> Field:
        kind = variable.type or "any value"
        hint = f"{kind}, {'required' if variable.required else 'optional'}"
        default = "" if variable.default is None else as_text(variable.default)
        hint += f"; {default} if left empty" if default else ""
        change = lambda _: self._render()  # noqa: E731
        if variable.options:
            choices = [("", "not given"), *((as_text(one), as_text(one)) for one in variable.options)]
            return Field(variable.name, "", kind="choice", hint=hint, choices=choices, on_change=change)
        if variable.type == "boolean":
            choices = [("", "not given"), ("true", "true"), ("false", "false")]
            return Field(variable.name, "", kind="choice", hint=hint, choices=choices, on_change=change)
        if variable.type in ("list", "object"):
            return Field(variable.name, "", kind="area", rows=3, whole=True, hint=f"{hint}, as JSON", on_change=change)
        return Field(variable.name, "", hint=hint, on_change=change)

    def _render(self) -> None:
        values = {name: read_value(variable, field.text) for name, (variable, field) in self._fields.items()}
        found = preview(self._template, values, self._declared, self._flow)
        self._text.set_text(found.text)
        self._notes.clear()
        with self._notes:
            for words in notes_of(found):
                tag("p", words, "note warning")


def variables_of(template: str, declared: Sequence[Mapping[str, Any]], flow: str | None = None) -> list[Variable]:
    """The declared variables of a prompt, then the undeclared ones in it and its flow."""
    try:
        known = read_variables(declared)
    except BadTemplate:
        known = {}
    used = (*placeholders(template), *placeholders(flow or ""))
    return [*known.values(), *(Variable(name) for name in dict.fromkeys(used) if name not in known and name != _FLOW)]


def read_value(variable: Variable, text: str) -> Any:
    """The typed value of a variable; None if empty. Invalid input stays a string, which the preview reports."""
    if not text:
        return None
    if variable.type in (None, "string"):
        chosen = [one for one in variable.options if as_text(one) == text]
        return chosen[0] if chosen else text
    try:
        return json.loads(text)
    except ValueError:
        return text


def notes_of(found: PromptPreview) -> list[str]:
    """Sentences about missing and invalid values."""
    notes = list(found.problems)
    if found.missing:
        notes.append(f"Without a value: {', '.join(found.missing)}.")
    return notes
