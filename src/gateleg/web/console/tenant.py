"""The page of tenant admins at `/tenant`: the secrets and webhooks of their tenant."""

from __future__ import annotations

from nicegui import context, ui

from gateleg.host.principal import is_tenant_admin
from gateleg.web.authentication import TENANT_PAGE
from gateleg.web.console.failures import empty
from gateleg.web.console.frame import Tabs, current_view, frame
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS
from gateleg.web.console.settings.secrets import secrets_panel
from gateleg.web.console.settings.webhooks import webhooks_panel

TABS = (("secrets", "Secrets"), ("webhooks", "Webhooks"))
PANELS = {"secrets": secrets_panel, "webhooks": webhooks_panel}


def register() -> None:
    """Serve the page."""

    @ui.page(TENANT_PAGE, response_timeout=PAGE_TIMEOUT_SECONDS)
    async def tenant(tab: str | None = None) -> None:
        looking = current_view()
        if not is_tenant_admin(looking.principal, looking.host.settings.tenant_admin_group):
            context.client.status_code = 404
            with frame(title="Page not found", section="tenant"):
                empty("search", "No such page", "This page is for admins of a tenant.", button="Settings", href="/settings")
            return
        with frame(title=f"Tenant {looking.principal.tenant}", section="tenant") as view:
            await Tabs(TABS, tab, lambda key: PANELS[key](view)).start()
