"""Badges for the statuses of projects and scenes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.mv.tables import ProjectStatus, SceneStatus
from gateleg.web.console.components import Statuses

if TYPE_CHECKING:
    from nicegui.element import Element


PROJECT = Statuses[ProjectStatus](
    {
        ProjectStatus.PENDING: ("Draft", "neutral"),
        ProjectStatus.QUEUED: ("Waiting", "waiting"),
        ProjectStatus.GENERATING_SCENES: ("Writing", "running"),
        ProjectStatus.PROCESSING: ("Rendering", "running"),
        ProjectStatus.COMPOSING: ("Composing", "running"),
        ProjectStatus.COMPLETED: ("Finished", "done"),
        ProjectStatus.FAILED: ("Failed", "failed"),
    }
)
SCENE = Statuses[SceneStatus](
    {
        SceneStatus.PENDING: ("No clip yet", "neutral"),
        SceneStatus.PROCESSING: ("Rendering", "running"),
        SceneStatus.COMPLETED: ("Has a clip", "done"),
        SceneStatus.FAILED: ("Failed", "failed"),
    }
)


def project_badge(status: ProjectStatus) -> Element:
    """The state of a project."""
    return PROJECT.badge(status)


def scene_badge(status: SceneStatus) -> Element:
    """The state of a scene."""
    return SCENE.badge(status)
