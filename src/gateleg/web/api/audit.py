"""`/api/audit`: who changed what, and when."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel

from gateleg.host.tables import AuditEntry
from gateleg.web.api.calls import Administering
from gateleg.web.api.pages import Cursor, Limit, Listing

router = APIRouter(prefix="/api/audit", tags=["Audit"])


class AuditView(BaseModel):
    """An entry of the audit log."""

    entry_id: UUID
    at: datetime
    actor: str
    key_id: str | None
    action: str
    target: str
    details: dict[str, Any]
    request_id: str | None

    @classmethod
    def of(cls, entry: AuditEntry) -> "AuditView":
        """An entry of the log."""
        return cls(**{name: getattr(entry, name) for name in cls.model_fields})


@router.get("")
async def list_audit(
    call: Administering,
    day: Annotated[str | None, Query(pattern=r"^\d{4}-\d{2}-\d{2}$", description="In UTC; by default today.")] = None,
    actor: Annotated[str | None, Query(min_length=1, max_length=100)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[AuditView]:
    """The audit log of a day, or of an actor, newest first."""
    page = await call.host.audit.page(day=day, actor=actor, limit=limit, cursor=cursor)
    return Listing(items=[AuditView.of(entry) for entry in page], next=page.next)
