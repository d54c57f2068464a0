"""Webhook events for completed and failed projects."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from gateleg.apps.mv.rules import tenant_of
from gateleg.apps.mv.service import move_project
from gateleg.apps.mv.tables import Project, ProjectStatus
from gateleg.store import StoreError

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.host import Resources

COMPLETED, FAILED = "mv.completed", "mv.failed"
_log = logging.getLogger("gateleg.mv")


async def send_event(resources: Resources[Any], project: Project, event: str, reason: str | None = None) -> None:
    """Send an event to the webhooks of the project's tenant. Errors are logged, not raised."""
    data = {
        "projectId": str(project.project_id),
        "title": project.title,
        "status": project.status.value,
        "finalVersion": project.final_version,
        "sceneCount": project.scene_count,
        "errorMessage": reason,
    }
    try:
        await resources.webhooks.send(event, data, tenant=tenant_of(project.owner_id))
    except Exception:
        _log.exception("could not send %s of project %s to webhooks", event, project.project_id)


async def fail_project(resources: Resources[Any], project_id: UUID, reason: str) -> None:
    """Mark a project as failed, with the reason. Errors of this write are ignored, so that they do not hide the reason."""
    try:
        project = await move_project(resources.store, project_id, ProjectStatus.FAILED, Project.error_message.set(reason[:2_000]))
    except StoreError:
        return
    await send_event(resources, project, FAILED, reason)
