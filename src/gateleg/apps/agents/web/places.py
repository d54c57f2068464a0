"""The addresses of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from gateleg.web.console.components import address

if TYPE_CHECKING:
    from gateleg.apps.agents.tenancy import Context

HOME = "/agents"
NEW = f"{HOME}/new"


def agent_place(context: Context, agent_uuid: str, **state: str) -> str:
    """The page of an agent."""
    return in_part(context, f"{HOME}/agent/{quote(agent_uuid, safe='')}", **state)


def thread_place(context: Context, thread_uuid: str, **state: str) -> str:
    """The page of a thread."""
    return in_part(context, f"{HOME}/thread/{quote(thread_uuid, safe='')}", **state)


def in_part(context: Context, path: str, **state: str) -> str:
    """A page in the part that is looked at: those who may choose a part have named it."""
    chosen = context.part_id if context.part_given and context.principal.tenant is None else ""
    return address(path, {"part": chosen, **state})
