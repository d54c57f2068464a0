"""Leases of shards: exactly one process reads a shard, and only the owner's writes succeed.

Clocks of different processes are never compared. Each write of the owner increments the lease's counter; a process that sees the counter
unchanged for the duration of a lease, by its own clock, may take the shard over. Each write requires the last written counter, so an owner
that lost its lease can neither renew it nor write a checkpoint.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gateleg.jobs.table_streams.tables import ShardLease
from gateleg.store import AlreadyExists, ConditionFailed, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.jobs.table_streams.shards import Shard
    from gateleg.model import Action
    from gateleg.store import AsyncStore

_log = logging.getLogger("gateleg.jobs.streams")
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
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)


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
        found = [leases.pop(_name(shard.stream, shard.id)) for shard in shards]
        for lost in leases.values():
            if not lost.done:
                await self._give_up(lost)
        return found

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

    async def write(self, held: HeldShard, *actions: Action) -> None:
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
