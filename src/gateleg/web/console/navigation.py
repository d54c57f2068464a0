"""The entries of the navigation: the kit's sections, the installed applications, and the settings. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.web.application import Application

__all__ = ["Crumb"]


@dataclass(frozen=True)
class NavigationEntry:
    """An entry of the navigation. `section` is the value that its pages pass to `frame`."""

    section: str
    title: str
    icon: str
    href: str


@dataclass(frozen=True)
class Crumb:
    """A breadcrumb; the last one is the page itself and needs no address."""

    title: str
    href: str | None = None


KIT = (
    NavigationEntry("overview", "Overview", "space_dashboard", "/"),
    NavigationEntry("jobs", "Jobs", "checklist", "/jobs"),
    NavigationEntry("tables", "Tables", "table_chart", "/tables"),
    NavigationEntry("migrations", "Migrations", "moving", "/migrations"),
    NavigationEntry("objects", "Objects", "folder_open", "/objects"),
)
SETTINGS = NavigationEntry("settings", "Settings", "tune", "/settings")
TENANT = NavigationEntry("tenant", "Your tenant", "domain", "/tenant")


def groups(applications: Sequence[Application], *, member: bool = False, tenant_admin: bool = False) -> list[list[NavigationEntry]]:
    """The entries of the navigation, in groups. Members see only the applications, tenant admins also their tenant."""
    own = [NavigationEntry(one.name, one.title, one.icon, f"/{one.name}") for one in applications if one.pages is not None]
    tenant = [TENANT] if tenant_admin else []
    shown = [own, tenant] if member else [list(KIT), own, [*tenant, SETTINGS]]
    return [group for group in shown if group]


#: Keyboard shortcuts, as the help shows them.
KEYS = (
    ("/", "Search"),
    ("g h", "Overview"),
    ("g j", "Jobs"),
    ("g t", "Tables"),
    ("g m", "Migrations"),
    ("g o", "Objects"),
    ("g s", "Settings"),
    ("j  k", "Next and previous row"),
    ("enter", "Open the row"),
    ("x", "Select the row"),
    ("esc", "Leave a field or close a dialog"),
    ("?", "This help"),
)
