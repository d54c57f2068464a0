"""Streams: one for each time that a table's stream was enabled, divided into consecutive shards.

A stream's records are a range of the table's changes in the change log, so that a stream outlives its table. Shards are not stored: a
stream starts a new one every few hours, and the limits of a shard follow from the times in the log.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

import apsw
import orjson

from gateleg.engine import changelog
from gateleg.engine.schema import Namespace, Table

#: Lifetime of a shard before the next one starts.
SHARD_SECONDS = 4 * 3600.0

#: Added to the log's sequence numbers on the wire, so that they have as many digits as DynamoDB's and the same order.
_SEQUENCE_NUMBER_BASE = 10**26


@dataclass(frozen=True, slots=True)
class TableStream:
    """A stream, enabled or not: its table, its view type, and its range of sequence numbers."""

    namespace: Namespace
    table_name: str
    label: str
    table_id: int
    view: str
    #: names and KeyTypes of the table's key
    keys: tuple[tuple[str, str], ...]
    created: float
    first: int
    ended: float | None
    last: int | None
    #: the table's highest trimmed sequence number
    trimmed: int

    @property
    def arn(self) -> str:
        """The stream's ARN."""
        return self.namespace.arn(f"table/{self.table_name}/stream/{self.label}")

    def shard_count(self, now: float) -> int:
        """How many shards the stream has started."""
        until = now if self.ended is None else self.ended
        return int(max(0.0, until - self.created) // SHARD_SECONDS) + 1

    def shard(self, position: int, now: float) -> "Shard":
        """The shard at a position, counted from the first."""
        begins = self.created + position * SHARD_SECONDS
        final = position == self.shard_count(now) - 1
        ends = self.ended if final else begins + SHARD_SECONDS
        return Shard(self, position, begins, ends)

    def shards(self, now: float) -> Iterator["Shard"]:
        """The shards whose records can still be read, in order."""
        for position in range(self.shard_count(now)):
            shard = self.shard(position, now)
            if shard.ends is None or shard.ends > now - changelog.STREAM_SECONDS:
                yield shard


@dataclass(frozen=True, slots=True)
class Shard:
    """A period of a stream; open as long as it has no end."""

    stream: TableStream
    position: int
    begins: float
    ends: float | None

    @property
    def id(self) -> str:
        """The shard's id: its start time and a hash."""
        return _shard_id(self.stream, self.position)

    @property
    def parent(self) -> str | None:
        """The id of the preceding shard, if there is one."""
        return _shard_id(self.stream, self.position - 1) if self.position else None

    def sequence_range(self, connection: apsw.Connection) -> tuple[int, int | None]:
        """The shard's range of sequence numbers (end exclusive; None for an open shard)."""
        stream = self.stream
        start = stream.first
        if self.position:
            start = max(start, changelog.first_since(connection, stream.table_id, self.begins))
        if self.ends is None:
            return start, None
        if self.ends == stream.ended:
            assert stream.last is not None
            return start, stream.last + 1
        return start, changelog.first_since(connection, stream.table_id, self.ends)

    def sequence_numbers(self, connection: apsw.Connection) -> tuple[int, int | None]:
        """The shard's first sequence number and, if it is closed, its last, as in descriptions."""
        start, end = self.sequence_range(connection)
        stream = self.stream
        if self.position:
            start = max(stream.first, stream.trimmed + 1, changelog.last_in_table(connection, stream.table_id, start) + 1)
        if end is None:
            return start, None
        return start, max(start, changelog.last_in_table(connection, stream.table_id, end))


def _shard_id(stream: TableStream, position: int) -> str:
    begins = int((stream.created + position * SHARD_SECONDS) * 1000)
    return f"shardId-{begins:020d}-{sha256(f'{stream.table_id} {stream.label} {position}'.encode()).hexdigest()[:8]}"


def sequence_number(seq: int) -> str:
    """A sequence number in its wire form."""
    return str(_SEQUENCE_NUMBER_BASE + seq)


def parse_sequence_number(text: str) -> int | None:
    """Parse a sequence number from the wire; None if it is invalid."""
    if not text.isascii() or not text.isdecimal():
        return None
    seq = int(text) - _SEQUENCE_NUMBER_BASE
    return seq if 0 <= seq < 2**63 else None


def sync(connection: apsw.Connection, table: Table, now: float) -> None:
    """Update the list of streams after a table was created or changed."""
    last = changelog.last(connection)
    connection.execute(
        "UPDATE streams SET ended = ?, last = ? WHERE table_id = ? AND ended IS NULL AND label IS NOT ?",
        (now, last, table.id, table.stream_label if table.stream else None),
    )
    if table.stream is None:
        return
    where = (table.namespace.account, table.namespace.region, table.name, table.stream_label)
    known = connection.execute(
        "SELECT table_id, ended FROM streams WHERE account = ? AND region = ? AND name = ? AND label = ?", where
    ).fetchone()
    if known != (table.id, None):
        keys = orjson.dumps([(e["AttributeName"], e["KeyType"]) for e in table.keys.wire()]).decode()
        connection.execute(
            "INSERT OR REPLACE INTO streams(account, region, name, label, table_id, view, keys, created, first) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*where, table.id, table.stream, keys, now, last + 1),
        )


def close(connection: apsw.Connection, table: Table, now: float) -> None:
    """End the stream of a table that is about to be deleted; its records stay."""
    connection.execute(
        "UPDATE streams SET ended = ?, last = ? WHERE table_id = ? AND ended IS NULL", (now, changelog.last(connection), table.id)
    )


_COLUMNS = "account, region, name, label, table_id, view, keys, created, first, ended, last, trimmed"


def find(connection: apsw.Connection, namespace: Namespace, name: str, label: str, now: float) -> TableStream | None:
    """A stream by its table's name and its label."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM streams WHERE account = ? AND region = ? AND name = ? AND label = ? AND (ended IS NULL OR ended > ?)",
        (namespace.account, namespace.region, name, label, now - changelog.STREAM_SECONDS),
    ).fetchone()
    return _stream(row) if row else None


def list_streams(
    connection: apsw.Connection, namespace: Namespace, name: str | None, after: tuple[str, str], limit: int, now: float
) -> list[TableStream]:
    """Streams of a namespace, or of one table, in order of table and label, after the given one."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM streams WHERE account = ? AND region = ? AND (name, label) > (?, ?) AND name = coalesce(?, name) "
        "AND (ended IS NULL OR ended > ?) ORDER BY name, label LIMIT ?",
        (namespace.account, namespace.region, *after, name, now - changelog.STREAM_SECONDS, limit),
    )
    return [_stream(row) for row in rows]


def any_ended(connection: apsw.Connection, now: float) -> bool:
    """Whether there are streams past their retention."""
    return connection.execute("SELECT 1 FROM streams WHERE ended <= ? LIMIT 1", (now - changelog.STREAM_SECONDS,)).fetchone() is not None


def delete_ended(connection: apsw.Connection, now: float) -> None:
    """Delete the streams past their retention."""
    connection.execute("DELETE FROM streams WHERE ended <= ?", (now - changelog.STREAM_SECONDS,))


def _stream(row: tuple[object, ...]) -> TableStream:
    account, region, name, label, table_id, view, keys, *rest = row
    pairs = tuple((n, t) for n, t in orjson.loads(keys))  # type: ignore[arg-type]
    return TableStream(Namespace(account, region), name, label, table_id, view, pairs, *rest)  # type: ignore[arg-type]
