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
#: A project without a film, some of whose scenes were rendered or uploaded one by one.
_UNDER_WAY = Statuses[ProjectStatus]({ProjectStatus.PROCESSING: ("In progress", "neutral")})
SCENE = Statuses[SceneStatus](
    {
        SceneStatus.PENDING: ("No clip yet", "neutral"),
        SceneStatus.PROCESSING: ("Rendering", "running"),
        SceneStatus.COMPLETED: ("Has a clip", "done"),
        SceneStatus.FAILED: ("Failed", "failed"),
    }
)


def project_badge(status: ProjectStatus, *, busy: bool = True) -> Element:
    """The state of a project, or of all in a status. One that is made scene by scene is not `busy` (`rules.is_busy`)."""
    return PROJECT.badge(status) if busy or status is not ProjectStatus.PROCESSING else _UNDER_WAY.badge(status)


def scene_badge(status: SceneStatus) -> Element:
    """The state of a scene."""
    return SCENE.badge(status)
