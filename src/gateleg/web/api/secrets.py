"""`/api/secrets`: list, set and delete secrets of applications. Values are never returned."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from gateleg.host.errors import Unknown
from gateleg.host.principal import Role, managed_tenant
from gateleg.host.secrets import HOST, SecretInfo, Secrets
from gateleg.web.api.calls import ApiCall, Using
from gateleg.web.api.pages import Cursor, Limit, Listing

router = APIRouter(prefix="/api/secrets", tags=["Secrets"])
Owner = Annotated[str, Path(pattern=r"^[a-z][a-z0-9-]{0,39}$", description="An application, or `host`.")]
Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
Tenant = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=200,
        description="The tenant of the secrets; by default those of the application itself, or of the tenant admin's tenant.",
    ),
]


class SecretView(BaseModel):
    """A secret without its value."""

    application: str
    tenant: str | None
    name: str
    version: int = Field(description="Incremented each time the value is replaced.")
    created_at: datetime
    changed_at: datetime
    changed_by: str

    @classmethod
    def of(cls, info: SecretInfo) -> "SecretView":
        """The description of a secret, without its value."""
        return cls(**{name: getattr(info, name) for name in cls.model_fields})


class NewSecret(BaseModel):
    """The value of a secret. It is not shown again."""

    model_config = ConfigDict(extra="forbid")

    value: SecretStr = Field(min_length=1, max_length=65_536)


@dataclass(frozen=True)
class SecretScope:
    """The application and tenant of a request's secrets."""

    secrets: Secrets
    tenant: str | None
    call: ApiCall

    async def note(self, action: str, name: str, **details: Any) -> None:
        """Write a change of a secret to the audit log."""
        await self.call.note(action, f"{self.secrets.application}/{name}", tenant=self.tenant, **details)


def _managed(call: Using, application: Owner, tenant: Tenant = None) -> SecretScope:
    """Admins of the host manage all applications and the host's own secrets; tenant admins those of their tenant."""
    managed = managed_tenant(call.principal, tenant, call.host.settings.tenant_admin_group)
    known = {one.name for one in call.host.applications} | ({HOST} if call.principal.may(Role.ADMIN) else set())
    if application not in known:
        raise Unknown(f"There is no application {application!r} here.")
    return SecretScope(call.host.secrets.of(application), managed, call)


Scope = Annotated[SecretScope, Depends(_managed)]


@router.get("/{application}")
async def list_secrets(scope: Scope, limit: Limit = 50, cursor: Cursor = None) -> Listing[SecretView]:
    """The secrets of an application, or of one of its tenants, by name and without their values."""
    page = await scope.secrets.page(tenant=scope.tenant, limit=limit, cursor=cursor)
    return Listing(items=[SecretView.of(info) for info in page], next=page.next)


@router.put("/{application}/{name}")
async def put_secret(scope: Scope, name: Name, new: NewSecret) -> SecretView:
    """Set a secret, or replace its value."""
    value, by = new.value.get_secret_value(), scope.call.principal.name
    info = await scope.secrets.put(name, value, tenant=scope.tenant, by=by)
    await scope.note("secret.put", name, version=info.version)
    return SecretView.of(info)


@router.delete("/{application}/{name}", status_code=204)
async def delete_secret(scope: Scope, name: Name) -> None:
    """Delete a secret."""
    await scope.secrets.delete(name, tenant=scope.tenant)
    await scope.note("secret.delete", name)
