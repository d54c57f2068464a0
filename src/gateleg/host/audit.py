"""The audit log: who changed what, and when."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gateleg.host.tables import AuditEntry
from gateleg.store import AlreadyExists, StoreError

if TYPE_CHECKING:
    from gateleg.host.principal import Principal
    from gateleg.store import AsyncStore, Page

_log = logging.getLogger("gateleg.web")
#: Seconds before each retry of writing an entry.
_DELAYS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0)


class Audit:
    """The audit log of a host, in its store."""

    def __init__(self, store: AsyncStore, *, days: int) -> None:
        self._store = store
        self._kept = timedelta(days=days)
        self._late: dict[asyncio.Task[None], AuditEntry] = {}

    async def note(self, by: Principal, action: str, target: str = "", *, request_id: str | None = None, **details: Any) -> AuditEntry:
        """Record an action: `note(principal, "job.cancel", str(job_id), reason="...")`.

        The action has already happened, so a store that refuses the entry raises no error: that is logged, and the entry is written later.
        """
        now = self._store.setup.now()
        entry = AuditEntry(
            day=f"{now:%Y-%m-%d}",
            at=now,
            actor=by.name,
            key_id=by.key_id,
            action=action,
            target=target,
            details={name: value for name, value in details.items() if value is not None},
            request_id=request_id,
            expires_at=now + self._kept,
        )
        try:
            return await self._store.create(entry)
        except StoreError as error:
            # The action has happened: an error response would be wrong, and invite a repetition.
            _log.error("audit entry not written yet: %s %s by %s (%s): %s", action, target, by.name, request_id or "no request", error)
            again = asyncio.create_task(self._write_later(entry))
            self._late[again] = entry
            again.add_done_callback(lambda task: self._late.pop(task, None))
            return entry

    async def close(self) -> None:
        """Write the entries that could not be written, once more. The log of the host has those that still cannot."""
        late, self._late = self._late, {}
        for task in late:
            task.cancel()
        for entry in late.values():
            try:
                await self._store.create(entry)
            except AlreadyExists:
                continue
            except StoreError:
                _log.error("audit entry lost: %s", entry.model_dump_json())

    async def _write_later(self, entry: AuditEntry) -> None:
        """Retry an entry that could not be written; the log has it in any case."""
        for delay in _DELAYS:
            await asyncio.sleep(delay)
            try:
                await self._store.create(entry)
            except AlreadyExists:
                return
            except StoreError:
                continue
            else:
                return
        _log.error("audit entry lost: %s", entry.model_dump_json())

    async def page(
        self, *, day: str | None = None, actor: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[AuditEntry]:
        """Entries, newest first: of a day (by default today), or of an actor."""
        if actor is not None:
            question = AuditEntry.by_actor(actor=actor)
            if day is not None:
                question = question.filter(AuditEntry.day == day)
        else:
            question = AuditEntry.by_day(day=day or f"{self._store.setup.now():%Y-%m-%d}")
        return await self._store.page(question, limit=limit, cursor=cursor)
