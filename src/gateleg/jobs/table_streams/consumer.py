"""`TableStreams`: an application's handlers for the changes of its entities. `StreamConsumer` reads the streams and calls them.

Streams are read shard by shard. A record is delivered to each handler that wants it, and stored as failed for those that raise.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args
from uuid import uuid4

from gateleg.jobs.errors import BadHandler, HandlerTaken
from gateleg.jobs.rules import is_name
from gateleg.jobs.table_streams.shards import (
    FailedChange,
    HeldShard,
    LeaseTaken,
    RecordBatch,
    ShardLeases,
    Trimmed,
    iterator_after,
    read_records,
    ready_to_read,
    shards_of,
    stream_table,
)
from gateleg.model import Change, ModelError, read_change, spec_of
from gateleg.store import StoreError
from gateleg.store.operations.reads import is_legacy, upcast_item, with_current_key
from gateleg.store.transports import ServiceError, Unreachable
from gateleg.store.transports.embedded import AsyncEmbeddedTransport

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pydantic import BaseModel

    from gateleg.jobs.table_streams.shards import ShardLease
    from gateleg.model import Item, Spec, Table
    from gateleg.store import AsyncStore

_log = logging.getLogger("gateleg.jobs.streams")

#: Records per GetRecords request.
_BATCH = 100
#: Seconds between two reads of an idle shard: of an engine in this process, and of a service that bills requests.
_EMBEDDED_POLL_SECONDS, _REMOTE_POLL_SECONDS = 0.1, 1.0
#: Seconds between two searches for new shards and for shards without a reader.
_DISCOVERY_SECONDS = 5.0
#: Seconds after which a checkpoint is written in the middle of a batch.
_CHECKPOINT_SECONDS = 1.0
Kind = Literal["created", "changed", "deleted"]
HandleChange = Callable[[Change], Awaitable[object]]
F = TypeVar("F", bound=HandleChange)
_KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class ChangeHandler:
    """A function for the changes of one entity."""

    name: str
    entity: type[BaseModel]
    handle: HandleChange
    kinds: tuple[Kind, ...] = _KINDS
    #: whether deletions must be by TTL (True), by programs (False), or either (None)
    expired: bool | None = None

    def wants(self, change: Change) -> bool:
        """Whether the handler is to be called with a change."""
        if change.entity is not self.entity or change.kind not in self.kinds:
            return False
        return self.expired is None or (change.kind == "deleted" and change.expired is self.expired)


class TableStreams:
    """The registry of an application's handlers for changes of its entities. Their tables must have streams.

    Changes of one item are delivered in order, each at least once: a change whose handler was interrupted is delivered again, with the same
    `change.event_id`, so that handlers can be idempotent. A failing handler is tried `attempts` times; then the change is stored with the
    error (a dead letter, see `StreamConsumer.failed`), and the next changes are delivered.
    """

    def __init__(self, *, attempts: int = 3) -> None:
        self.attempts = attempts
        self._handlers: dict[str, ChangeHandler] = {}

    def on(
        self,
        entity: type[BaseModel],
        *,
        kinds: Sequence[Kind] = _KINDS,
        expired: bool | None = None,
        name: str | None = None,
    ) -> Callable[[F], F]:
        """Register a function for the changes of an entity: `@streams.on(Order, kinds=["created"])`, `@streams.on(Session, expired=True)`.

        `expired` selects deletions by TTL (True) or by programs (False). Failures are stored under the handler's name: the function's
        name, or `name`. Raises `BadHandler` if the table has no stream or the function is not async, and `HandlerTaken` for a second
        handler with the same name.
        """

        def register(handle: F) -> F:
            self.add(ChangeHandler(name or handle.__name__, entity, handle, tuple(kinds), expired))
            return handle

        return register

    def add(self, handler: ChangeHandler) -> None:
        """Register a handler. Raises `BadHandler` or `HandlerTaken`, like `on`."""
        table = spec_of(handler.entity).table
        if table.stream is None:
            fix = f'Declare it as Table({table.name!r}, ..., stream="NEW_AND_OLD_IMAGES").'
            raise BadHandler(f"{table.name} has no stream, so {handler.name} would never be called.", fix=fix)
        if not inspect.iscoroutinefunction(handler.handle):
            raise BadHandler(f"The handler {handler.name} is not async.", fix="Write async def; submit a job for long work.")
        if not is_name(handler.name):
            raise BadHandler(f"{handler.name!r} is not a valid name of a handler.", fix="Names have 1 to 100 letters, digits and _ . : / -")
        if handler.name in self._handlers:
            raise HandlerTaken(f"Two handlers have the name {handler.name}.", fix="Give one of them another name=.")
        self._handlers[handler.name] = handler

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables whose streams are read."""
        return tuple(dict.fromkeys(spec_of(handler.entity).table for handler in self))

    def find(self, name: str) -> ChangeHandler | None:
        """The handler with this name, or None."""
        return self._handlers.get(name)

    def __iter__(self) -> Iterator[ChangeHandler]:
        return iter(self._handlers.values())

    def __bool__(self) -> bool:
        return bool(self._handlers)


class StreamConsumer:
    """Calls the handlers of `streams` for every change, at least once, in order for each item.

    Any number of processes may consume under one `name`. Each shard has one reader; if the reader is lost, another process takes the shard
    over after `lease_seconds`. A consumer with a new name starts at the oldest record of the streams, which is at most a day old.
    """

    def __init__(
        self,
        store: AsyncStore,
        streams: TableStreams,
        name: str,
        *,
        process: str | None = None,
        lease_seconds: float = 30.0,
        batch: int = _BATCH,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._store = store
        self._streams = streams
        self.name = name
        self._leases = ShardLeases(store, name, process or f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:6]}", lease_seconds)
        self._delivery = RecordDelivery(store, streams, name, sleep)
        self._batch = batch
        self._poll_seconds = _EMBEDDED_POLL_SECONDS if isinstance(store.transport, AsyncEmbeddedTransport) else _REMOTE_POLL_SECONDS
        self._held: dict[str, HeldShard] = {}
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Make `run` return after the records in progress."""
        self._stop.set()

    async def run(self) -> None:
        """Consume until `stop` is called. Errors of the store are logged, and the requests retried."""
        await self._store.ensure_tables(stream_table)
        readers: dict[str, asyncio.Task[None]] = {}
        renewing = asyncio.create_task(self._renew())
        try:
            while not self._stop.is_set():
                with _logged("could not list the shards of the streams"):
                    for held in await self._take_free():
                        readers[held.lease.shard] = asyncio.create_task(self._read_on(held))
                await self._wait(min(_DISCOVERY_SECONDS, self._leases.seconds / 3))
        finally:
            # Finish the records in progress, so that they are not handled twice.
            await asyncio.gather(*readers.values(), return_exceptions=True)
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            await self._release()

    async def round(self) -> int:
        """Find shards, handle their available records once, and return the number of records.

        For tests, and for programs that run periodically instead of calling `run`.
        """
        handled = 0
        more = True
        while more:
            more = False
            await self._take_free()
            for held in list(self._held.values()):
                try:
                    number = await self._read(held)
                except LeaseTaken:
                    self._drop(held)
                    continue
                handled += number or 0
                more = more or number is None or number > 0
        return handled

    async def failed(self) -> AsyncIterator[FailedChange]:
        """Yield the stored changes that a handler failed to process."""
        async for change in self._store.query(FailedChange.of_consumer, consumer=self.name):
            yield change

    async def repeat_failed(self, event_id: str | None = None, *, watch: Callable[[int, int], None] | None = None) -> int:
        """Call the handlers of failed changes again, of one event or of all, and return how many succeeded.

        Changes that succeed are deleted. After each change, `watch` is called with the number tried and the number that succeeded.
        """
        tried = taken = 0
        async for change in self.failed():
            if event_id is None or change.event_id == event_id:
                taken += await self._delivery.repeat(change)
                tried += 1
                if watch is not None:
                    watch(tried, taken)
        return taken

    async def _take_free(self) -> list[HeldShard]:
        """Take leases of shards that are ready to read and have no reader."""
        shards = [shard for table in self._streams.tables for shard in await shards_of(self._store, table)]
        taken = []
        for lease in ready_to_read(await self._leases.known(shards)):
            if _key(lease) not in self._held and self._leases.is_free(lease):
                held = await self._leases.take(lease)
                if held is not None:
                    self._held[_key(lease)] = held
                    taken.append(held)
        return taken

    async def _read_on(self, held: HeldShard) -> None:
        """Read a shard until it ends, its lease is lost, or the consumer stops."""
        while not self._stop.is_set() and _key(held.lease) in self._held:
            number: int | None = 0
            try:
                number = await self._read(held)
            except LeaseTaken:
                _log.info("another process has taken the lease of %s", held.lease.shard)
                self._drop(held)
            except (StoreError, ServiceError, Unreachable) as error:
                _log.warning("could not read %s: %s", held.lease.shard, error)
            except Exception:  # release the lease, because this reader ends
                _log.exception("could not read %s", held.lease.shard)
            if number == 0:
                await self._wait(self._poll_seconds)

    async def _read(self, held: HeldShard) -> int | None:
        """Handle the next records of a shard. Returns their number, or None at the end of the shard."""
        if not self._leases.is_held(held):
            raise LeaseTaken
        batch = await self._records(held)
        if batch is None:
            await self._finish(held)
            return None
        handled = await self._handle(held, batch.records)
        if handled < len(batch.records):
            # The consumer stops in the middle. The remaining records are read again from the checkpoint.
            held.iterator = None
            return handled
        held.iterator = batch.next
        if batch.next is None:
            await self._finish(held)
            return None
        return handled

    async def _records(self, held: HeldShard) -> RecordBatch | None:
        """The next records of a shard; None if the shard no longer exists."""
        while True:
            held.iterator = held.iterator or await self._iterator_of(held)
            if held.iterator is None:
                return None
            try:
                batch = await read_records(self._store, held.iterator, self._batch)
            except Trimmed:
                held.iterator = await self._oldest_iterator(held)
                continue
            if batch is not None:
                return batch
            # Shard iterators are valid for fifteen minutes.
            held.iterator = None

    async def _iterator_of(self, held: HeldShard) -> str | None:
        lease = held.lease
        try:
            return await iterator_after(self._store, lease.stream, lease.shard, lease.checkpoint)
        except Trimmed:
            return await self._oldest_iterator(held)

    async def _oldest_iterator(self, held: HeldShard) -> str | None:
        lease = held.lease
        _log.error("changes of %s after %s are lost: the stream was not read for a day", lease.table, lease.checkpoint or "its beginning")
        return await iterator_after(self._store, lease.stream, lease.shard, None)

    async def _handle(self, held: HeldShard, records: list[dict[str, Any]]) -> int:
        """Pass records to the handlers in order, with checkpoints. Returns the number handled: fewer than given if `stop` was called."""
        ticks = self._store.setup.ticks
        checkpointed_at, waiting = ticks(), 0
        for number, record in enumerate(records, 1):
            if not self._leases.is_held(held):
                raise LeaseTaken
            await self._delivery.deliver(held.lease.table, record)
            waiting += 1
            stopped = self._stop.is_set()
            if stopped or number == len(records) or ticks() - checkpointed_at >= _CHECKPOINT_SECONDS:
                await self._leases.checkpoint(held, record["dynamodb"]["SequenceNumber"], waiting)
                checkpointed_at, waiting = ticks(), 0
            if stopped:
                return number
        return len(records)

    async def _finish(self, held: HeldShard) -> None:
        await self._leases.finish(held)
        self._drop(held)

    def _drop(self, held: HeldShard) -> None:
        held.lost = True
        self._held.pop(_key(held.lease), None)

    async def _renew(self) -> None:
        """Renew the leases periodically: a shard without new records writes no checkpoint, which would renew its lease."""
        while True:
            await asyncio.sleep(self._leases.seconds / 3)
            for held in list(self._held.values()):
                with _logged("could not renew a lease"), contextlib.suppress(LeaseTaken):
                    await self._leases.write(held)

    async def _release(self) -> None:
        for held in list(self._held.values()):
            with _logged("could not release a lease"), contextlib.suppress(LeaseTaken):
                await self._leases.release(held)
        self._held.clear()

    async def _wait(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)


@contextlib.contextmanager
def _logged(what: str) -> Any:
    try:
        yield
    except (StoreError, ServiceError, Unreachable) as error:
        _log.warning("%s: %s", what, error)


def _key(lease: ShardLease) -> str:
    return f"{lease.stream} {lease.shard}"


#: The handler of changes that cannot be decoded.
UNREADABLE = "-"
_LONGEST_ERROR = 4000


class RecordDelivery:
    """Calls the handlers of one consumer."""

    def __init__(
        self, store: AsyncStore, streams: TableStreams, consumer: str, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    ) -> None:
        self._store = store
        self._streams = streams
        self._consumer = consumer
        self._sleep = sleep
        self._tables = {table.name: table for table in streams.tables}

    async def deliver(self, table: str, record: dict[str, Any]) -> None:
        """Call the handlers that want a record, one after another. The record is stored as failed for each handler that fails."""
        try:
            change = await self._read(self._tables[table], record)
        except ModelError as error:
            await self._store_failure(table, record, UNREADABLE, error, 1)
            return
        for handler in self._streams:
            if change is not None and handler.wants(change):
                await self._call(handler, change, table, record)

    async def repeat(self, failed: FailedChange) -> bool:
        """Call the handler of a failed change again. If it succeeds, delete the stored change and return True."""
        try:
            change = await self._read(self._tables[failed.table], failed.record)
            handlers = [handler for handler in self._streams if failed.handler in (handler.name, UNREADABLE)]
            for handler in handlers:
                if change is not None and handler.wants(change):
                    await handler.handle(change)
        except Exception as error:  # whatever the handler raises
            await self._store_failure(failed.table, failed.record, failed.handler, error, failed.attempts + 1)
            return False
        await self._store.delete(failed)
        return True

    async def _call(self, handler: ChangeHandler, change: Change, table: str, record: dict[str, Any]) -> None:
        delays = self._store.setup.delays()
        for attempt in range(1, self._streams.attempts + 1):
            try:
                await handler.handle(change)
                return
            except Exception as error:  # whatever the handler raises
                if attempt == self._streams.attempts:
                    await self._store_failure(table, record, handler.name, error, attempt)
                    return
            await self._sleep(next(delays, 1.0))

    async def _store_failure(self, table: str, record: dict[str, Any], handler: str, error: Exception, attempts: int) -> None:
        what = f"{type(error).__name__}: {error}"
        _log.error("change %s of %s is stored as failed: %s failed %d times: %s", record["eventID"], table, handler, attempts, what)
        failed = FailedChange(
            consumer=self._consumer,
            event_id=record["eventID"],
            handler=handler,
            table=table,
            record=record,
            error=what[:_LONGEST_ERROR],
            attempts=attempts,
            failed_at=self._store.setup.now(),
        )
        await self._store.put(failed)

    async def _read(self, table: Table, record: dict[str, Any]) -> Change | None:
        """The change in a record; items under older keys and schemas are converted to the current ones."""
        dynamodb = dict(record["dynamodb"])
        for image in ("OldImage", "NewImage"):
            if image in dynamodb:
                dynamodb[image] = await self._current(table, dynamodb[image])
        change = read_change(table, {**record, "dynamodb": dynamodb})
        if change is not None and change.kind == "deleted" and change.before is not None and not change.expired:
            spec: Spec[Any] = spec_of(change.entity)
            # An item that was moved to its current key was not deleted.
            if spec.ref(change.before).key != change.key and await self._store.find(change.before, consistent=True) is not None:
                return None
        return change

    async def _current(self, table: Table, item: Item) -> Item:
        for spec in _owners(table, item):
            current = await self._store.drive(upcast_item(spec, item, self._store.setup))
            return with_current_key(current, spec) if table.spec_for(item) is None else current
        return item


def _owners(table: Table, item: Item) -> Iterator[Spec[Any]]:
    """The entities that an item may belong to, under its current key or an older one."""
    own = table.spec_for(item)
    if own is not None:
        yield own
        return
    yield from (spec for spec in table.specs if is_legacy(item, spec))
