"""Leases of shards: exactly one process reads a shard, and only what it writes as its owner counts.

Nobody compares clocks. A lease's counter moves with everything that its owner writes; whoever sees it stand still for the time of a lease,
by a clock of its own, may take the shard. Each write demands the counter that was written last, so an owner that was taken for lost can
neither renew nor move the checkpoint.
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
#: How long a shard that is done is remembered: longer than streams keep records.
_REMEMBERED = timedelta(days=3)


class LeaseTaken(Exception):
    """Another process reads the shard now."""


@dataclass
class HeldShard:
    """A shard that this process reads."""

    lease: ShardLease
    #: when the lease was written last, by this process's clock
    renewed: float
    #: where the reading goes on; None when it must be found again
    iterator: str | None = None
    lost: bool = False
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)


class ShardLeases:
    """The leases of one consumer, as one of its processes sees them."""

    def __init__(self, store: AsyncStore, consumer: str, process: str, seconds: float) -> None:
        self._store = store
        self.consumer = consumer
        self.process = process
        self.seconds = seconds
        #: the counter of each lease, and when it was first seen to have that value
        self._seen: dict[str, tuple[int, float]] = {}

    async def known(self, shards: Sequence[Shard]) -> list[ShardLease]:
        """The leases of all shards that there are; those of new ones are written, and those of shards that are gone are ended."""
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
        """End the lease of a shard that its stream has forgotten before it was read to its end."""
        since = lease.checkpoint or "its beginning"
        _log.error("a shard of %s is gone; changes after %s are lost if there were any: nobody has read it for a day", lease.table, since)
        held = await self.take(lease)
        if held is not None:
            await self.finish(held)

    def is_free(self, lease: ShardLease) -> bool:
        """Whether nobody reads a shard, as far as this process can tell."""
        now, name = self._store.setup.ticks(), _name(lease.stream, lease.shard)
        counter, since = self._seen.get(name, (lease.counter, now))
        if counter != lease.counter:
            since = now
        self._seen[name] = (lease.counter, since)
        return not lease.owner or lease.owner == self.process or now - since >= self.seconds

    async def take(self, lease: ShardLease) -> HeldShard | None:
        """Become the owner of a shard; None when somebody else was faster."""
        try:
            seen = ShardLease.counter == lease.counter
            actions = (ShardLease.owner.set(self.process), ShardLease.counter.set(lease.counter + 1))
            taken = await self._store.patch(lease.key, *actions, condition=seen)
        except (ConditionFailed, NotFound):
            return None
        return HeldShard(taken, self._store.setup.ticks())

    async def write(self, held: HeldShard, *actions: Action) -> None:
        """Renew a lease, with changes of it: refused with `LeaseTaken` when the shard has another owner."""
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
        """Note how far a shard has been handled."""
        await self.write(held, ShardLease.checkpoint.set(sequence), ShardLease.handled.add(handled))

    async def finish(self, held: HeldShard) -> None:
        """Note that all of a shard has been handled, and give it up."""
        until = self._store.setup.now() + _REMEMBERED
        await self.write(held, ShardLease.done.set(True), ShardLease.owner.set(""), ShardLease.expires_at.set(until))

    async def release(self, held: HeldShard) -> None:
        """Give a shard up, so that others need not wait."""
        await self.write(held, ShardLease.owner.set(""))

    def is_held(self, held: HeldShard) -> bool:
        """Whether nobody can have taken the shard since it was renewed."""
        return not held.lost and self._store.setup.ticks() - held.renewed < self.seconds


def _name(stream: str, shard: str) -> str:
    return f"{stream} {shard}"


def ready_to_read(leases: Sequence[ShardLease]) -> list[ShardLease]:
    """The shards that may be read: not done, and their parent is done or no longer there."""
    unfinished = {_name(lease.stream, lease.shard) for lease in leases if not lease.done}
    return [lease for lease in leases if not lease.done and (lease.parent is None or _name(lease.stream, lease.parent) not in unfinished)]
