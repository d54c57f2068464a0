"""Start keys: the ExclusiveStartKey of a Query or Scan, checked in DynamoDB's order."""

from collections.abc import Mapping
from typing import Any

from gateleg.engine.errors import EngineError, validation
from gateleg.engine.expressions import check_legacy
from gateleg.engine.operations.paging import RowSource
from gateleg.engine.schema import KeyAttribute
from gateleg.engine.values import Item, canonicalize_item

_INVALID = "The provided starting key is invalid"
#: Value errors that DynamoDB reports without the prefix above.
_UNPREFIXED = ("contains duplicates", "number set", "numeric value", "significant digits", "number with magnitude")


def start_values(request: Mapping[str, Any], operation: str) -> Item | None:
    """The ExclusiveStartKey of a request in canonical form, if it has one."""
    given = request.get("ExclusiveStartKey")
    if given is None:
        return None
    try:
        return canonicalize_item(given)[0]
    except EngineError as error:
        if error.code != "ValidationException":
            raise
        check_legacy(request, operation)
        if any(words in (error.message or "") for words in _UNPREFIXED):
            raise
        raise validation(f"{_INVALID}: {error.message}") from None


def check_start(source: RowSource, item: Item) -> None:
    """Refuse a start key whose attributes or types do not match the table or index."""
    check_start_length(source, item)
    for attribute in source.keys.attributes:
        check_start_attribute(attribute, item)


def check_start_length(source: RowSource, item: Item) -> None:
    """Refuse a start key with a wrong number of attributes."""
    if len(item) != len(source.start_names):
        raise validation(_INVALID)


def check_start_attribute(attribute: KeyAttribute, item: Item) -> None:
    """Refuse a start key without this attribute, or with another type."""
    value = item.get(attribute.name)
    if value is None:
        raise validation(_INVALID)
    if attribute.type not in value:
        raise validation("The provided key element does not match the schema")


def start_position(source: RowSource, item: Item) -> tuple[bytes, bytes]:
    """The position of a start key in the table or index, and its row key in the table. For an index, call `check_start` first."""
    try:
        row = source.layout.request_key(
            {name: item[name] for name in item if source.index is None or name in source.layout.table.keys.names}
        )
    except EngineError as error:
        raise validation(f"{_INVALID}: {error.message}") from None
    position = source.index.key(item) if source.index else row
    assert position is not None, "the types of an index key are checked"
    return position, row
