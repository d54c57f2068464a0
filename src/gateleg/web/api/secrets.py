"""`/api/secrets`: list, set and delete secrets of applications. Values are never returned."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from gateleg.host.actions.secrets import SECRET_ACTIONS, SecretView
from gateleg.host.principal import managed_application
from gateleg.web.action_routes import add_action
from gateleg.web.api.calls import Using
from gateleg.web.api.pages import Cursor, Limit, Listing

router = APIRouter(tags=["Secrets"])
Owner = Annotated[str, Path(pattern=r"^[a-z][a-z0-9-]{0,39}$", description="An application, or `host`.")]
Tenant = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=200,
        description="The tenant of the secrets; by default those of the application itself, or of the tenant admin's tenant.",
    ),
]


@router.get("/api/secrets/{application}")
async def list_secrets(
    call: Using, application: Owner, tenant: Tenant = None, limit: Limit = 50, cursor: Cursor = None
) -> Listing[SecretView]:
    """The secrets of an application, or of one of its tenants, by name and without their values."""
    managed = managed_application(call.host, call.principal, application, tenant, itself=True)
    page = await call.host.secrets.of(application).page(tenant=managed, limit=limit, cursor=cursor)
    return Listing(items=[SecretView.of(info) for info in page], next=page.next)


for action in SECRET_ACTIONS:
    add_action(router, action)
