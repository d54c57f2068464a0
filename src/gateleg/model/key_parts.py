"""Templates of keys with typed components: `TextKey`, the text of one key attribute, which it builds, parses and bounds; and `KeyPart`, a
composite value that several entities use in their keys, declared once.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, dataclass, fields
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, dataclass_transform, get_type_hints

from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from gateleg.model.errors import KeyMismatch, MissingComponent, ModelError, TemplateError
from gateleg.model.key_text import HIGH, Component, Template, build_component, compile_render, just_before, parse_template
from gateleg.model.types import Declared, read_annotation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import GetCoreSchemaHandler


class SameAs(NamedTuple):
    """The default of a field that falls back to another field."""

    name: str


def same_as(name: str) -> Any:
    """A default for a key part's field: the value of another field. It also replaces None and empty text."""
    return SameAs(name)


@dataclass_transform(frozen_default=True)
class KeyPart:
    """A composite value inside keys, such as a tenant's partition.

    Subclass it with a template of its fields: `class Partition(KeyPart, template="{endpoint_id}#{part_id}")`. The fields are validated when
    an instance is created. `str(part)` is its text, and `Partition.parse(text)` parses it. An attribute of this type is stored as text.
    With `denormalise=True` (the default), each field is also stored in an attribute of its name, so that indexes can use it.
    """

    __template__: ClassVar[Template]
    __denormalise__: ClassVar[bool]

    def __init_subclass__(cls, *, template: str, denormalise: bool = True) -> None:
        """Make the subclass a frozen dataclass and parse its template."""
        super().__init_subclass__()
        cls.__template__ = parse_template(template)
        cls.__denormalise__ = denormalise
        dataclass(frozen=True)(cls)
        cls.__text_key__()

    def __post_init__(self) -> None:
        """Fill in `same_as` defaults, and raise `KeyValueError` for values that do not fit the template."""
        for entry in fields(self):  # type: ignore[arg-type]
            if isinstance(entry.default, SameAs) and getattr(self, entry.name) in (None, "", entry.default):
                object.__setattr__(self, entry.name, getattr(self, entry.default.name))
        object.__setattr__(self, "_text", self.__text_key__().build(self.__dict__))

    def __str__(self) -> str:
        return self._text  # type: ignore[attr-defined, no-any-return]

    @classmethod
    def parse(cls, text: str) -> Self:
        """The key part of a text. Raises `KeyMismatch` if the text does not match the template."""
        return cls(**cls.__text_key__().parse(text))

    @classmethod
    @cache
    def __members__(cls) -> dict[str, Declared]:
        """The fields of the part and their types."""
        hints = get_type_hints(cls, include_extras=True)
        return {name: read_annotation(hints[name]) for name in cls.__template__.names if name in hints}

    @classmethod
    def __required__(cls) -> tuple[str, ...]:
        """The fields that have no default."""
        return tuple(entry.name for entry in fields(cls) if entry.default is MISSING)  # type: ignore[arg-type]

    @classmethod
    @cache
    def __text_key__(cls) -> TextKey:
        """The template with its components."""
        members = cls.__members__()
        unknown = [name for name in cls.__template__.names if name not in members]
        if unknown:
            raise KeyMismatch(f"{cls.__name__} has no field {', '.join(unknown)}.", fix="Use only the key part's fields in its template.")
        return build_text_key(cls.__template__, members.__getitem__)

    @classmethod
    def __key_component__(cls, where: str) -> PartComponent:
        """The component for this key part inside a larger key."""
        return PartComponent(cls, where)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accept an instance or its text; serialise to text."""
        return core_schema.json_or_python_schema(
            json_schema=core_schema.no_info_after_validator_function(cls.__validate__, core_schema.str_schema()),
            python_schema=core_schema.no_info_plain_validator_function(cls.__validate__),
            serialization=core_schema.plain_serializer_function_ser_schema(str),
        )

    @classmethod
    def __validate__(cls, value: Any) -> Self:
        """An instance as it is, a text parsed; one problem in plain words for anything else."""
        if isinstance(value, cls):
            return value
        form = cls.__template__.text
        if not isinstance(value, str):
            raise PydanticCustomError(
                "key_part", "Input should be of type {part} or text of the form '{form}'", {"part": cls.__name__, "form": form}
            )
        try:
            return cls.parse(value)
        except KeyMismatch:
            raise PydanticCustomError("key_part", "Input should have the form '{form}'", {"form": form}) from None
        except ModelError as error:
            raise PydanticCustomError("key_part", "{reason}", {"reason": error.message.removesuffix(".")}) from None


class PartComponent(NamedTuple):
    """A whole key part as a component of a larger key."""

    part: type[KeyPart]
    where: str
    width: int | None = None
    ordered: bool = False
    descending: bool = False

    @property
    def pattern(self) -> str:
        """The pattern of the key part, without capturing groups."""
        key = self.part.__text_key__()
        texts = [f"(?:{component.pattern})" for component in key.components]
        literals = list(map(_escape, key.template.literals))
        return literals[0] + "".join(text + literal for text, literal in zip(texts, literals[1:], strict=True))

    def render(self, value: Any) -> str:
        return str(value if isinstance(value, self.part) else self.part.parse(str(value)))

    def parse(self, text: str) -> KeyPart:
        return self.part.parse(text)


def _escape(literal: str) -> str:
    return "".join(character if character.isalnum() else "\\" + character for character in literal)


@dataclass(frozen=True)
class TextKey:
    """A key template whose placeholders are resolved to components."""

    template: Template
    components: tuple[Component, ...]

    def build(self, values: Mapping[str, Any]) -> str:
        """The whole text; raise `MissingComponent` if a component is missing."""
        text, count = self.build_prefix(values)
        if count < len(self.components):
            missing = [name for name in self.template.names if values.get(name) is None]
            raise MissingComponent(f"The key {self.template.text!r} needs {', '.join(missing)}.", fix="Pass all its components.")
        return text

    @cached_property
    def _steps(self) -> tuple[tuple[str, Callable[[Any], str], str], ...]:
        """For each component: its name, its render function, and the literal after it."""
        renderers = (compile_render(component) for component in self.components)
        return tuple(zip(self.template.names, renderers, self.template.literals[1:], strict=True))

    def build_prefix(self, values: Mapping[str, Any]) -> tuple[str, int]:
        """The text up to the first missing component, and the number of components before it.

        The literal before the missing component is included, so that the prefix for f34 does not match f340.
        """
        text, count = self.template.literals[0], 0
        for name, render, literal in self._steps:
            value = values.get(name)
            if value is None:
                return text, count
            text += render(value) + literal
            count += 1
        return text, count

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        text = re.escape(self.template.literals[0])
        for component, literal in zip(self.components, self.template.literals[1:], strict=True):
            text += f"({component.pattern})" + re.escape(literal)
        return re.compile(text, re.DOTALL)

    def matches(self, text: str) -> bool:
        """Whether the text matches the template."""
        return self._regex.fullmatch(text) is not None

    def parse(self, text: str) -> dict[str, Any]:
        """The values of the components, in a form that pydantic accepts; raise `KeyMismatch` if the text does not match."""
        match = self._regex.fullmatch(text)
        if match is None:
            raise KeyMismatch(f"{text!r} does not match the key template {self.template.text!r}.")
        groups = zip(self.template.names, self.components, match.groups(), strict=True)
        return {name: component.parse(group) for name, component, group in groups}

    def range_of(self, prefix: str, at: int, operator: str, values: tuple[Any, ...]) -> tuple[str, ...]:
        """The condition on the whole text that is equivalent to a comparison of component number `at`; `prefix` is the text before it.

        Returns the operator and its operands: `("BETWEEN", low, high)`, `(">=", low)`, `("begins_with", prefix)`, ...
        """
        component = self.components[at]
        tail = HIGH if at + 1 < len(self.components) or self.template.literals[at + 1] else ""
        if operator == "begins_with":
            return ("begins_with", prefix + str(values[0]))
        texts = [prefix + component.render(value) for value in values]
        if operator == "=":
            return ("begins_with", texts[0] + self.template.literals[at + 1]) if tail else ("=", texts[0])
        if operator == "BETWEEN":
            low, high = reversed(texts) if component.descending else texts
            return ("BETWEEN", low, high + tail)
        if component.descending:
            operator = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}[operator]
        if not prefix:
            return (operator, texts[0] + tail if operator in ("<=", ">") else texts[0])
        if operator == ">=":
            return ("BETWEEN", texts[0], prefix + HIGH)
        if operator == ">":
            return ("BETWEEN", texts[0] + HIGH if tail else texts[0] + "\x00", prefix + HIGH)
        return ("BETWEEN", prefix, texts[0] + tail if operator == "<=" else just_before(texts[0]))


def build_text_key(template: Template, declared: Callable[[str], Declared]) -> TextKey:
    """Resolve a template's placeholders by the declared types of their attributes."""
    components = tuple(build_component(placeholder, template, declared(placeholder.name)) for placeholder in template.placeholders)
    for at, component in enumerate(components[:-1]):
        literal = template.literals[at + 1]
        if component.width is None and (not literal or literal[0].isalnum()):
            raise TemplateError(
                f"In {template.text!r} nothing separates {template.placeholders[at]} from {template.placeholders[at + 1]}.",
                fix="Put a delimiter such as # between them.",
            )
    return TextKey(template, components)
