"""Render prompts and flows: substitute variables for placeholders. Pure; templates cannot run code.

A placeholder is `{name}`: letters, digits and underscores between single braces. All other braces are literal, so flows can be JSON, and
`{{name}}` renders as `{name}`. Substituted values are not searched for placeholders. `{flow_snippet}` in a prompt is replaced by the flow,
rendered in the same way.

Variables are declared by the prompt as maps with `name`, and optionally `type` (string, integer, number, boolean, list or object),
`default`, `required` (true unless there is a default) and `options`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.errors import BadTemplate, BadVariable, MissingVariables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

#: The placeholder that is replaced by the flow.
FLOW_SNIPPET = "flow_snippet"
#: Maximum characters of a rendered text.
MAX_RENDERED_LENGTH = 400_000
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PLACEHOLDER = re.compile(rf"\{{\{{({_NAME})\}}\}}|\{{({_NAME})\}}")
_WHOLE_NAME = re.compile(_NAME)

_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "list": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
#: Other names for the types.
_ALIASES = {"str": "string", "text": "string", "int": "integer", "float": "number", "bool": "boolean", "array": "list", "dict": "object"}


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that a prompt declares."""

    name: str
    #: None accepts any value
    type: str | None = None
    default: Any = None
    required: bool = True
    options: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """The rendered text, with the variables that it used."""

    text: str
    #: variables that were substituted
    used: tuple[str, ...] = ()
    #: variables that were given or declared, but occur nowhere
    unused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptPreview:
    """A partly rendered text, with its missing variables and type errors."""

    text: str
    missing: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


def read_variables(declared: Sequence[Mapping[str, Any]]) -> dict[str, Variable]:
    """Parse a prompt's variable declarations, by name. Raises `BadTemplate` for an invalid one."""
    found: dict[str, Variable] = {}
    for place, entry in enumerate(declared, 1):
        name, kind = entry.get("name"), entry.get("type", entry.get("data_type"))
        if not isinstance(name, str) or not _WHOLE_NAME.fullmatch(name):
            raise BadTemplate(f"Variable {place} has no name of letters, digits and underscores.")
        if name == FLOW_SNIPPET:
            raise BadTemplate(f"{name} is reserved for the flow and cannot be a variable.")
        if name in found:
            raise BadTemplate(f"The variable {name} is declared twice.")
        kind = None if kind is None else _ALIASES.get(str(kind).lower(), str(kind).lower())
        if kind is not None and kind not in _TYPES:
            raise BadTemplate(f"The variable {name} has the unknown type {kind!r}; the types are {', '.join(_TYPES)}.")
        default = entry.get("default", entry.get("value"))
        options = tuple(entry.get("options") or ())
        found[name] = Variable(name, kind, default, bool(entry.get("required", default is None)), options)
    return found


def values_of(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """An agent's variable values by name, from maps with `name` and `value`."""
    return {str(entry["name"]): entry.get("value") for entry in entries if entry.get("name")}


def placeholders(text: str) -> list[str]:
    """The distinct placeholder names of a text, in order of appearance."""
    return list(dict.fromkeys(found[2] for found in _PLACEHOLDER.finditer(text) if found[2]))


@dataclass
class _Substitution:
    """Substitutes values, and records which variables were used and which are missing."""

    values: Mapping[str, Any]
    variables: Mapping[str, Variable]
    used: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def fill(self, text: str, inner: str | None = None) -> str:
        """Substitute the placeholders of a text; `inner` is the rendered flow."""

        def replaced(found: re.Match[str]) -> str:
            if found[1]:
                return "{" + found[1] + "}"
            name = found[2]
            if name == FLOW_SNIPPET and inner is not None:
                return inner
            value = self._value(name)
            if value is None:
                if self._needed(name):
                    self.missing.append(name)
                    return found[0]
                return ""
            self.used.append(name)
            return as_text(value)

        return _PLACEHOLDER.sub(replaced, text)

    def _value(self, name: str) -> Any:
        given = self.values.get(name)
        declared = self.variables.get(name)
        return given if given is not None or declared is None else declared.default

    def _needed(self, name: str) -> bool:
        declared = self.variables.get(name)
        return declared is None or declared.required


def as_text(value: Any) -> str:
    """Format a value for substitution: strings unchanged, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def render(template: str, values: Mapping[str, Any], declared: Sequence[Mapping[str, Any]] = (), flow: str | None = None) -> RenderedPrompt:
    """Render a prompt with its flow and variables. Raises `MissingVariables`, `BadVariable` and `BadTemplate`."""
    variables = read_variables(declared)
    problems = _problems(values, variables)
    if problems:
        raise BadVariable(" ".join(problems), details={"problems": problems})
    filling, text = _substitute(template, values, variables, flow)
    missing = tuple(dict.fromkeys(filling.missing))
    if missing:
        raise MissingVariables(
            f"Variables without a value: {', '.join(missing)}.",
            fix="Supply a value or a default for each. To keep braces in the text, write {{name}}.",
            details={"missing": list(missing)},
        )
    if len(text) > MAX_RENDERED_LENGTH:
        raise BadTemplate(
            f"The rendered text has {len(text):,} characters; the limit is {MAX_RENDERED_LENGTH:,}.",
            fix="Shorten the template or its values.",
        )
    return RenderedPrompt(text, tuple(dict.fromkeys(filling.used)), _unused(values, variables, filling.used))


def preview(template: str, values: Mapping[str, Any], declared: Sequence[Mapping[str, Any]] = (), flow: str | None = None) -> PromptPreview:
    """Render as far as possible, and report missing variables and type errors instead of raising. Unknown placeholders stay."""
    try:
        variables = read_variables(declared)
        filling, text = _substitute(template, values, variables, flow)
    except BadTemplate as error:
        return PromptPreview(template, problems=(error.message,))
    problems = _problems(values, variables)
    return PromptPreview(
        text[:MAX_RENDERED_LENGTH], tuple(dict.fromkeys(filling.missing)), tuple(problems), _unused(values, variables, filling.used)
    )


def _substitute(template: str, values: Mapping[str, Any], variables: Mapping[str, Variable], flow: str | None) -> tuple[_Substitution, str]:
    if flow is not None and FLOW_SNIPPET in placeholders(flow):
        raise BadTemplate("The flow contains {flow_snippet}, so it would include itself.")
    given = {name: value for name, value in values.items() if name != FLOW_SNIPPET}
    filling = _Substitution(given, variables)
    inner = filling.fill(flow or "")
    return filling, filling.fill(template, inner)


def _problems(values: Mapping[str, Any], variables: Mapping[str, Variable]) -> list[str]:
    found = []
    for name, variable in variables.items():
        value = values.get(name) if values.get(name) is not None else variable.default
        if value is None:
            continue
        if variable.type is not None and not _TYPES[variable.type](value):
            found.append(f"{name} must be {_with_article(variable.type)}, got {_with_article(_type_of(value))}.")
        elif variable.options and value not in variable.options:
            found.append(f"{name} must be one of {', '.join(map(as_text, variable.options))}.")
    return found


def _type_of(value: Any) -> str:
    return next((name for name, fits in _TYPES.items() if fits(value)), type(value).__name__)


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeio" else f"a {noun}"


def _unused(values: Mapping[str, Any], variables: Mapping[str, Variable], used: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys((*values, *variables)) if name not in set(used) and name != FLOW_SNIPPET)
