"""The settings: configuration, API keys, secrets, webhooks, model usage, the audit log, and the version."""

from gateleg.web.console.settings import page


def register() -> None:
    """Serve the settings at `/settings`."""
    page.register()


__all__ = ["register"]
