"""The object keys in an item, and those that a store of objects would refuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from gateleg.model.attributes.annotations import read_annotation
from gateleg.model.attributes.special_types import check_s3_key, find_mark
from gateleg.model.codec.nested import attr_type
from gateleg.model.errors import S3KeyRefused
from gateleg.model.spec import spec_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def refused_object_keys(item: BaseModel) -> tuple[str, ...]:
    """The names in the table of an item's attributes that hold an invalid object key.

    Such a key cannot be written, but another program may have stored it: so it is read as it is. Repair the attribute with a patch.
    """
    spec = spec_of(type(item))
    return tuple(
        attribute.wire
        for attribute in spec.attributes.values()
        if any(is_refused(key) for key in _keys_in(attribute.annotation, vars(item)[attribute.name]))
    )


def is_refused(key: str) -> bool:
    """Whether an object key is invalid."""
    try:
        check_s3_key(key)
    except S3KeyRefused:
        return True
    return False


def _keys_in(annotation: Any, value: Any) -> Iterator[str]:
    """The object keys in a value: itself, in a collection, in the values of a mapping, or in a record."""
    declared = read_annotation(annotation)
    if find_mark(declared.metadata, "s3-key"):
        if isinstance(value, str):
            yield value
    elif isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            yield from _keys_in(attr_type(field.annotation), getattr(value, name))
    elif isinstance(value, Mapping | list | tuple | set | frozenset):
        for inner in get_args(declared.type)[-1:]:
            for entry in value.values() if isinstance(value, Mapping) else value:
                yield from _keys_in(inner, entry)
