"""The change log, which point-in-time recovery undoes and streams read, and its retention.

All tables share one sequence. Within a table, times increase with the sequence numbers, so that a point in time is found by bisection.

There is a stream for each time that a table's stream was enabled. Its records are a range of the table's changes, so that it outlives the
table. It is divided into consecutive shards, which are not stored: a stream starts a new one every few hours, and the limits of a shard
follow from the times in the log.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from math import inf, nextafter
from typing import Any, NamedTuple

import apsw
import orjson

from gateleg.engine.schema import Namespace, Table

DAY_SECONDS = 86400.0
#: How long the records of a stream can be read.
STREAM_SECONDS = DAY_SECONDS

#: Changes to trim per chunk.
_CHUNK_ROWS = 100


class ChangeRecord(NamedTuple):
    """One change of one item: sequence number, time, row before and row after."""

    seq: int
    at: float
    old: bytes | None
    new: bytes | None
    by_service: bool


def append(
    connection: apsw.Connection, table_id: int, at: float, key: bytes, old: bytes | None, new: bytes | None, by_service: bool
) -> None:
    """Log a change. If the clock was set back, it gets the time of the table's latest change, so that times never decrease."""
    connection.execute(
        "INSERT INTO changes(table_id, at, k, old, new, by_service) VALUES (?1, max(?2, coalesce("
        "(SELECT at FROM changes WHERE table_id = ?1 ORDER BY seq DESC LIMIT 1), ?2)), ?3, ?4, ?5, ?6)",
        (table_id, at, key, old, new, by_service),
    )


def track_log(connection: apsw.Connection, table_id: int, logged: bool) -> None:
    """Record since when a table's changes have been logged without a gap."""
    if logged:
        connection.execute("INSERT OR IGNORE INTO logs VALUES (?, ?)", (table_id, last_change(connection) + 1))
    else:
        connection.execute("DELETE FROM logs WHERE table_id = ?", (table_id,))


def complete_since(connection: apsw.Connection, table_id: int) -> int | None:
    """The sequence number since which the log has every change of a table; None if its changes are not logged."""
    row = connection.execute("SELECT first FROM logs WHERE table_id = ?", (table_id,)).fetchone()
    return int(row[0]) if row else None


def last_change(connection: apsw.Connection) -> int:
    """The latest sequence number of all tables, whether trimmed or not."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").fetchone()
    return int(row[0]) if row else 0


def last_in_table(connection: apsw.Connection, table_id: int, before: int | None = None) -> int:
    """A table's latest sequence number, optionally below `before`; 0 if there is none."""
    row = connection.execute(
        "SELECT seq FROM changes WHERE table_id = ? AND seq < ? ORDER BY seq DESC LIMIT 1", (table_id, before or 2**63 - 1)
    ).fetchone()
    return int(row[0]) if row else 0


def first_since(connection: apsw.Connection, table_id: int, at: float) -> int:
    """The sequence number of a table's first change at or after a time; if there is none yet, a lower bound for its next change."""
    oldest = _first_at_or_after(connection, table_id, 0)
    if oldest is None:
        return last_change(connection) + 1
    low, high = oldest[0], last_in_table(connection, table_id) + 1
    while low < high:
        middle = (low + high) // 2
        change = _first_at_or_after(connection, table_id, middle)
        if change is None or change[1] >= at:
            high = middle
        else:
            low = change[0] + 1
    return low


def first_after(connection: apsw.Connection, table_id: int, at: float) -> int:
    """`first_since`, excluding changes at that very time."""
    return first_since(connection, table_id, nextafter(at, inf))


def _first_at_or_after(connection: apsw.Connection, table_id: int, seq: int) -> tuple[int, float] | None:
    row = connection.execute("SELECT seq, at FROM changes WHERE table_id = ? AND seq >= ? ORDER BY seq LIMIT 1", (table_id, seq)).fetchone()
    return (row[0], row[1]) if row else None


def changes_between(connection: apsw.Connection, table_id: int, start: int, end: int | None, limit: int) -> Iterator[ChangeRecord]:
    """A table's changes in a range of sequence numbers (end exclusive), in order."""
    rows = connection.execute(
        "SELECT seq, at, old, new, by_service FROM changes WHERE table_id = ? AND seq >= ? AND seq < ? ORDER BY seq LIMIT ?",
        (table_id, start, 2**63 - 1 if end is None else end, limit),
    )
    for seq, at, old, new, by_service in rows:
        yield ChangeRecord(seq, at, old, new, bool(by_service))


def reversed_changes(connection: apsw.Connection, table_id: int, start: int, end: int, limit: int) -> list[tuple[int, bytes, bytes | None]]:
    """A table's changes in a range of sequence numbers (end exclusive), latest first: number, key, row before."""
    rows: list[Any] = connection.execute(
        "SELECT seq, k, old FROM changes WHERE table_id = ? AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?",
        (table_id, start, end, limit),
    ).fetchall()
    return rows


def rows_before(connection: apsw.Connection, table_id: int, start: int) -> Iterator[tuple[bytes, bytes | None]]:
    """The key of each row changed since a sequence number, in key order, with the row before."""
    rows = connection.execute(
        "SELECT k, old, min(seq) FROM changes WHERE table_id = ? AND seq >= ? GROUP BY k ORDER BY k", (table_id, start)
    )
    for key, old, _ in rows:
        yield key, old


def net_changes(connection: apsw.Connection, table_id: int, start: int, end: int) -> Iterator[tuple[bytes | None, bytes | None, float]]:
    """For each row changed in a range of sequence numbers, in key order: row before, row after, time of the last change."""
    where = "FROM changes WHERE table_id = ? AND seq >= ? AND seq < ? GROUP BY k ORDER BY k"
    before = connection.execute(f"SELECT k, old, min(seq) {where}", (table_id, start, end))
    after = connection.execute(f"SELECT k, new, at, max(seq) {where}", (table_id, start, end))
    for (_, old, _), (_, new, at, _) in zip(before, after, strict=True):
        yield old, new, at


def logged_tables(connection: apsw.Connection) -> list[int]:
    """The ids of all tables with changes in the log, including deleted tables."""
    table_ids: list[int] = []
    while True:
        row = connection.execute("SELECT min(table_id) FROM changes WHERE table_id > ?", (table_ids[-1] if table_ids else -1,)).fetchone()
        if row is None or row[0] is None:
            return table_ids
        table_ids.append(row[0])


def has_older(connection: apsw.Connection, table_id: int, before: float) -> bool:
    """Whether the log has changes of a table from before a time."""
    oldest = _first_at_or_after(connection, table_id, 0)
    return oldest is not None and oldest[1] < before


def _needed_since(connection: apsw.Connection, table_id: int) -> int:
    """The sequence number from which a restore in progress will undo a table's changes."""
    row = connection.execute("SELECT min(cut) FROM copies WHERE table_id = ?", (table_id,)).fetchone()
    return 2**63 - 1 if row is None or row[0] is None else int(row[0])


def trim(connection: apsw.Connection, table_id: int, before: float) -> bool:
    """Delete a chunk of a table's changes from before a time; returns whether there may be more."""
    horizon = min(first_since(connection, table_id, before), _needed_since(connection, table_id))
    rows = connection.execute(
        "SELECT seq FROM changes WHERE table_id = ? AND seq < ? ORDER BY seq LIMIT ?", (table_id, horizon, _CHUNK_ROWS)
    ).fetchall()
    if not rows:
        return False
    highest = rows[-1][0]
    connection.execute("DELETE FROM changes WHERE table_id = ? AND seq <= ?", (table_id, highest))
    connection.execute("UPDATE streams SET trimmed = ? WHERE table_id = ?", (highest, table_id))
    return len(rows) == _CHUNK_ROWS


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
            if shard.ends is None or shard.ends > now - STREAM_SECONDS:
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
            start = max(start, first_since(connection, stream.table_id, self.begins))
        if self.ends is None:
            return start, None
        if self.ends == stream.ended:
            assert stream.last is not None
            return start, stream.last + 1
        return start, first_since(connection, stream.table_id, self.ends)

    def sequence_numbers(self, connection: apsw.Connection) -> tuple[int, int | None]:
        """The shard's first sequence number and, if it is closed, its last, as in descriptions."""
        start, end = self.sequence_range(connection)
        stream = self.stream
        if self.position:
            start = max(stream.first, stream.trimmed + 1, last_in_table(connection, stream.table_id, start) + 1)
        if end is None:
            return start, None
        return start, max(start, last_in_table(connection, stream.table_id, end))


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


def sync_streams(connection: apsw.Connection, table: Table, now: float) -> None:
    """Update the list of streams after a table was created or changed."""
    last = last_change(connection)
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


def end_stream(connection: apsw.Connection, table: Table, now: float) -> None:
    """End the stream of a table that is about to be deleted; its records stay."""
    connection.execute(
        "UPDATE streams SET ended = ?, last = ? WHERE table_id = ? AND ended IS NULL", (now, last_change(connection), table.id)
    )


_COLUMNS = "account, region, name, label, table_id, view, keys, created, first, ended, last, trimmed"


def find_stream(connection: apsw.Connection, namespace: Namespace, name: str, label: str, now: float) -> TableStream | None:
    """A stream by its table's name and its label."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM streams WHERE account = ? AND region = ? AND name = ? AND label = ? AND (ended IS NULL OR ended > ?)",
        (namespace.account, namespace.region, name, label, now - STREAM_SECONDS),
    ).fetchone()
    return _stream(row) if row else None


def list_streams(
    connection: apsw.Connection, namespace: Namespace, name: str | None, after: tuple[str, str], limit: int, now: float
) -> list[TableStream]:
    """Streams of a namespace, or of one table, in order of table and label, after the given one."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM streams WHERE account = ? AND region = ? AND (name, label) > (?, ?) AND name = coalesce(?, name) "
        "AND (ended IS NULL OR ended > ?) ORDER BY name, label LIMIT ?",
        (namespace.account, namespace.region, *after, name, now - STREAM_SECONDS, limit),
    )
    return [_stream(row) for row in rows]


def any_stream_expired(connection: apsw.Connection, now: float) -> bool:
    """Whether there are streams past their retention."""
    return connection.execute("SELECT 1 FROM streams WHERE ended <= ? LIMIT 1", (now - STREAM_SECONDS,)).fetchone() is not None


def delete_expired_streams(connection: apsw.Connection, now: float) -> None:
    """Delete the streams past their retention."""
    connection.execute("DELETE FROM streams WHERE ended <= ?", (now - STREAM_SECONDS,))


def _stream(row: tuple[object, ...]) -> TableStream:
    account, region, name, label, table_id, view, keys, *rest = row
    pairs = tuple((n, t) for n, t in orjson.loads(keys))  # type: ignore[arg-type]
    return TableStream(Namespace(account, region), name, label, table_id, view, pairs, *rest)  # type: ignore[arg-type]
