"""The URLs of console pages."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from gateleg.web.console.components import address

if TYPE_CHECKING:
    from gateleg.apps.agents.tenancy import Context

HOME = "/agents"
NEW = f"{HOME}/new"
PROMPT, FLOW, SERVER = f"{HOME}/prompt", f"{HOME}/flow", f"{HOME}/server"
EVALUATION_SET, EVALUATION = f"{HOME}/evaluation-set", f"{HOME}/evaluation"
#: The last path segment of pages for a new item.
FRESH = "new"


def agent_place(context: Context, agent_uuid: str, **state: str) -> str:
    """The page of an agent."""
    return item_place(context, f"{HOME}/agent", agent_uuid, **state)


def thread_place(context: Context, thread_uuid: str, **state: str) -> str:
    """The page of a thread."""
    return item_place(context, f"{HOME}/thread", thread_uuid, **state)


def run_place(context: Context, thread_uuid: str, run_uuid: str) -> str:
    """The page of a run."""
    return item_place(context, f"{HOME}/thread/{quote(thread_uuid, safe='')}/run", run_uuid)


def item_place(context: Context, path: str, uuid: str, **state: str) -> str:
    """The page of a prompt, flow, tool server, evaluation set or evaluation, by the path of such pages."""
    return in_part(context, f"{path}/{quote(uuid, safe='')}", **state)


def tab_place(context: Context, tab: str, **state: str) -> str:
    """A tab of the start page."""
    return in_part(context, HOME, tab=tab, **state)


def in_part(context: Context, path: str, **state: str) -> str:
    """A URL with the current part in its query, for users who may choose the part."""
    chosen = context.part_id if context.part_given and context.principal.tenant is None else ""
    return address(path, {"part": chosen, **state})
