"""The stored items of a tenant by kind, in deletion order: items before the items they refer to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.evaluation_tables import Evaluation, EvaluationSet
from gateleg.apps.agents.references import AGENT, FLOW, PROMPT
from gateleg.apps.agents.tables import (
    Agent,
    FlowSnippet,
    McpServer,
    ModelName,
    PromptTemplate,
    Thread,
    VersionPointer,
    Wizard,
    WizardElement,
    WizardGroup,
    WizardGroupFilter,
)
from gateleg.apps.agents.thread_tables import AsyncTask, FineTuningMessage, Message, Run, ToolCall
from gateleg.apps.agents.usage_tables import DailyUsage

if TYPE_CHECKING:
    from gateleg.apps.agents.partitions import Partition
    from gateleg.model import Query

__all__ = ["contents_of"]

_IN_PARTITION: dict[str, Any] = {
    "tool calls": ToolCall,
    "messages": Message,
    "runs": Run,
    "tasks": AsyncTask,
    "fine-tuning messages": FineTuningMessage,
    "evaluations": Evaluation,
    "sets of questions": EvaluationSet,
    "threads": Thread,
    "versions of agents": Agent,
    "versions of flows": FlowSnippet,
    "versions of prompts": PromptTemplate,
    "tool servers": McpServer,
    "wizard group filters": WizardGroupFilter,
    "wizard groups": WizardGroup,
    "wizards": Wizard,
    "elements": WizardElement,
}


def contents_of(partition: Partition) -> dict[str, list[Query[Any]]]:
    """The queries for all items of a tenant, by kind."""
    found: dict[str, list[Query[Any]]] = {kind: [entity.in_partition(partition=partition)] for kind, entity in _IN_PARTITION.items()}
    found["pointers to active versions"] = [VersionPointer.of_kind(partition=partition, kind=kind) for kind in (AGENT, FLOW, PROMPT)]
    found["model names"] = [ModelName.in_partition(partition=partition)]
    found["rows of usage"] = [DailyUsage.by_day(partition=partition)]
    return found
