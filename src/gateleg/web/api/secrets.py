"""`/api/secrets`: which secrets applications have; put and delete them. Values go in and never come out."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from gateleg.web.api.calls import Administering
from gateleg.web.errors import Unknown
from gateleg.web.secret_store import HOST, SecretInfo, Secrets

router = APIRouter(prefix="/api/secrets", tags=["Secrets"])
Owner = Annotated[str, Path(pattern=r"^[a-z][a-z0-9-]{0,39}$", description="An application, or `host`.")]
Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
Tenant = Annotated[str | None, Query(min_length=1, max_length=200, description="Whose it is; without, the application's own.")]


class SecretView(BaseModel):
    """A secret without its value."""

    application: str
    tenant: str | None
    name: str
    version: int = Field(description="One more each time that another value is put.")
    created_at: datetime
    changed_at: datetime
    changed_by: str

    @classmethod
    def of(cls, info: SecretInfo) -> "SecretView":
        """What may be known of a secret."""
        return cls(**{name: getattr(info, name) for name in cls.model_fields})


class NewSecret(BaseModel):
    """A value to be kept. It is not shown again."""

    model_config = ConfigDict(extra="forbid")

    value: SecretStr = Field(min_length=1, max_length=65_536)


def _of(call: Administering, application: str) -> Secrets:
    if application != HOST and application not in {one.name for one in call.host.applications}:
        raise Unknown(f"There is no application {application!r} here.")
    return call.host.secrets.of(application)


@router.get("/{application}")
async def list_secrets(call: Administering, application: Owner, tenant: Tenant = None) -> list[SecretView]:
    """The secrets of an application, or of one of its tenants, without their values."""
    return [SecretView.of(info) for info in await _of(call, application).list(tenant=tenant)]


@router.put("/{application}/{name}")
async def put_secret(call: Administering, application: Owner, name: Name, new: NewSecret, tenant: Tenant = None) -> SecretView:
    """Keep a secret, or replace its value."""
    info = await _of(call, application).put(name, new.value.get_secret_value(), tenant=tenant, by=call.principal.name)
    await call.note("secret.put", f"{application}/{name}", tenant=tenant, version=info.version)
    return SecretView.of(info)


@router.delete("/{application}/{name}", status_code=204)
async def delete_secret(call: Administering, application: Owner, name: Name, tenant: Tenant = None) -> None:
    """Forget a secret."""
    await _of(call, application).delete(name, tenant=tenant)
    await call.note("secret.delete", f"{application}/{name}", tenant=tenant)
