"""Streams as the service has them: which streams a table has, their shards, and the records of a shard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from gateleg.model import Table
    from gateleg.store import AsyncStore

#: What is answered for streams, shards or tables that are gone.
_GONE = ("ResourceNotFoundException", "TableNotFoundException")


@dataclass(frozen=True)
class Shard:
    """A shard of a stream."""

    table: str
    stream: str
    id: str
    parent: str | None


@dataclass(frozen=True)
class Batch:
    """Some records of a shard, and where to go on; None at its end."""

    records: list[dict[str, Any]]
    next: str | None


class Trimmed(Exception):
    """The records after a checkpoint are older than a day, and gone."""


async def shards_of(store: AsyncStore, table: Table) -> list[Shard]:
    """All shards of a table's streams that can be read, those of streams that were switched off included; oldest first."""
    found: list[Shard] = []
    request: dict[str, Any] = {"TableName": store.setup.name_of(table)}
    while True:
        try:
            reply = await store.transport.call("ListStreams", request)
        except ServiceError as error:
            if error.code in _GONE:
                return found
            raise
        for stream in reply["Streams"]:
            found += await _shards_of_stream(store, table, stream["StreamArn"])
        if "LastEvaluatedStreamArn" not in reply:
            return found
        request["ExclusiveStartStreamArn"] = reply["LastEvaluatedStreamArn"]


async def _shards_of_stream(store: AsyncStore, table: Table, arn: str) -> list[Shard]:
    found: list[Shard] = []
    request: dict[str, Any] = {"StreamArn": arn}
    while True:
        try:
            described = (await store.transport.call("DescribeStream", request))["StreamDescription"]
        except ServiceError as error:
            if error.code in _GONE:
                return found
            raise
        found += [Shard(table.name, arn, one["ShardId"], one.get("ParentShardId")) for one in described.get("Shards", ())]
        if "LastEvaluatedShardId" not in described:
            return found
        request["ExclusiveStartShardId"] = described["LastEvaluatedShardId"]


async def iterator_after(store: AsyncStore, stream: str, shard: str, checkpoint: str | None) -> str | None:
    """A place in a shard: after a checkpoint, or at its beginning. None when the shard is gone; `Trimmed` when records after it are."""
    place = {"ShardIteratorType": "TRIM_HORIZON"}
    if checkpoint is not None:
        place = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": checkpoint}
    try:
        reply = await store.transport.call("GetShardIterator", {"StreamArn": stream, "ShardId": shard, **place})
    except ServiceError as error:
        if error.code == "TrimmedDataAccessException":
            raise Trimmed from error
        if error.code in _GONE:
            return None
        raise
    found: str = reply["ShardIterator"]
    return found


async def read_records(store: AsyncStore, iterator: str, limit: int) -> Batch | None:
    """The records at a place; None when the place has expired, and must be found again."""
    try:
        reply = await store.transport.call("GetRecords", {"ShardIterator": iterator, "Limit": limit})
    except ServiceError as error:
        if error.code == "TrimmedDataAccessException":
            raise Trimmed from error
        if error.code == "ExpiredIteratorException":
            return None
        if error.code in _GONE:
            return Batch([], None)
        raise
    return Batch(reply["Records"], reply.get("NextShardIterator"))
