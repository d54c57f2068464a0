"""Which GSIs to create and delete, and in which order: DynamoDB allows one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.migrate.creation import index_capacity
from gateleg.migrate.plans import Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.migrate.shapes import IndexShape, TableSettings, TableShape, Wire

#: the default quota of GSIs per table
_MAX_INDEXES = 20


def index_steps(wanted: TableShape, have: TableShape, settings: TableSettings) -> Iterator[Step]:
    """Creations come before deletions, so that a successor exists before an index goes, unless the old index is in the way."""
    missing = [index for name, index in wanted.globals.items() if have.globals.get(name) != index]
    obsolete = [index for name, index in have.globals.items() if wanted.globals.get(name) != index]
    in_the_way = [index for index in obsolete if _blocks(index, wanted, missing)]
    later = [index for index in obsolete if index not in in_the_way]
    crowd = len(have.globals) - len(in_the_way) + len(missing) - _MAX_INDEXES
    if crowd > 0:
        in_the_way, later = in_the_way + later[:crowd], later[crowd:]
    for index in in_the_way:
        yield _drop(have.name, index, replaced=index.name in wanted.globals)
    for index in missing:
        yield _add(wanted, have, index, settings)
    for index in later:
        yield _drop(have.name, index, replaced=False)


def _blocks(index: IndexShape, wanted: TableShape, missing: list[IndexShape]) -> bool:
    """Whether an index must be deleted first: another needs its name, or one of its key attributes with another type."""
    if index.name in wanted.globals:
        return True
    types = {key.name: key.type for other in missing for key in other.keys}
    return any(types.get(key.name, key.type) != key.type for key in index.keys)


def _drop(table: str, index: IndexShape, replaced: bool) -> Step:
    request: Wire = {"TableName": table, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": index.name}}]}
    loses = f"Queries on {index.name} fail" + (" until it is created again." if replaced else ".")
    note = "Under another name, the new index could be created before the old one is deleted." if replaced else ""
    return Step(table, "delete-index", f"delete the index {index}", "UpdateTable", request, loses, note)


def _add(wanted: TableShape, have: TableShape, index: IndexShape, settings: TableSettings) -> Step:
    capacity = have.capacity if settings.billing == "keep" else settings.billing
    request: Wire = {
        "TableName": wanted.name,
        "AttributeDefinitions": [{"AttributeName": key.name, "AttributeType": key.type} for key in index.keys],
        "GlobalSecondaryIndexUpdates": [{"Create": index.wire() | index_capacity(capacity)}],
    }
    return Step(wanted.name, "create-index", f"create the index {index}", "UpdateTable", request)
