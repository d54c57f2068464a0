"""The settings in effect: names, values, and the origin of each value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.ai import ModelSettings
from gateleg.web.console.cells import Column, Row, meta_cell, mono_cell, tag_cell
from gateleg.web.console.grid import Grid
from gateleg.web.console.markup import tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.web.application import Application
    from gateleg.web.console.cells import Cell
    from gateleg.web.console.frame import View
    from gateleg.web.settings import Settings

COLUMNS = (
    Column("name", "Setting"),
    Column("value", "Value", wraps=True),
    Column("origin", "From"),
    Column("about", "About", wraps=True),
)


def setting_rows(settings: Settings, applications: Sequence[Application] = ()) -> list[Row]:
    """All settings of the host and of its applications; those that are set come first."""
    described = {name: one.description or "" for name, one in type(settings).model_fields.items()}
    found = [*settings.table()]
    found += settings.section_table("models", ModelSettings)
    described |= {f"models.{name}": one.description or "" for name, one in ModelSettings.model_fields.items()}
    for application in applications:
        if application.settings is not None:
            found += settings.section_table(application.name, application.settings)
            fields = application.settings.model_fields
            described |= {f"{application.name}.{name}": one.description or "" for name, one in fields.items()}
    rows = [(origin == "default", Row(name, _cells(name, value, origin, described[name]))) for name, value, origin in found]
    return [row for _, row in sorted(rows, key=lambda one: one[0])]


def _cells(name: str, value: str, origin: str, about: str) -> dict[str, Cell]:
    return {
        "name": mono_cell(name),
        "value": mono_cell(value) if value else None,
        "origin": meta_cell("default") if origin == "default" else tag_cell(origin),
        "about": meta_cell(about),
    }


async def configuration_panel(view: View) -> None:
    """Show the settings in effect."""
    tag(
        "p",
        "The settings in effect. To change one, edit gateleg.toml, set a GATELEG_ environment variable or pass a flag, and "
        "restart the host.",
        "meta",
    )
    with tag("section", classes="card tight", aria_label="Configuration"):
        Grid("Configuration", COLUMNS, setting_rows(view.host.settings, view.host.applications), complete=True)
