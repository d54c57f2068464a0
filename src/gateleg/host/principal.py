"""`Principal`: the authenticated caller of a request, with a name, a role, groups and a tenant; and what a tenant admin manages.

Who manages secrets and webhooks: admins of the host manage all of them, tenant admins those of their own tenant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING
from urllib.parse import quote

from gateleg.host.errors import NotAllowed, Unknown

if TYPE_CHECKING:
    from gateleg.host.host import Host
    from gateleg.jobs import Submission

__all__ = ["LOCAL", "MANAGERS", "Principal", "Role", "is_tenant_admin", "managed_application", "managed_tenant", "submitted_by"]

#: The application whose secrets are the host's own, such as the keys of model providers.
HOST = "host"
#: Who manages secrets and webhooks beside admins of the host.
MANAGERS = "admins of a tenant, for their own tenant"

#: Before the digest that identifies a person who signed in by OpenID Connect, in the place of a key's id.
PERSON_PREFIX = "openid:"


class Role(IntEnum):
    """The permissions of a caller in the kit. Each role includes the roles below it."""

    #: uses the applications as far as groups and tenant allow, but not the kit's own pages and APIs
    MEMBER = 1
    #: also reads everything in the kit that is not secret, of all groups and tenants
    VIEWER = 2
    #: also submits, cancels, retries and edits
    OPERATOR = 3
    #: also manages keys, settings and whole tables
    ADMIN = 4

    @property
    def word(self) -> str:
        """The name in lower case, as the API and the console write it."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller. Applications authorize by `groups` and `tenant`, the kit by `role`."""

    name: str
    role: Role
    groups: frozenset[str] = frozenset()
    tenant: str | None = None
    #: the id of the caller's API key, or of a person who signed in by OpenID Connect; None with the host's token, while no key exists
    key_id: str | None = None

    @property
    def owner(self) -> str:
        """The caller as the owner of stored items: tenant and name, each quoted, because names are unique only within a tenant."""
        return f"{quote(self.tenant or '', safe='')}/{quote(self.name, safe='')}"

    @property
    def is_person(self) -> bool:
        """Whether the caller signed in by OpenID Connect, instead of with a key."""
        return self.key_id is not None and self.key_id.startswith(PERSON_PREFIX)

    def may(self, role: Role) -> bool:
        """Whether the caller has this role or a higher one."""
        return self.role >= role


#: The caller with the token of a host that has no keys: a user of this machine who can read its data folder.
LOCAL = Principal("local", Role.ADMIN)


def submitted_by(principal: Principal, submission: Submission) -> Submission:
    """A copy of a submission with the principal as the owner of its job."""
    return replace(submission, created_by=principal.name, tenant=principal.tenant)


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


def managed_application(host: Host, principal: Principal, application: str, asked: str | None, *, itself: bool = False) -> str | None:
    """The tenant of a request about an application's secrets or webhooks, as `managed_tenant`.

    With `itself`, admins of the host may also name the host. Raises `NotAllowed`, and `Unknown` for applications that are not there.
    """
    tenant = managed_tenant(principal, asked, host.settings.tenant_admin_group)
    known = {one.name for one in host.applications} | ({HOST} if itself and principal.may(Role.ADMIN) else set())
    if application not in known:
        raise Unknown(f"There is no application {application!r} here.")
    return tenant
