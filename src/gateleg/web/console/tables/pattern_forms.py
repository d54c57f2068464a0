"""An access pattern as a form: its arguments as fields, and the query of the input."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.model import ModelError, spec_of
from gateleg.ops.comments import attribute_comments
from gateleg.web.console.tables.inputs import BadText, Input, input_for, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model import Access, Query, Spec, Table


@dataclass(frozen=True)
class PatternQuery:
    """The result of a form: a query, or the problem of each field."""

    query: Query[Any] | None = None
    #: the arguments by name, as parsed by the model
    values: Mapping[str, Any] = field(default_factory=dict)
    #: problems by field; under the empty name those of the whole form
    problems: Mapping[str, str] = field(default_factory=dict)


def fields_of(access: Access[Any]) -> list[Input]:
    """The fields of a pattern's form: required arguments, then optional ones, from left to right."""
    comments = attribute_comments(access.entity)
    return [_field(access, name, comments.get(name, "")) for name in (*access.required, *access.optional)]


def _field(access: Access[Any], name: str, comment: str) -> Input:
    spec = spec_of(access.entity)
    source = spec.sources[name]
    attribute = spec.attributes[source.attribute]
    note = attribute.info.description or comment
    return input_for(name, source.annotation, source.declared, required=name in access.required, note=note)


def build_query(access: Access[Any], texts: Mapping[str, str], *, reverse: bool = False) -> PatternQuery:
    """The query of the input. All fields are checked, so that all problems are reported at once."""
    spec = spec_of(access.entity)
    values: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for entry in fields_of(access):
        text = texts.get(entry.name, "")
        if not text.strip():
            if entry.required:
                problems[entry.name] = "This field is required."
            continue
        try:
            values[entry.name] = _value(spec, entry, text)
        except BadText as error:
            problems[entry.name] = str(error)
    if problems:
        return PatternQuery(values=values, problems=problems)
    return _query(access, values, reverse)


def _query(access: Access[Any], values: dict[str, Any], reverse: bool) -> PatternQuery:
    gap = _missing_before_given(access, values)
    if gap is not None:
        return PatternQuery(values=values, problems={gap: "This field is required too: a sort key is matched from the left."})
    try:
        query = access(**values)
    except ModelError as error:
        return PatternQuery(values=values, problems={"": f"{error.message} {error.fix}"})
    return PatternQuery(query.reversed() if reverse else query, values)


def _missing_before_given(access: Access[Any], values: Mapping[str, Any]) -> str | None:
    """The first optional argument that is missing before one that is given."""
    given = [name in values for name in access.optional]
    if True not in given:
        return None
    last = len(given) - 1 - given[::-1].index(True)
    return next((name for name, here in zip(access.optional[:last], given, strict=False) if not here), None)


def _value(spec: Spec[Any], entry: Input, text: str) -> Any:
    """The argument in its declared type. Error messages omit the name, which the field already shows."""
    source = spec.sources[entry.name]
    given = value_of(entry, text, source.declared)
    try:
        return source.validate(given, spec.name)
    except ModelError as error:
        raise BadText(error.message.removeprefix(f"{spec.name}.{entry.name} cannot be {given!r}: ")) from None


def find_access(table: Table, name: str) -> Access[Any] | None:
    """The pattern of a table by its full name, `Job.waiting`."""
    return next((access for spec in table.specs for access in spec.patterns.values() if access.name == name), None)


def arguments_text(access: Access[Any]) -> str:
    """The required and optional arguments of a pattern, in words."""
    needs = _and([_plain(name) for name in access.required])
    if not access.optional:
        return f"by {needs}"
    return f"by {needs}, optionally {_and([_plain(name) for name in access.optional])}"


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"
