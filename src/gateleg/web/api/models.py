"""`/api/models`: the usage of models and its cost."""

from datetime import date
from decimal import Decimal
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from gateleg.ai import UsageDay
from gateleg.host.model_usage import read_usage, visible_tenant
from gateleg.web.api.calls import Using
from gateleg.web.api.pages import Cursor, Limit, page_by_position

router = APIRouter(prefix="/api/models", tags=["Models"])


class UsageView(BaseModel):
    """One application's usage of one model in a day, for one tenant or none."""

    day: str
    application: str
    tenant: str | None
    model: str
    calls: int
    failed: int = Field(description="Number of failed calls, which cost nothing.")
    unpriced: int = Field(description="Number of calls without a known price; `cost` excludes them.")
    estimated: int = Field(
        description="Number of calls whose tokens and cost are estimates, because they broke off or the provider did not report them."
    )
    input: int
    output: int
    cached: int
    requests: int
    images: int
    seconds: Decimal
    cost: Decimal

    @classmethod
    def of(cls, usage: UsageDay) -> "UsageView":
        """A stored record."""
        return cls(**{name: getattr(usage, name) for name in cls.model_fields})


class UsageList(BaseModel):
    """One page of the usage of a period, with the totals of the whole period."""

    since: date
    until: date
    #: the last day first
    items: list[UsageView]
    next: str | None = Field(default=None, description="Pass it as `cursor` for the next page; null at the end.")
    cost: Decimal = Field(description="The cost of the whole period, as far as prices are known.")
    unpriced: int = Field(description="Number of calls without a known price; `cost` excludes them.")


@router.get("/usage")
async def list_usage(
    call: Using,
    since: Annotated[date | None, Query(description="The first day, in UTC; by default today.")] = None,
    until: Annotated[date | None, Query(description="The last day, in UTC; by default today.")] = None,
    application: Annotated[str | None, Query(min_length=1, max_length=40)] = None,
    tenant: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> UsageList:
    """The usage of models in a period, by day, application, tenant and model. Members see that of their own tenant."""
    own = visible_tenant(call.principal, tenant)
    today = call.host.store.setup.now().date()
    first, last = since or min(until or today, today), until or today
    found = await read_usage(call.host.store, first, last, application=application, tenant=own)
    query = f"/api/models/usage?{first}&{last}&{application or ''}&{own or ''}"
    page = page_by_position(found, secret=call.host.secret, query=query, limit=limit, cursor=cursor)
    return UsageList(
        since=first,
        until=last,
        items=[UsageView.of(usage) for usage in page],
        next=page.next,
        cost=sum((usage.cost for usage in found), Decimal(0)),
        unpriced=sum(usage.unpriced for usage in found),
    )
