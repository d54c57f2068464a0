"""Key parts: composite values that several entities use in their keys, declared once."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform, get_type_hints

from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from gateleg.model.attributes.annotations import Declared, read_annotation
from gateleg.model.errors import KeyMismatch, ModelError
from gateleg.model.keys.templates import Template, parse_template
from gateleg.model.keys.text_keys import TextKey, build_text_key

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler


@dataclass(frozen=True, slots=True)
class SameAs:
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


@dataclass(frozen=True, slots=True)
class PartComponent:
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
