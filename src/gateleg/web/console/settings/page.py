"""The settings page, with a tab for each part."""

from __future__ import annotations

from nicegui import ui

from gateleg.web.console.frame import frame
from gateleg.web.console.loading import PAGE_TIMEOUT_SECONDS
from gateleg.web.console.settings.about import about_panel
from gateleg.web.console.settings.audit import audit_panel
from gateleg.web.console.settings.configuration import configuration_panel
from gateleg.web.console.settings.keys import keys_panel
from gateleg.web.console.settings.models import models_panel
from gateleg.web.console.settings.secrets import secrets_panel
from gateleg.web.console.settings.webhooks import webhooks_panel
from gateleg.web.console.tabs import Tabs

TABS = (
    ("configuration", "Configuration"),
    ("keys", "API keys"),
    ("secrets", "Secrets"),
    ("webhooks", "Webhooks"),
    ("audit", "Audit log"),
    ("models", "Models"),
    ("about", "About"),
)
PANELS = {
    "configuration": configuration_panel,
    "keys": keys_panel,
    "secrets": secrets_panel,
    "webhooks": webhooks_panel,
    "audit": audit_panel,
    "models": models_panel,
    "about": about_panel,
}


def register() -> None:
    """Serve the settings at `/settings`."""

    @ui.page("/settings", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def settings(tab: str | None = None) -> None:
        with frame(title="Settings", section="settings") as view:
            await Tabs(TABS, tab, lambda key: PANELS[key](view)).start()
