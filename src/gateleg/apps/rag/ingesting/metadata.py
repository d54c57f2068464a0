"""The metadata of chunks for filters, merged from repository, collection, pipeline and document. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from gateleg.apps.rag.errors import BadValue

if TYPE_CHECKING:
    from collections.abc import Mapping


class Described(Protocol):
    """Anything with tags and custom fields."""

    @property
    def tags(self) -> list[str]:
        """The tags."""
        ...

    @property
    def custom_fields(self) -> dict[str, Any]:
        """The custom fields by name."""
        ...


#: Fields that the application writes; custom fields cannot override them.
RESERVED = frozenset(
    {"tags", "documentId", "documentName", "repositoryId", "collectionId", "source", "contentType", "username", "uploadDate"}
    | {"ingestionType", "language", "title", "author"}
)


def merge_metadata(*levels: Described | None) -> dict[str, Any]:
    """Merge the tags of all levels without repetition, and the custom fields; later levels win. Objects are merged field by field."""
    tags: dict[str, None] = {}
    fields: dict[str, Any] = {}
    for level in levels:
        if level is not None:
            tags |= dict.fromkeys(level.tags)
            fields = _merged(fields, level.custom_fields)
    return {**fields, "tags": list(tags)}


def _merged(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(outer)
    for name, value in inner.items():
        before = found.get(name)
        found[name] = _merged(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return found


def check_reserved(fields: Mapping[str, Any]) -> None:
    """Refuse custom fields with the names of fields that the application writes."""
    taken = sorted(RESERVED & fields.keys())
    if taken:
        raise BadValue(
            f"metadata.customFields must not contain {taken[0]!r}: the name is reserved for a field that every chunk has.",
            fix="Choose another name.",
        )


def chunk_metadata(merged: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a document's chunks: the merged fields, and the reserved ones, which nothing overrides."""
    return {**{name: value for name, value in merged.items() if name not in facts}, **{n: v for n, v in facts.items() if v is not None}}


def without_nulls(value: Any) -> Any:
    """A value as it is stored: without nulls and without empty names."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None and name}
    if isinstance(value, list):
        return [without_nulls(inner) for inner in value if inner is not None]
    return value
