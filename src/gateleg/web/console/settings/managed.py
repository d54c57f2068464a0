"""The application and tenant whose secrets or webhooks a page shows, as far as the caller manages them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.host.principal import Role, managed_tenant
from gateleg.host.secrets import HOST
from gateleg.web.authentication import TENANT_PAGE
from gateleg.web.console.markup import tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.host.application import Application
    from gateleg.host.principal import Principal
    from gateleg.web.console.frame import View

_MAX_TENANT_CHARACTERS = 200


@dataclass(frozen=True)
class ManagedTenant:
    """An application and a tenant whose secrets or webhooks are shown. `choices` are the applications to choose from, with titles."""

    path: str
    tab: str
    choices: tuple[tuple[str, str], ...]
    application: str
    #: None for the application itself
    tenant: str | None
    #: whether another tenant can be chosen
    every_tenant: bool

    @property
    def state(self) -> dict[str, str | int | None]:
        """The query of the page's address."""
        return {"tab": self.tab, "application": self.application, "tenant": self.tenant if self.every_tenant else None}

    @property
    def owner(self) -> str:
        """The owner, in words."""
        title = dict(self.choices).get(self.application, self.application)
        return title if self.tenant is None else f"{title}, tenant {self.tenant}"


def read_managed_tenant(
    principal: Principal, applications: Sequence[Application], asked: dict[str, str], *, tab: str, group: str, host: bool
) -> ManagedTenant:
    """The application and tenant of an address. Raises `NotAllowed`. `host` adds the host itself to the choices."""
    admin = principal.may(Role.ADMIN)
    choices = [(HOST, "The host itself")] if host and admin else []
    choices += [(one.name, one.title) for one in applications]
    names = [name for name, _ in choices]
    application = asked.get("application", "")
    wanted = asked.get("tenant", "").strip()[:_MAX_TENANT_CHARACTERS] or None
    return ManagedTenant(
        path="/settings" if admin else TENANT_PAGE,
        tab=tab,
        choices=tuple(choices),
        application=application if application in names else (names[0] if names else ""),
        tenant=managed_tenant(principal, wanted, group),
        every_tenant=admin,
    )


def managed_tenant_of(view: View, tab: str, *, host: bool = False) -> ManagedTenant:
    """The application and tenant of the page that is being built."""
    group = view.host.settings.tenant_admin_group
    return read_managed_tenant(view.principal, view.host.applications, dict(view.request.query_params), tab=tab, group=group, host=host)


def cursor_of(view: View, tab: str) -> str | None:
    """Where the list of a tab starts; the cursor in the address may belong to another tab."""
    query = view.request.query_params
    return query.get("cursor") or None if query.get("tab") == tab else None


async def filters(view: View, managed: ManagedTenant, *, hint: str) -> None:
    """The form that chooses the application and, for admins of the host, the tenant."""
    tenants = sorted({key.tenant for key in await view.host.keys.list() if key.tenant}) if managed.every_tenant else []
    with tag("form", classes="filters", action=managed.path, method="get", data_tidy="", aria_label="Filters"):
        tag("input", type="hidden", name="tab", value=managed.tab)
        with tag("select", classes="box", name="application", aria_label="Application", data_submits=""):
            for name, title in managed.choices:
                tag("option", title, value=name, selected="" if name == managed.application else None)
        if managed.every_tenant:
            known = managed.tenant or ""
            tag("input", classes="box", type="search", name="tenant", value=known, placeholder=hint, aria_label="Tenant", list="tenants")
            with tag("datalist", id="tenants"):
                for tenant in tenants:
                    tag("option", value=tenant)
        tag("button", "Show", "deed", type="submit")
