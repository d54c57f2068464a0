"""The enums of the schema. Their values are the stored ones, which clients of the public engine send and compare as texts."""

from enum import StrEnum

import strawberry

from gateleg.apps.agents.tables import VersionStatus
from gateleg.apps.agents.thread_tables import RunStatus, TaskStatus, ToolCallStatus

__all__ = ["RunStatus", "TaskStatus", "TokenType", "ToolCallStatus", "VersionKind", "VersionStatus"]


class TokenType(StrEnum):
    """Which tokens of a run are compared."""

    COMPLETION = "completion"
    PROMPT = "prompt"
    TOTAL = "total"


class VersionKind(StrEnum):
    """What has versions."""

    AGENT = "agent"
    PROMPT = "prompt"
    FLOW = "flow"


for _kind, _name, _about in (
    (VersionStatus, "VersionStatus", "Whether a version is the one that is used where none is named."),
    (RunStatus, "RunStatus", "How far a run is."),
    (ToolCallStatus, "ToolCallStatus", "How far the call of a tool is."),
    (TaskStatus, "AsyncTaskStatus", "How far a task is."),
    (VersionKind, "VersionKind", "What has versions."),
    (TokenType, "TokenType", "Which tokens of a run `greatToken` and `lessToken` compare."),
):
    strawberry.enum(_kind, name=_name, graphql_name_from="value", description=_about)
