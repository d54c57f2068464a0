"""The page of tenant admins at `/tenant`: the secrets and webhooks of their tenant."""

from __future__ import annotations

from nicegui import context, ui

from gateleg.web.console.empty import empty
from gateleg.web.console.frame import current_view, frame
from gateleg.web.console.loading import PAGE_TIMEOUT_SECONDS
from gateleg.web.console.settings.secrets import secrets_panel
from gateleg.web.console.settings.webhooks import webhooks_panel
from gateleg.web.console.tabs import Tabs
from gateleg.web.tenant_admin import PAGE, is_tenant_admin

TABS = (("secrets", "Secrets"), ("webhooks", "Webhooks"))
PANELS = {"secrets": secrets_panel, "webhooks": webhooks_panel}


def register() -> None:
    """Serve the page."""

    @ui.page(PAGE, response_timeout=PAGE_TIMEOUT_SECONDS)
    async def tenant(tab: str | None = None) -> None:
        looking = current_view()
        if not is_tenant_admin(looking.principal, looking.host.settings.tenant_admin_group):
            context.client.status_code = 404
            with frame(title="Page not found", section="tenant"):
                empty("search", "No such page", "This page is for admins of a tenant.", button="Settings", href="/settings")
            return
        with frame(title=f"Tenant {looking.principal.tenant}", section="tenant") as view:
            await Tabs(TABS, tab, lambda key: PANELS[key](view)).start()
