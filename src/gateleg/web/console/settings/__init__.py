"""The settings: what is in force, API keys, the audit log, and what runs here."""

from gateleg.web.console.settings import page


def register() -> None:
    """Serve the settings at `/settings`."""
    page.register()


__all__ = ["register"]
