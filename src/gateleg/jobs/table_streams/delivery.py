"""Delivers a stream record to the handlers that want it, and stores it as failed for handlers that raise."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from gateleg.jobs.table_streams.tables import FailedChange
from gateleg.model import ModelError, read_change, spec_of
from gateleg.store.operations.entity_reads import upcast_item
from gateleg.store.operations.legacy_forms import is_legacy, with_current_key

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from gateleg.jobs.table_streams.registry import ChangeHandler, TableStreams
    from gateleg.model import Change, Item, Spec, Table
    from gateleg.store import AsyncStore

_log = logging.getLogger("gateleg.jobs.streams")
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
            handlers = [one for one in self._streams if failed.handler in (one.name, UNREADABLE)]
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
