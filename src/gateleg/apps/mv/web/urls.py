"""The addresses of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.web.console.components import address

if TYPE_CHECKING:
    from uuid import UUID

HOME = "/mv"
NEW = f"{HOME}/new"
TEMPLATES = f"{HOME}/templates"


def place_of(project_id: UUID | str, scene: int | None = None) -> str:
    """The URL of a project's page, optionally with one of its scenes opened."""
    return address(f"{HOME}/{project_id}", {"scene": "" if scene is None else str(scene)})
