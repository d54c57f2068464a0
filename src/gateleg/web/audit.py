"""The audit log: who changed what, and when."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gateleg.web.tables import AuditEntry

if TYPE_CHECKING:
    from gateleg.store import AsyncStore, Page
    from gateleg.web.principal import Principal


class Audit:
    """The audit log of a host, in its store."""

    def __init__(self, store: AsyncStore, *, days: int) -> None:
        self._store = store
        self._kept = timedelta(days=days)

    async def note(self, by: Principal, action: str, target: str = "", *, request_id: str | None = None, **details: Any) -> AuditEntry:
        """Write down that somebody did something: `note(principal, "job.cancel", str(job_id), reason="...")`."""
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
        return await self._store.create(entry)

    async def page(
        self, *, day: str | None = None, actor: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[AuditEntry]:
        """What was done, newest first: on a day (today, unless one is named), or by somebody."""
        if actor is not None:
            question = AuditEntry.by_actor(actor=actor)
            if day is not None:
                question = question.filter(AuditEntry.day == day)
        else:
            question = AuditEntry.by_day(day=day or f"{self._store.setup.now():%Y-%m-%d}")
        return await self._store.page(question, limit=limit, cursor=cursor)
