"""Choose the shape (the stored form) of a declared type."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, PydanticSchemaGenerationError, TypeAdapter

from gateleg.model.attributes.annotations import Declared, read_annotation, union_members
from gateleg.model.attributes.special_types import find_mark
from gateleg.model.attributes.time_formats import TimeFormat, time_format
from gateleg.model.codec import shapes
from gateleg.model.codec.nested import ModelShape, UnionShape
from gateleg.model.codec.shapes import JsonShape, ListShape, MapShape, NullableShape, RichShape, ScalarShape, SetShape, Shape, TupleShape
from gateleg.model.errors import UnsupportedType
from gateleg.model.keys.parts import KeyPart

_SCALARS: dict[Any, ScalarShape] = {
    str: shapes.TEXT,
    bool: shapes.FLAG,
    int: shapes.INTEGER,
    float: shapes.FLOAT,
    Decimal: shapes.DECIMAL,
    bytes: shapes.BINARY,
    datetime: shapes.INSTANT,
    date: shapes.ISO_TEXT,
    time: shapes.ISO_TEXT,
    UUID: shapes.UUID_TEXT,
}
_REFUSED: dict[Any, str] = {
    object: "Declare the type of the values, or Any for everything that DynamoDB can store.",
    complex: "Use two attributes, or a list of two numbers.",
}
_LISTS = {"list", "List", "Sequence", "deque", "Iterable", "Collection"}
_SETS = {"set", "frozenset", "Set", "MutableSet", "FrozenSet", "AbstractSet"}
_MAPS = {"dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "Dict"}


def shape_of(annotation: Any) -> Shape:
    """The shape of an attribute, without regard to None, which is stored as a missing attribute."""
    return _choose(read_annotation(annotation), annotation)


def element_shape(annotation: Any) -> Shape:
    """The shape of an element of a list or map, where None is stored as NULL."""
    shape = shape_of(annotation)
    return NullableShape(shape) if read_annotation(annotation).optional else shape


def _choose(declared: Declared, annotation: Any) -> Shape:
    kind, origin = declared.type, get_origin(declared.type)
    if find_mark(declared.metadata, "json") or find_mark(declared.metadata, "compressed"):
        return JsonShape(_adapter(annotation), compressed=find_mark(declared.metadata, "compressed"))
    if find_mark(declared.metadata, "ttl"):
        if time_format(declared.metadata) not in (TimeFormat.ISO, TimeFormat.EPOCH_SECONDS):
            raise UnsupportedType("A TTL attribute cannot have a time format.", fix="Omit it: DynamoDB requires seconds since 1970.")
        return shapes.EPOCH
    if kind is datetime:
        return shapes.time_shape(time_format(declared.metadata))
    if kind in _REFUSED:
        raise UnsupportedType(f"{kind.__name__} cannot be stored.", fix=_REFUSED[kind])
    if kind in (Any, dict, list, tuple):
        return shapes.ANYTHING
    if origin is Literal:
        return _of_values(get_args(kind))
    if union_members(kind):
        return _of_union(union_members(kind))
    if origin is not None:
        return _of_generic(origin, get_args(kind), annotation)
    return _of_class(kind, annotation)


def _of_class(kind: Any, annotation: Any) -> Shape:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if not isinstance(kind, type):
        raise UnsupportedType(f"{kind!r} cannot be stored.", fix="Use a type that pydantic can validate.")
    if issubclass(kind, Enum):
        return _of_enum(kind)
    if issubclass(kind, BaseModel):
        return ModelShape(kind, shape_of)
    if issubclass(kind, KeyPart):
        return shapes.PLAIN_TEXT
    if issubclass(kind, set | frozenset):
        raise UnsupportedType("A set needs the type of its elements.", fix="Write set[str] or set[int], for example.")
    for scalar in (datetime, str, int, float, Decimal, bytes):
        if issubclass(kind, scalar):
            return _SCALARS[scalar]
    return RichShape(_adapter(annotation))


def _of_enum(kind: type[Enum]) -> Shape:
    values = [member.value for member in kind]
    if all(isinstance(value, str) for value in values):
        return shapes.TEXT_ENUM
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return shapes.NUMBER_ENUM
    return shapes.ANYTHING


def _of_values(values: tuple[Any, ...]) -> Shape:
    kinds = {type(value) for value in values}
    return _SCALARS[kinds.pop()] if len(kinds) == 1 and kinds <= {str, int, bool, bytes} else shapes.ANYTHING


def _of_union(members: tuple[Any, ...]) -> Shape:
    declared = [read_annotation(member).type for member in members]
    models = tuple((kind, ModelShape(kind, shape_of)) for kind in declared if isinstance(kind, type) and issubclass(kind, BaseModel))
    return UnionShape(models, shape_of) if models else shapes.ANYTHING


def _of_generic(origin: Any, arguments: tuple[Any, ...], annotation: Any) -> Shape:
    name = getattr(origin, "__name__", "")
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis):
        return TupleShape(tuple(element_shape(argument) for argument in arguments))
    if origin is tuple or name in _LISTS:
        return ListShape(element_shape(arguments[0]))
    if name in _SETS:
        element = shape_of(arguments[0])
        if not isinstance(element, ScalarShape) or element.kind not in ("S", "N", "B") or not element.source:
            raise UnsupportedType(
                f"{annotation} cannot be stored as a set.", fix="Use a list: sets in DynamoDB contain text, numbers or binary."
            )
        return SetShape(element)
    if name in _MAPS:
        text = read_annotation(arguments[0]).type is str
        element = element_shape(arguments[1])
        return shapes.ANYTHING if text and element is shapes.ANYTHING else MapShape(element, text_keys=text)
    if isinstance(origin, type) and issubclass(origin, BaseModel):
        return ModelShape(origin, shape_of)
    return RichShape(_adapter(annotation))


def _adapter(annotation: Any) -> TypeAdapter[Any]:
    if get_origin(annotation) is Annotated and not isinstance(annotation, type):
        annotation = get_args(annotation)[0]
    try:
        return TypeAdapter(annotation)
    except PydanticSchemaGenerationError as error:
        raise UnsupportedType(f"pydantic cannot validate {annotation}.", fix="Use a type that pydantic supports.") from error
