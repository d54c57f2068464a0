"""Where a Query or a Scan goes on: the ExclusiveStartKey, checked in DynamoDB's order."""

from collections.abc import Mapping
from typing import Any

from gateleg.engine.errors import EngineError, validation
from gateleg.engine.expressions import check_legacy
from gateleg.engine.operations.paging import Source
from gateleg.engine.schema import KeyAttribute
from gateleg.engine.values import Item, examine_item

_INVALID = "The provided starting key is invalid"
#: Faults of values that DynamoDB tells as they are, without a word on the starting key.
_BARE = ("contains duplicates", "number set", "numeric value", "significant digits", "number with magnitude")


def start_values(request: Mapping[str, Any], operation: str) -> Item | None:
    """The ExclusiveStartKey of a request, if it has one, with its values in canonical form."""
    given = request.get("ExclusiveStartKey")
    if given is None:
        return None
    try:
        return examine_item(given)[0]
    except EngineError as error:
        if error.code != "ValidationException":
            raise
        check_legacy(request, operation)
        if any(words in (error.message or "") for words in _BARE):
            raise
        raise validation(f"{_INVALID}: {error.message}") from None


def check_start(where: Source, item: Item) -> None:
    """Refuse a starting key that has not the attributes, or not the types, of the order that is read."""
    check_start_length(where, item)
    for attribute in where.keys.attributes:
        check_start_attribute(attribute, item)


def check_start_length(where: Source, item: Item) -> None:
    """Refuse a starting key of fewer or more attributes than name a place in the order that is read."""
    if len(item) != len(where.start_names):
        raise validation(_INVALID)


def check_start_attribute(attribute: KeyAttribute, item: Item) -> None:
    """Refuse a starting key without this attribute, or with another type of it."""
    value = item.get(attribute.name)
    if value is None:
        raise validation(_INVALID)
    if attribute.type not in value:
        raise validation("The provided key element does not match the schema")


def start_place(where: Source, item: Item) -> tuple[bytes, bytes]:
    """A starting key's place in the order, and its base row's key. For an index, `check_start` comes first."""
    try:
        row = where.layout.request_key({name: item[name] for name in item if where.index is None or name in where.layout.table.keys.names})
    except EngineError as error:
        raise validation(f"{_INVALID}: {error.message}") from None
    place = where.index.key(item) if where.index else row
    assert place is not None, "the types of an index key are checked"
    return place, row
