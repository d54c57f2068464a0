"""Locks that processes share: they expire unless renewed, and have a fencing token.

    store.ensure_tables(locks)
    with store.lock("nightly-export", seconds=60) as lock:
        ...                                             store.run(renew(lock, seconds=60)) while the work continues
        store.put(report, condition=Report.fence < lock.fence)

A holder that is suspended may lose the lock without noticing. The fence, which increases with each holder, protects against its late
writes: make them conditional on it, as above. For the fence to increase, a lock's item is never deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from gateleg.model import Attr, Entity, Key, Table, field
from gateleg.store.errors import ConditionFailed, LockHeld, LockLost, NotFound
from gateleg.store.operations.operation import Operation, check_seconds
from gateleg.store.operations.write_operation import Delete, Patch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import BaseModel

    from gateleg.model.keys import KeyPlan
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["Lock", "acquire", "locks", "release", "renew"]

locks = Table("GatelegLocks", hash="name")


class Lock(Entity, table=locks, defer_build=True):
    """A lock: its holder, and the time until which it is held."""

    name: Attr[str]
    holder: Attr[str]
    until: Attr[datetime]
    #: the fencing token: greater for each new holder
    fence: Attr[int] = field(0)

    key = Key("{name}")


def acquire(name: str, /, *, seconds: float, holder: str | None = None) -> Operation[Lock]:
    """Acquire a lock for a number of seconds. `holder` is the holder's name in errors (default: a random one). Raises `LockHeld`."""
    return Acquire(name, check_seconds("lock", seconds), holder)


def renew(lock: Lock, /, *, seconds: float) -> Operation[Lock]:
    """Extend a lock to a number of seconds from now. Raises `LockLost` if it has a new holder."""
    return Renew(lock, check_seconds("renew", seconds))


def release(lock: Lock, /) -> Operation[None]:
    """Release a lock. Does nothing if the lock was already lost."""
    return Release(lock)


@dataclass(frozen=True, slots=True)
class Acquire(Operation[Lock]):
    """Acquire a lock."""

    name: str
    seconds: float
    holder: str | None = None

    def flow(self, setup: Setup) -> Flow[Lock]:
        """One update, on condition that the lock is free."""
        now = setup.now()
        until = now + timedelta(seconds=self.seconds)
        actions = (Lock.holder.set(self.holder or setup.token()), Lock.until.set(until), Lock.fence.add(1))
        free = Lock.until.missing() | (Lock.until <= now)
        try:
            lock: Lock = yield from Patch(Lock.key(name=self.name), actions, "upsert", condition=free).flow(setup)
        except ConditionFailed as refused:
            current: Lock | None = refused.current
            holder = f"{current.holder} until {current.until:%H:%M:%S}" if current is not None else "another holder"
            raise LockHeld(f"{self.name!r} is held by {holder}.") from refused
        return lock

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The lock's own item."""
        return Delete(Lock.key(name=self.name)).partitions()


@dataclass(frozen=True, slots=True)
class Renew(Operation[Lock]):
    """Renew a lock."""

    lock: Lock
    seconds: float

    def flow(self, setup: Setup) -> Flow[Lock]:
        """One update, on condition that the lock has no new holder."""
        until = setup.now() + timedelta(seconds=self.seconds)
        mine = Lock.fence == self.lock.fence
        try:
            lock: Lock = yield from Patch(self.lock.key, (Lock.until.set(until),), condition=mine).flow(setup)
        except (ConditionFailed, NotFound) as refused:
            raise LockLost(f"{self.lock.name!r} was taken over or released.") from refused
        return lock

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The lock's own item."""
        return Delete(self.lock.key).partitions()


@dataclass(frozen=True, slots=True)
class Release(Operation[None]):
    """Release a lock."""

    lock: Lock

    def flow(self, setup: Setup) -> Flow[None]:
        """Let the lock expire now. Its item is kept, so that the next holder's fence is greater."""
        try:
            yield from Patch(self.lock.key, (Lock.until.set(setup.now()),), condition=Lock.fence == self.lock.fence).flow(setup)
        except (ConditionFailed, NotFound):
            # Already lost: nothing to release.
            return

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The lock's own item."""
        return Delete(self.lock.key).partitions()
