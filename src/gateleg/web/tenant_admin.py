"""Who manages secrets and webhooks: admins of the host manage all of them, tenant admins those of their own tenant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.web.errors import NotAllowed
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from gateleg.web.principal import Principal

#: The console page of tenant admins, and the paths that they may call.
PAGE = "/tenant"
_BELOW = ("/api/secrets/", "/api/webhooks/")


def is_tenant_admin(principal: Principal, group: str) -> bool:
    """Whether a caller is an admin of their own tenant."""
    return bool(group) and principal.tenant is not None and group in principal.groups


def may_manage(principal: Principal, tenant: str | None, group: str) -> bool:
    """Whether a caller manages the secrets and webhooks of a tenant; None stands for those of an application itself."""
    if principal.may(Role.ADMIN):
        return True
    return tenant is not None and tenant == principal.tenant and is_tenant_admin(principal, group)


def managed_tenant(principal: Principal, asked: str | None, group: str) -> str | None:
    """The tenant of a request: the one it names, or a tenant admin's own. Raises `NotAllowed` for tenants of others."""
    tenant = principal.tenant if asked is None and not principal.may(Role.ADMIN) else asked
    if not may_manage(principal, tenant, group):
        raise NotAllowed(
            f"{principal.name!r} does not manage the secrets and webhooks of {'this application' if tenant is None else 'this tenant'}.",
            fix="Ask an admin of the host, or an admin of the tenant.",
        )
    return tenant


def is_for_tenant_admins(path: str) -> bool:
    """Whether tenant admins need a path of the kit; its responses are limited to their tenant."""
    return path == PAGE or path.startswith(_BELOW)
