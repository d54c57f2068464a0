"""The shards of table streams: reading their records, and the leases that give each shard to one process.

Clocks of different processes are never compared. Each write of the owner increments the lease's counter; a process that sees the counter
unchanged for the duration of a lease, by its own clock, may take the shard over. Each write requires the last written counter, so an owner
that lost its lease can neither renew it nor write a checkpoint. The leases, checkpoints and failed changes are in a table of their own.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from gateleg.model import TTL, Attr, Compressed, Entity, Key, Pattern, Table, field
from gateleg.store import AlreadyExists, ConditionFailed, NotFound
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.model import UpdateAction
    from gateleg.store import AsyncStore

_log = logging.getLogger("gateleg.jobs.streams")

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
    shards: list[Shard] = []
    request: dict[str, Any] = {"TableName": store.setup.name_of(table)}
    while True:
        try:
            response = await store.transport.call("ListStreams", request)
        except ServiceError as error:
            if error.code in _GONE:
                return shards
            raise
        for stream in response["Streams"]:
            shards += await _shards_of_stream(store, table, stream["StreamArn"])
        if "LastEvaluatedStreamArn" not in response:
            return shards
        request["ExclusiveStartStreamArn"] = response["LastEvaluatedStreamArn"]


async def _shards_of_stream(store: AsyncStore, table: Table, arn: str) -> list[Shard]:
    shards: list[Shard] = []
    request: dict[str, Any] = {"StreamArn": arn}
    while True:
        try:
            described = (await store.transport.call("DescribeStream", request))["StreamDescription"]
        except ServiceError as error:
            if error.code in _GONE:
                return shards
            raise
        shards += [
            Shard(table.name, arn, described_shard["ShardId"], described_shard.get("ParentShardId"))
            for described_shard in described.get("Shards", ())
        ]
        if "LastEvaluatedShardId" not in described:
            return shards
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
    iterator: str = response["ShardIterator"]
    return iterator


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


stream_table = Table("GatelegStreams", hash="pk", range="sk", tag="kind")


class ShardLease(Entity, table=stream_table, tag="shard", defer_build=True):
    """The lease and checkpoint of a shard, for one consumer."""

    consumer: Attr[str]
    #: the ARN of the stream
    stream: Attr[str]
    shard: Attr[str]
    #: the declared name of the table
    table: Attr[str]
    #: the parent shard, which is read before this one
    parent: Attr[str | None] = field(None)
    #: the process that reads it; empty if none does
    owner: Attr[str] = field("")
    #: incremented by each write of the owner; if it stays unchanged for the duration of a lease, another process may take the shard over
    counter: Attr[int] = field(0)
    #: the sequence number of the last change that was handled
    checkpoint: Attr[str | None] = field(None)
    handled: Attr[int] = field(0)
    #: whether the shard is finished
    done: Attr[bool] = field(False)
    #: when the item of a finished shard expires; later than the shard itself
    expires_at: Attr[TTL | None] = field(None)

    key = Key("CONSUMER#{consumer}", "SHARD#{stream}#{shard}")
    of_consumer = Pattern(title="The shards of a consumer")


class FailedChange(Entity, table=stream_table, tag="failed", defer_build=True):
    """A change for which all attempts of a handler failed."""

    consumer: Attr[str]
    event_id: Attr[str]
    handler: Attr[str]
    table: Attr[str]
    #: the stream record as it was read
    record: Attr[Compressed[dict[str, Any]]]
    error: Attr[str] = field("", max_length=4000)
    attempts: Attr[int] = field(0)
    failed_at: Attr[datetime]

    key = Key("CONSUMER#{consumer}", "FAILED#{event_id}#{handler}")
    of_consumer = Pattern(title="The failed changes of a consumer")


#: How long the lease of a finished shard is kept: longer than streams keep records.
_LEASE_RETENTION = timedelta(days=3)


class LeaseTaken(Exception):
    """Another process has taken the lease of the shard."""


@dataclass
class HeldShard:
    """A shard that this process reads."""

    lease: ShardLease
    #: when the lease was last written, by this process's clock
    renewed: float
    #: the shard iterator; None if a new one is needed
    iterator: str | None = None
    lost: bool = False
    writing: asyncio.Lock = dataclasses.field(default_factory=asyncio.Lock)


class ShardLeases:
    """The shard leases of one consumer, as seen by one of its processes."""

    def __init__(self, store: AsyncStore, consumer: str, process: str, seconds: float) -> None:
        self._store = store
        self.consumer = consumer
        self.process = process
        self.seconds = seconds
        #: the counter of each lease, and when this process first saw that value
        self._seen: dict[str, tuple[int, float]] = {}

    async def known(self, shards: Sequence[Shard]) -> list[ShardLease]:
        """The leases of all existing shards. Creates leases for new shards, and ends leases of shards that no longer exist."""
        stored = self._store.query(ShardLease.of_consumer, consumer=self.consumer, consistent=True)
        leases = {_name(lease.stream, lease.shard): lease async for lease in stored}
        for shard in shards:
            if _name(shard.stream, shard.id) not in leases:
                lease = ShardLease(consumer=self.consumer, stream=shard.stream, shard=shard.id, table=shard.table, parent=shard.parent)
                try:
                    leases[_name(shard.stream, shard.id)] = await self._store.create(lease)
                except AlreadyExists as error:
                    leases[_name(shard.stream, shard.id)] = error.current or lease
        known = [leases.pop(_name(shard.stream, shard.id)) for shard in shards]
        for lost in leases.values():
            if not lost.done:
                await self._give_up(lost)
        return known

    async def _give_up(self, lease: ShardLease) -> None:
        """End the lease of a shard that expired from its stream before it was read completely."""
        since = lease.checkpoint or "its beginning"
        _log.error(
            "a shard of %s has expired unread; its changes after %s, if any, are lost: it was not read for a day", lease.table, since
        )
        held = await self.take(lease)
        if held is not None:
            await self.finish(held)

    def is_free(self, lease: ShardLease) -> bool:
        """Whether a shard has no reader, according to what this process has seen."""
        now, name = self._store.setup.ticks(), _name(lease.stream, lease.shard)
        counter, since = self._seen.get(name, (lease.counter, now))
        if counter != lease.counter:
            since = now
        self._seen[name] = (lease.counter, since)
        return not lease.owner or lease.owner == self.process or now - since >= self.seconds

    async def take(self, lease: ShardLease) -> HeldShard | None:
        """Take the lease of a shard. Returns None if another process was faster."""
        try:
            seen = ShardLease.counter == lease.counter
            actions = (ShardLease.owner.set(self.process), ShardLease.counter.set(lease.counter + 1))
            taken = await self._store.patch(lease.key, *actions, condition=seen)
        except (ConditionFailed, NotFound):
            return None
        return HeldShard(taken, self._store.setup.ticks())

    async def write(self, held: HeldShard, *actions: UpdateAction) -> None:
        """Renew a lease, with changes. Raises `LeaseTaken` if the shard has another owner."""
        async with held.writing:
            lease = held.lease
            mine: Any = (ShardLease.counter == lease.counter) & (ShardLease.owner == self.process)
            try:
                held.lease = await self._store.patch(lease.key, ShardLease.counter.set(lease.counter + 1), *actions, condition=mine)
            except (ConditionFailed, NotFound):
                held.lost = True
                raise LeaseTaken from None
            held.renewed = self._store.setup.ticks()

    async def checkpoint(self, held: HeldShard, sequence: str, handled: int) -> None:
        """Record the last handled change of a shard."""
        await self.write(held, ShardLease.checkpoint.set(sequence), ShardLease.handled.add(handled))

    async def finish(self, held: HeldShard) -> None:
        """Record that a shard is finished, and release it."""
        until = self._store.setup.now() + _LEASE_RETENTION
        await self.write(held, ShardLease.done.set(True), ShardLease.owner.set(""), ShardLease.expires_at.set(until))

    async def release(self, held: HeldShard) -> None:
        """Release a shard, so that other processes need not wait for the lease to expire."""
        await self.write(held, ShardLease.owner.set(""))

    def is_held(self, held: HeldShard) -> bool:
        """Whether the lease was renewed so recently that no other process can have taken it."""
        return not held.lost and self._store.setup.ticks() - held.renewed < self.seconds


def _name(stream: str, shard: str) -> str:
    return f"{stream} {shard}"


def ready_to_read(leases: Sequence[ShardLease]) -> list[ShardLease]:
    """The shards that may be read: unfinished ones whose parent is finished or no longer exists."""
    unfinished = {_name(lease.stream, lease.shard) for lease in leases if not lease.done}
    return [lease for lease in leases if not lease.done and (lease.parent is None or _name(lease.stream, lease.parent) not in unfinished)]
