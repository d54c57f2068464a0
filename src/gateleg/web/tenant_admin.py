"""Who manages secrets and webhooks: admins of the host all of them, and tenant admins those of their own tenant.

A tenant admin is a caller with a tenant who is in the group that the setting `tenant_admin_group` names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.web.errors import NotAllowed
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from gateleg.web.principal import Principal

#: The console page of tenant admins, and what they may call.
PAGE = "/tenant"
_BELOW = ("/api/secrets/", "/api/webhooks/")


def is_tenant_admin(principal: Principal, group: str) -> bool:
    """Whether a caller manages a tenant: their own."""
    return bool(group) and principal.tenant is not None and group in principal.groups


def may_manage(principal: Principal, tenant: str | None, group: str) -> bool:
    """Whether a caller manages secrets and webhooks of a tenant; without a tenant, those of an application itself."""
    if principal.may(Role.ADMIN):
        return True
    return tenant is not None and tenant == principal.tenant and is_tenant_admin(principal, group)


def managed_tenant(principal: Principal, asked: str | None, group: str) -> str | None:
    """The tenant that a request is about: the one it names, or that of a tenant admin. Raises `NotAllowed` for those of others."""
    tenant = principal.tenant if asked is None and not principal.may(Role.ADMIN) else asked
    if not may_manage(principal, tenant, group):
        raise NotAllowed(
            f"{principal.name!r} does not manage the secrets and webhooks of {'this application' if tenant is None else 'this tenant'}.",
            fix="Ask an admin of the host, or an admin of the tenant.",
        )
    return tenant


def is_for_tenant_admins(path: str) -> bool:
    """Whether a path of the kit is one that tenant admins need; what it answers with is that of their tenant."""
    return path == PAGE or path.startswith(_BELOW)
