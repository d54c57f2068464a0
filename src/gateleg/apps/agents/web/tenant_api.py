"""`/api/agents/usage`, and for host operators `/api/agents/tenants`: list, export and erasure of tenants."""

from datetime import date, datetime, timedelta
from decimal import Decimal

from fastapi import APIRouter, Request
from pydantic import Field

from gateleg.apps.agents.access import check_host_operator
from gateleg.apps.agents.erasing.tenants import begin_erasure, begin_export
from gateleg.apps.agents.errors import BadField
from gateleg.apps.agents.settings import AgentsSettings
from gateleg.apps.agents.tenancy import Context, RequestedTenant, assemble, header_text
from gateleg.apps.agents.tenants import TenantRow, list_tenants
from gateleg.apps.agents.usage import usage_question
from gateleg.apps.agents.usage_tables import DailyUsage
from gateleg.apps.agents.web.contexts import ENDPOINT_HEADER, context_of
from gateleg.apps.agents.web.views import BegunJob, View
from gateleg.host import Resources
from gateleg.web.api.calls import ApiCall, Using
from gateleg.web.api.pages import Cursor, Limit, Listing

router = APIRouter()


class UsageView(View):
    """One day's usage of one model by one user of one agent."""

    day: date
    agent_uuid: str
    owner_id: str
    user_id: str | None
    model: str
    runs: int
    replies: int
    estimated: int
    unpriced: int
    prompt_tokens: int
    completion_tokens: int
    cost: Decimal

    @classmethod
    def of(cls, stored: DailyUsage) -> "UsageView":
        """A stored row."""
        return cls.model_validate({name: getattr(stored, name) for name in cls.model_fields})


class TenantView(View):
    """A tenant. Counts are capped at 1,000."""

    part_id: str
    agents: int
    prompts: int
    flows: int
    servers: int
    threads: int
    changed_at: datetime

    @classmethod
    def of(cls, row: TenantRow) -> "TenantView":
        """A row of the list."""
        return cls.model_validate({name: getattr(row, name) for name in cls.model_fields})


class Erasure(View):
    """Confirmation of an erasure."""

    confirm: str = Field(description="the name of the tenant, repeated")


def _own(call: ApiCall) -> Resources[AgentsSettings]:
    resources: Resources[AgentsSettings] = call.host.resources["agents"]
    return resources


def _tenant(call: ApiCall, request: Request, part_id: str) -> Context:
    """The context of a tenant, for host operators."""
    resources = _own(call)
    check_host_operator(context_of(request, resources))
    endpoint = header_text(request.headers.get(ENDPOINT_HEADER), "endpoint_id")
    return assemble(call.principal, resources.settings, RequestedTenant(endpoint, part_id))


@router.get("/usage")
async def list_usage(
    call: Using, request: Request, since: date | None = None, until: date | None = None, cursor: Cursor = None, limit: Limit = 100
) -> Listing[UsageView]:
    """List usage, newest day first, by default of the last 30 days. Members see their own, viewers the tenant's."""
    resources = _own(call)
    last = until or resources.store.setup.now().date()
    question = usage_question(context_of(request, resources), since or last - timedelta(days=29), last)
    page = await resources.store.page(question, limit=limit, cursor=cursor)
    return Listing(items=[UsageView.of(one) for one in page.items], next=page.next)


@router.get("/tenants")
async def tenants(call: Using, request: Request, cursor: Cursor = None) -> Listing[TenantView]:
    """List the tenants of the endpoint that have an agent. A page may be empty and still have a next one."""
    resources = _own(call)
    page = await list_tenants(resources.store, context_of(request, resources), cursor)
    return Listing(items=[TenantView.of(one) for one in page.items], next=page.next)


@router.post("/tenants/{part_id}/export", status_code=202)
async def export(call: Using, request: Request, part_id: str) -> BegunJob:
    """Export all data of a tenant as JSON lines. When the job has ended, `/api/agents/jobs/{jobId}/artifacts` links to the file."""
    return BegunJob(job_id=str(await begin_export(_own(call), _tenant(call, request, part_id))))


@router.post("/tenants/{part_id}/erase", status_code=202)
async def erase(call: Using, request: Request, part_id: str, given: Erasure) -> BegunJob:
    """Permanently delete all data of a tenant: items, files and secrets. The job verifies that nothing is left."""
    if given.confirm != part_id:
        raise BadField(f"confirm is {given.confirm!r}, but must be the name of the tenant, {part_id!r}.", details={"field": "confirm"})
    return BegunJob(job_id=str(await begin_erasure(_own(call), _tenant(call, request, part_id))))
