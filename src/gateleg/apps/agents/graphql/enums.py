"""The enums of the schema. Their values are the stored ones, which clients of the public engine send and compare as strings."""

from enum import StrEnum

import strawberry

from gateleg.apps.agents.tables import VersionStatus
from gateleg.apps.agents.thread_tables import RunStatus, TaskStatus, ToolCallStatus

__all__ = ["RunStatus", "TaskStatus", "TokenType", "ToolCallStatus", "VersionKind", "VersionStatus"]


class TokenType(StrEnum):
    """The kind of tokens to compare."""

    COMPLETION = "completion"
    PROMPT = "prompt"
    TOTAL = "total"


class VersionKind(StrEnum):
    """The kinds of versioned items."""

    AGENT = "agent"
    PROMPT = "prompt"
    FLOW = "flow"


for _kind, _name, _about in (
    (VersionStatus, "VersionStatus", "Whether a version is the active one, which is used by default."),
    (RunStatus, "RunStatus", "The status of a run."),
    (ToolCallStatus, "ToolCallStatus", "The status of a tool call."),
    (TaskStatus, "AsyncTaskStatus", "The status of a task."),
    (VersionKind, "VersionKind", "The kinds of versioned items."),
    (TokenType, "TokenType", "The kind of tokens that `greatToken` and `lessToken` compare."),
):
    strawberry.enum(_kind, name=_name, graphql_name_from="value", description=_about)
