"""Unwrap type annotations: `Annotated`, `Optional`, `NewType` and type aliases."""

from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, NewType, Union, get_args, get_origin

__all__ = ["Declared", "read_annotation", "union_members"]


@dataclass(frozen=True, slots=True)
class Declared:
    """An unwrapped annotation: the type itself, its `Annotated` metadata, and whether it may be None."""

    type: Any
    metadata: tuple[Any, ...] = ()
    optional: bool = False


def read_annotation(annotation: Any) -> Declared:
    """Unwrap an annotation. A union of more than one type besides None stays a union."""
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        declared = read_annotation(inner)
        return Declared(declared.type, (*declared.metadata, *metadata), declared.optional)
    if isinstance(annotation, NewType):
        return read_annotation(annotation.__supertype__)
    if type(annotation).__name__ == "TypeAliasType":  # from typing since 3.12, from typing_extensions before
        return read_annotation(annotation.__value__)
    members = union_members(annotation)
    if NoneType not in members:
        return Declared(annotation)
    rest = tuple(member for member in members if member is not NoneType)
    if len(rest) == 1:
        declared = read_annotation(rest[0])
        return Declared(declared.type, declared.metadata, optional=True)
    return Declared(Union[rest], optional=True)  # noqa: UP007 - built from a tuple at run time


def union_members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union; an empty tuple for any other type."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
