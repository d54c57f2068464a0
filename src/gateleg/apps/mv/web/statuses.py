"""How the states of projects and scenes look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gateleg.apps.mv.tables import ProjectStatus, SceneStatus
from gateleg.web.console.components import badge

if TYPE_CHECKING:
    from nicegui.element import Element

    Kind = Literal["neutral", "waiting", "running", "done", "failed"]

PROJECT: dict[ProjectStatus, tuple[str, Kind]] = {
    ProjectStatus.PENDING: ("Draft", "neutral"),
    ProjectStatus.QUEUED: ("Waiting", "waiting"),
    ProjectStatus.GENERATING_SCENES: ("Writing", "running"),
    ProjectStatus.PROCESSING: ("Rendering", "running"),
    ProjectStatus.COMPOSING: ("Composing", "running"),
    ProjectStatus.COMPLETED: ("Finished", "done"),
    ProjectStatus.FAILED: ("Failed", "failed"),
}
SCENE: dict[SceneStatus, tuple[str, Kind]] = {
    SceneStatus.PENDING: ("No clip yet", "neutral"),
    SceneStatus.PROCESSING: ("Rendering", "running"),
    SceneStatus.COMPLETED: ("Has a clip", "done"),
    SceneStatus.FAILED: ("Failed", "failed"),
}


def project_badge(status: ProjectStatus) -> Element:
    """The state of a project."""
    return badge(*PROJECT[status])


def scene_badge(status: SceneStatus) -> Element:
    """The state of a scene."""
    return badge(*SCENE[status])
