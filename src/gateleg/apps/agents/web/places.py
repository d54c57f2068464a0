"""The addresses of pages."""

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
#: The last part of the address of a form for something new.
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
    """The page of a prompt, a flow, a tool server, a set of questions or an evaluation, by the path that such pages begin with."""
    return in_part(context, f"{path}/{quote(uuid, safe='')}", **state)


def tab_place(context: Context, tab: str, **state: str) -> str:
    """A tab of the first page."""
    return in_part(context, HOME, tab=tab, **state)


def in_part(context: Context, path: str, **state: str) -> str:
    """A page in the part that is looked at: those who may choose a part have named it."""
    chosen = context.part_id if context.part_given and context.principal.tenant is None else ""
    return address(path, {"part": chosen, **state})
