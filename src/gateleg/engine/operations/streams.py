"""ListStreams, DescribeStream, GetShardIterator and GetRecords.

A shard iterator is a position in a shard, encoded in an opaque string, so that the engine stores nothing per iterator.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import md5
from struct import Struct, error
from typing import Any

import apsw

from gateleg.engine import changelog
from gateleg.engine.catalog import Context, parse_item
from gateleg.engine.changelog import ChangeRecord, Shard, TableStream
from gateleg.engine.errors import EngineError, invalid_parameter, not_found, validation
from gateleg.engine.values import Item, item_size

MAX_STREAMS = 100
MAX_RECORDS = 1000
MAX_RECORD_BYTES = 1024 * 1024

_ARN = re.compile(r"arn:[^:]+:dynamodb:[^:]*:[^:]*:table/([a-zA-Z0-9_.-]+)/stream/(.+)")


def list_streams(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """List readable streams, including those of deleted tables, page by page."""
    limit = _limit(request, MAX_STREAMS)
    name = request.get("TableName")
    start = request.get("ExclusiveStartStreamArn")
    after = _parse_arn(start) if start is not None else ("", "")
    with context.database.reading() as connection:
        streams = changelog.list_streams(connection, context.namespace, name, after, limit + 1, context.now())
    if name is not None and not streams and context.catalog.find_table(context.namespace, name) is None:
        raise not_found(f"Requested resource not found: Table: {name} not found")
    response: dict[str, Any] = {
        "Streams": [{"StreamArn": s.arn, "TableName": s.table_name, "StreamLabel": s.label} for s in streams[:limit]]
    }
    if len(streams) > limit:
        response["LastEvaluatedStreamArn"] = streams[limit - 1].arn
    return response


def describe_stream(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Describe a stream and its shards, in order of their start."""
    limit = _limit(request, MAX_STREAMS)
    now = context.now()
    with context.database.snapshot() as connection:
        stream = _find_stream(connection, context, request["StreamArn"])
        shards = [s for s in stream.shards(now) if s.id > (request.get("ExclusiveStartShardId") or "")]
        shards = _filtered(shards, request.get("ShardFilter"))
        described = [_shard(connection, shard) for shard in shards[:limit]]
    description: dict[str, Any] = {
        "StreamArn": stream.arn,
        "StreamLabel": stream.label,
        "StreamStatus": "ENABLED" if stream.ended is None else "DISABLED",
        "StreamViewType": stream.view,
        "CreationRequestDateTime": stream.created,
        "TableName": stream.table_name,
        "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in stream.keys],
        "Shards": described,
    }
    if len(shards) > limit:
        description["LastEvaluatedShardId"] = shards[limit - 1].id
    return {"StreamDescription": description}


def _filtered(shards: list[Shard], shard_filter: dict[str, Any] | None) -> list[Shard]:
    if not shard_filter:
        return shards
    if shard_filter.get("Type") is None or shard_filter.get("ShardId") is None:
        raise validation("ShardFilter must specify both Type and ShardId")
    return [shard for shard in shards if shard.parent == shard_filter["ShardId"]]


def _shard(connection: apsw.Connection, shard: Shard) -> dict[str, Any]:
    start, end = shard.sequence_numbers(connection)
    numbers = {"StartingSequenceNumber": changelog.sequence_number(start)}
    if end is not None:
        numbers["EndingSequenceNumber"] = changelog.sequence_number(end)
    response: dict[str, Any] = {"ShardId": shard.id, "SequenceNumberRange": numbers}
    if shard.parent is not None:
        response["ParentShardId"] = shard.parent
    return response


def get_shard_iterator(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """An iterator at a position in a shard, valid for fifteen minutes."""
    kind, number = request["ShardIteratorType"], request.get("SequenceNumber")
    _check_position(kind, number, request.get("Timestamp"))
    now = context.now()
    with context.database.snapshot() as connection:
        stream = _find_stream(connection, context, request["StreamArn"])
        shard = next((s for s in stream.shards(now) if s.id == request["ShardId"]), None)
        if shard is None:
            raise not_found("Requested resource not found: Shard does not exist")
        start, end = shard.sequence_range(connection)
        if kind == "TRIM_HORIZON":
            position = 0
        elif kind == "LATEST":
            position = end if end is not None else max(start, changelog.last_in_table(connection, stream.table_id) + 1)
        elif kind == "AT_TIMESTAMP":
            position = max(start, changelog.first_since(connection, stream.table_id, request["Timestamp"]))
        else:
            position = _position_of_number(connection, shard, number, kind, now)
    return {"ShardIterator": ShardIterator(stream.arn, shard.position, position, now).encode()}


def _check_position(kind: str, number: str | None, timestamp: float | None) -> None:
    if kind in {"AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"}:
        if number is None:
            raise invalid_parameter(f"SequenceNumber must be specified when ShardIteratorType is {kind}")
    elif number is not None:
        raise invalid_parameter(f"SequenceNumber must not be specified when ShardIteratorType is {kind}")
    if (kind == "AT_TIMESTAMP") != (timestamp is not None):
        raise invalid_parameter(f"Timestamp must {'not ' if timestamp is not None else ''}be specified when ShardIteratorType is {kind}")


def _position_of_number(connection: apsw.Connection, shard: Shard, number: str | None, kind: str, now: float) -> int:
    """The position of a sequence number in the shard."""
    seq = changelog.parse_sequence_number(number or "")
    first, last = shard.sequence_numbers(connection)
    if seq is None or seq < shard.stream.first or (last is not None and seq > last):
        raise validation(f"Invalid SequenceNumber: {number}")
    position = seq if kind == "AT_SEQUENCE_NUMBER" else seq + 1
    if seq < first:
        raise _trimmed()
    _check_not_trimmed(connection, shard.stream, position, now)
    return position


def get_records(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Read records from an iterator's position; returns the next iterator unless a closed shard was read to its end."""
    iterator = _decode_iterator(request["ShardIterator"])
    now = context.now()
    if now - iterator.created_at > VALID_SECONDS:
        raise EngineError("ExpiredIteratorException", "The shard iterator has expired and can no longer be used to retrieve stream records")
    limit = _limit(request, MAX_RECORDS)
    with context.database.snapshot() as connection:
        stream = _find_stream(connection, context, iterator.arn)
        if iterator.shard >= stream.shard_count(now):
            raise validation("Invalid ShardIterator")
        start, end = stream.shard(iterator.shard, now).sequence_range(connection)
        if iterator.seq:
            _check_not_trimmed(connection, stream, iterator.seq, now)
        start = max(start, iterator.seq, _horizon(connection, stream, now))
        records, after = _read(context, connection, stream, start, end, limit)
    response: dict[str, Any] = {"Records": records}
    if after is not None:
        response["NextShardIterator"] = ShardIterator(stream.arn, iterator.shard, after, now).encode()
    return response


def _read(
    context: Context, connection: apsw.Connection, stream: TableStream, start: int, end: int | None, limit: int
) -> tuple[list[dict[str, Any]], int | None]:
    """Records up to the limit or one megabyte, and the next position; None if no more can follow."""
    records: list[dict[str, Any]] = []
    total, after = 0, start
    for entry in changelog.changes_between(connection, stream.table_id, start, end, limit + 1):
        if len(records) == limit or total >= MAX_RECORD_BYTES:
            return records, after
        record = _record(context, stream, entry)
        records.append(record)
        total += record["dynamodb"]["SizeBytes"]
        after = entry.seq + 1
    return records, after if end is None else None


def _record(context: Context, stream: TableStream, entry: ChangeRecord) -> dict[str, Any]:
    old = parse_item(entry.old) if entry.old is not None else None
    new = parse_item(entry.new) if entry.new is not None else None
    some: Item = new or old or {}
    keys = {name: some[name] for name, _ in stream.keys}
    size = item_size(keys)
    change: dict[str, Any] = {"ApproximateCreationDateTime": int(entry.at), "Keys": keys}
    if new is not None and stream.view in {"NEW_IMAGE", "NEW_AND_OLD_IMAGES"}:
        change["NewImage"] = new
        size += item_size(new)
    if old is not None and stream.view in {"OLD_IMAGE", "NEW_AND_OLD_IMAGES"}:
        change["OldImage"] = old
        size += item_size(old)
    change |= {"SequenceNumber": changelog.sequence_number(entry.seq), "SizeBytes": size, "StreamViewType": stream.view}
    record: dict[str, Any] = {
        "eventID": md5(f"{stream.arn} {entry.seq}".encode(), usedforsecurity=False).hexdigest(),
        "eventName": "INSERT" if old is None else "REMOVE" if new is None else "MODIFY",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": stream.namespace.region,
        "dynamodb": change,
    }
    if entry.by_service:
        record["userIdentity"] = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    return record


def _horizon(connection: apsw.Connection, stream: TableStream, now: float) -> int:
    """The sequence number of the oldest readable change of a stream."""
    oldest = now - changelog.STREAM_SECONDS
    return stream.first if stream.created >= oldest else changelog.first_since(connection, stream.table_id, oldest)


def _check_not_trimmed(connection: apsw.Connection, stream: TableStream, position: int, now: float) -> None:
    """Refuse a position before trimmed records."""
    horizon = _horizon(connection, stream, now)
    if position <= stream.trimmed or (position < horizon and changelog.last_in_table(connection, stream.table_id, horizon) >= position):
        raise _trimmed()


def _trimmed() -> EngineError:
    return EngineError("TrimmedDataAccessException", "The data you are trying to access has been trimmed")


def _find_stream(connection: apsw.Connection, context: Context, arn: str) -> TableStream:
    stream = changelog.find_stream(connection, context.namespace, *_parse_arn(arn), context.now())
    if stream is None or stream.arn != arn:
        raise not_found(f"Requested resource not found: Stream: {arn} not found")
    return stream


def _parse_arn(arn: str) -> tuple[str, str]:
    """Table name and stream label from a stream's ARN."""
    parts = _ARN.fullmatch(arn)
    if parts is None:
        raise validation("Invalid StreamArn")
    return parts[1], parts[2]


def _limit(request: dict[str, Any], most: int) -> int:
    limit: int = request.get("Limit") or most
    if limit > most:
        raise invalid_parameter(f"Limit should be less than or equal to {most}")
    return limit


#: Lifetime of an iterator.
VALID_SECONDS = 15 * 60

_POSITION = Struct(">IQd")


@dataclass(frozen=True, slots=True)
class ShardIterator:
    """A position in a stream: the shard's ordinal, the sequence number to continue from (0 for the oldest), and the creation time."""

    arn: str
    shard: int
    seq: int
    created_at: float

    def encode(self) -> str:
        """The string that `GetShardIterator` returns."""
        position = urlsafe_b64encode(_POSITION.pack(self.shard, self.seq, self.created_at)).decode()
        return f"{self.arn}|1|{position}"


def _decode_iterator(text: str) -> ShardIterator:
    """Parse a string that `ShardIterator.encode` produced."""
    try:
        arn, version, position = text.split("|")
        shard, seq, created_at = _POSITION.unpack(urlsafe_b64decode(position))
    except (ValueError, error):
        raise validation("Invalid ShardIterator") from None
    if version != "1" or seq >= 2**63:
        raise validation("Invalid ShardIterator")
    return ShardIterator(arn, shard, seq, created_at)


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "ListStreams": list_streams,
    "DescribeStream": describe_stream,
    "GetShardIterator": get_shard_iterator,
    "GetRecords": get_records,
}
