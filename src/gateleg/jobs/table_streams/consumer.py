"""`StreamConsumer`: reads the streams of tables, shard by shard, and calls the handlers of changes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from gateleg.jobs.table_streams.delivery import RecordDelivery
from gateleg.jobs.table_streams.leases import HeldShard, LeaseTaken, ShardLeases, ready_to_read
from gateleg.jobs.table_streams.shards import RecordBatch, Trimmed, iterator_after, read_records, shards_of
from gateleg.jobs.table_streams.tables import FailedChange, stream_table
from gateleg.store import StoreError
from gateleg.store.transports import ServiceError, Unreachable
from gateleg.store.transports.embedded import AsyncEmbeddedTransport

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from gateleg.jobs.table_streams.registry import TableStreams
    from gateleg.jobs.table_streams.tables import ShardLease
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
        async for one in self._store.query(FailedChange.of_consumer, consumer=self.name):
            yield one

    async def repeat_failed(self, event_id: str | None = None, *, watch: Callable[[int, int], None] | None = None) -> int:
        """Call the handlers of failed changes again, of one event or of all, and return how many succeeded.

        Changes that succeed are deleted. After each change, `watch` is called with the number tried and the number that succeeded.
        """
        tried = taken = 0
        async for one in self.failed():
            if event_id is None or one.event_id == event_id:
                taken += await self._delivery.repeat(one)
                tried += 1
                if watch is not None:
                    watch(tried, taken)
        return taken

    async def _take_free(self) -> list[HeldShard]:
        """Take leases of shards that are ready to read and have no reader."""
        found = [shard for table in self._streams.tables for shard in await shards_of(self._store, table)]
        taken = []
        for lease in ready_to_read(await self._leases.known(found)):
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
