"""The settings of applications: `[name]` in `gateleg.toml`, and `GATELEG_NAME__FIELD`. They are validated once the application is known."""

from __future__ import annotations

import difflib
import json
import types
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from gateleg.errors import problem_message

__all__ = ["NoSettings", "RawSetting"]

M = TypeVar("M", bound=BaseModel)


class NoSettings(BaseModel):
    """The settings of an application that declares none."""


@dataclass(frozen=True)
class RawSetting:
    """An unparsed value and its origin: a file or an environment variable."""

    value: Any
    origin: str
    #: whether it is the text of an environment variable, which may stand for any type
    is_text: bool = False


#: Sections of the kit itself.
KIT_SECTIONS = ("models", "oidc")
#: Section by `section_key`, then field.
Sections = dict[str, dict[str, RawSetting]]


def section_key(application: str) -> str:
    """The section name of an application: environment variables cannot contain hyphens."""
    return application.replace("-", "_").lower()


def read_section(given: Mapping[str, RawSetting], application: str, model: type[M]) -> tuple[M | None, list[str]]:
    """The validated settings of an application, or None and its problems."""
    given = _merge_nested(given)
    problems = [
        f"{found.origin}: {application} has no setting {name!r}{nearest(name, model.model_fields, 0.6)}"
        for name, found in given.items()
        if name not in model.model_fields
    ]
    if problems:
        return None, problems
    values = {name: _value(found, model.model_fields[name].annotation) for name, found in given.items()}
    try:
        return model.model_validate(values), []
    except ValidationError as error:
        return None, [_describe_problem(problem, application, given) for problem in error.errors()]


def _describe_problem(problem: Any, application: str, given: Mapping[str, RawSetting]) -> str:
    path = [str(part) for part in problem["loc"]]
    name = ".".join([application, *path])
    if problem["type"] == "missing" and len(path) == 1:
        variable = f"GATELEG_{section_key(application)}__{path[0]}".upper()
        return f"{name} is not set, but {application} needs it: set it in [{application}] of gateleg.toml, or set {variable}"
    origin = given[path[0]].origin if path and path[0] in given else "default"
    return f"{name} (from {origin}): {problem_message(problem)}"


def unknown_sections(sections: Sections, known: Collection[str], kit: Collection[str]) -> list[str]:
    """A problem for each section that belongs to no application. `kit` are the names of the kit's own settings.

    Variables that do not resemble the name of an application may belong to a program that uses Gateleg, and are ignored.
    """
    keys = {section_key(name): name for name in (*known, *KIT_SECTIONS)}
    problems = []
    for key, values in sections.items():
        if key in keys:
            continue
        near = nearest(key, [*keys, *kit])
        if near or any(not found.is_text for found in values.values()):
            origin = next(iter(values.values())).origin
            problems.append(f"{origin}: unknown application {key!r}{near}")
    return problems


def _merge_nested(given: Mapping[str, RawSetting]) -> dict[str, RawSetting]:
    """Merge variables for nested values, such as `PROVIDERS__OPENAI__KEY_ENV`, into the value of their field."""
    found = {name: one for name, one in given.items() if "__" not in name}
    for name, one in given.items():
        field, *path = name.split("__")
        if not path:
            continue
        have = found.get(field)
        value = _deep_copy(_value(have, dict) if have is not None else {})
        inside = value
        for part in path[:-1]:
            inside = inside.setdefault(part, {}) if isinstance(inside, dict) else inside
        if not isinstance(inside, dict):
            found[name] = one
            continue
        inside[path[-1]] = _value(one, dict)
        found[field] = RawSetting(value, one.origin)
    return found


def _deep_copy(value: Any) -> Any:
    return {name: _deep_copy(one) for name, one in value.items()} if isinstance(value, dict) else value


def nearest(name: str, known: Collection[str], likeness: float = 0.7) -> str:
    """A suggestion for an unknown name; empty if no known name is similar."""
    found = difflib.get_close_matches(name, known, 1, likeness)
    return f"; did you mean {found[0]!r}?" if found else ""


def _value(given: RawSetting, annotation: Any) -> Any:
    """The value to validate. A text from the environment for a list or mapping is JSON, or a comma-separated list."""
    if not given.is_text:
        return given.value
    kinds = _kinds(annotation)
    text = str(given.value).strip()
    if kinds & {dict, list} and text[:1] in ("{", "["):
        try:
            return json.loads(text)
        except ValueError:
            return given.value
    if list in kinds:
        return [part.strip() for part in text.split(",") if part.strip()]
    return given.value


def _kinds(annotation: Any) -> set[type]:
    """Whether an annotation accepts sequences (`list`) or mappings (`dict`)."""
    origin = get_origin(annotation) or annotation
    if origin in (Union, types.UnionType, Annotated):
        parts = get_args(annotation)[:1] if origin is Annotated else get_args(annotation)
        return set().union(*map(_kinds, parts))
    if not isinstance(origin, type) or issubclass(origin, str | bytes):
        return set()
    if issubclass(origin, BaseModel | Mapping):
        return {dict}
    return {list} if issubclass(origin, list | tuple | set | frozenset | Collection) else set()
