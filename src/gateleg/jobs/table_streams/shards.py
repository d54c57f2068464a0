"""Read the streams of a table, their shards, and the records of a shard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from gateleg.model import Table
    from gateleg.store import AsyncStore

#: Error codes for streams, shards or tables that do not exist.
_GONE = ("ResourceNotFoundException", "TableNotFoundException")


@dataclass(frozen=True)
class Shard:
    """A shard of a stream."""

    table: str
    stream: str
    id: str
    parent: str | None


@dataclass(frozen=True)
class RecordBatch:
    """Some records of a shard, and the next iterator; None at the end of the shard."""

    records: list[dict[str, Any]]
    next: str | None


class Trimmed(Exception):
    """Records after the checkpoint were older than a day and have been trimmed."""


async def shards_of(store: AsyncStore, table: Table) -> list[Shard]:
    """All readable shards of a table's streams, including disabled streams; oldest first."""
    found: list[Shard] = []
    request: dict[str, Any] = {"TableName": store.setup.name_of(table)}
    while True:
        try:
            response = await store.transport.call("ListStreams", request)
        except ServiceError as error:
            if error.code in _GONE:
                return found
            raise
        for stream in response["Streams"]:
            found += await _shards_of_stream(store, table, stream["StreamArn"])
        if "LastEvaluatedStreamArn" not in response:
            return found
        request["ExclusiveStartStreamArn"] = response["LastEvaluatedStreamArn"]


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
    """A shard iterator after a checkpoint, or at the beginning. None if the shard no longer exists. Raises `Trimmed` if records after
    the checkpoint were trimmed."""
    place = {"ShardIteratorType": "TRIM_HORIZON"}
    if checkpoint is not None:
        place = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": checkpoint}
    try:
        response = await store.transport.call("GetShardIterator", {"StreamArn": stream, "ShardId": shard, **place})
    except ServiceError as error:
        if error.code == "TrimmedDataAccessException":
            raise Trimmed from error
        if error.code in _GONE:
            return None
        raise
    found: str = response["ShardIterator"]
    return found


async def read_records(store: AsyncStore, iterator: str, limit: int) -> RecordBatch | None:
    """The records at an iterator; None if the iterator has expired."""
    try:
        response = await store.transport.call("GetRecords", {"ShardIterator": iterator, "Limit": limit})
    except ServiceError as error:
        if error.code == "TrimmedDataAccessException":
            raise Trimmed from error
        if error.code == "ExpiredIteratorException":
            return None
        if error.code in _GONE:
            return RecordBatch([], None)
        raise
    return RecordBatch(response["Records"], response.get("NextShardIterator"))
