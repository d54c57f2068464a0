"""Decode records of a table's stream as changes of entities."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from gateleg.model.codec.wire import Item
    from gateleg.model.spec import Table

_KINDS: dict[str, Literal["created", "changed", "deleted"]] = {"INSERT": "created", "MODIFY": "changed", "REMOVE": "deleted"}
_SERVICE = "dynamodb.amazonaws.com"


@dataclass(frozen=True)
class Change:
    """A change of one item, decoded from a stream record. `before` and `after` are None if the stream does not carry that image."""

    kind: Literal["created", "changed", "deleted"]
    entity: type[BaseModel]
    #: the key on the wire
    key: Item
    before: BaseModel | None
    after: BaseModel | None
    #: whether DynamoDB deleted the item because its TTL passed
    expired: bool
    #: increases with every change of the same item
    sequence: str
    #: when it happened, to the second; None if the record does not say
    at: datetime | None
    #: unique to the change, and the same each time that it is delivered
    event_id: str = ""


def read_change(table: Table, record: Mapping[str, Any]) -> Change | None:
    """Decode a stream record of the table, from GetRecords or a Lambda event, as a change.

    Returns None for an item that does not belong to an entity, such as the marker of a unique constraint. Raises `DecodeError` for an
    invalid item. If the stream carries keys only, the entity is recognised by the form of the key.
    """
    data: Mapping[str, Any] = record["dynamodb"]
    before, after = data.get("OldImage"), data.get("NewImage")
    spec = table.spec_for(after or before or data["Keys"])
    if spec is None:
        return None
    return Change(
        _KINDS[record["eventName"]],
        spec.entity,
        data["Keys"],
        None if before is None else spec.decode(before),
        None if after is None else spec.decode(after),
        _SERVICE in (record.get("userIdentity") or {}).values(),
        data.get("SequenceNumber", ""),
        _read_time(data.get("ApproximateCreationDateTime")),
        record.get("eventID", ""),
    )


def _read_time(seconds: Any) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(float(seconds), UTC)
