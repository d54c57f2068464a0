"""Badges for the statuses of versions, runs, tool calls and evaluations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.agents.evaluation_tables import EvaluationStatus
from gateleg.apps.agents.tables import VersionStatus
from gateleg.apps.agents.thread_tables import RunStatus, ToolCallStatus
from gateleg.web.console.components import Statuses

if TYPE_CHECKING:
    from nicegui.element import Element

    from gateleg.web.console.components import Part


VERSION = Statuses[VersionStatus]({VersionStatus.ACTIVE: ("Active", "done"), VersionStatus.INACTIVE: ("Inactive", "neutral")})
RUN = Statuses[RunStatus](
    {
        RunStatus.QUEUED: ("Waiting", "waiting"),
        RunStatus.RUNNING: ("Answering", "running"),
        RunStatus.REQUIRES_ACTION: ("Needs approval", "warning"),
        RunStatus.COMPLETED: ("Answered", "done"),
        RunStatus.FAILED: ("Failed", "failed"),
        RunStatus.CANCELLED: ("Cancelled", "cancelled"),
        RunStatus.EXPIRED: ("Expired", "failed"),
    }
)
CALL = Statuses[ToolCallStatus](
    {
        ToolCallStatus.INITIAL: ("Asked for", "waiting"),
        ToolCallStatus.REQUIRES_APPROVAL: ("Needs approval", "warning"),
        ToolCallStatus.APPROVED: ("Approved", "waiting"),
        ToolCallStatus.IN_PROGRESS: ("Running", "running"),
        ToolCallStatus.COMPLETED: ("Done", "done"),
        ToolCallStatus.FAILED: ("Failed", "failed"),
        ToolCallStatus.DENIED: ("Denied", "cancelled"),
        ToolCallStatus.CANCELLED: ("Cancelled", "cancelled"),
    }
)
EVALUATION = Statuses[EvaluationStatus](
    {
        EvaluationStatus.RUNNING: ("Running", "running"),
        EvaluationStatus.COMPLETED: ("Completed", "done"),
        EvaluationStatus.FAILED: ("Failed", "failed"),
    }
)


def evaluation_badge(status: EvaluationStatus) -> Element:
    """The state of an evaluation."""
    return EVALUATION.badge(status)


def evaluation_cell(status: EvaluationStatus) -> Part:
    """The state of an evaluation in a table."""
    return EVALUATION.cell(status)


def version_badge(status: VersionStatus) -> Element:
    """The state of a version."""
    return VERSION.badge(status)


def run_badge(status: RunStatus) -> Element:
    """The state of a run."""
    return RUN.badge(status)


def run_cell(status: RunStatus) -> Part:
    """The state of a run in a table."""
    return RUN.cell(status)


def call_badge(status: ToolCallStatus) -> Element:
    """The state of a tool call."""
    return CALL.badge(status)
