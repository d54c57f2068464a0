"""Where the pages of Delphi are. Pure."""

from __future__ import annotations

from urllib.parse import quote

from gateleg.web.console.paging import address

HOME = "/delphi"
#: The parts of a conversation's page, by what stands in the address, with their titles.
PARTS = {"": "Map", "groups": "Groups", "topics": "Topics", "time": "Over time", "report": "Report", "compare": "Compare"}


def address_of(conversation: str, part: str = "", **query: str | int | None) -> str:
    """The page of a conversation, or of a part of it. What is None or empty is left out of the query."""
    path = f"{HOME}/{quote(conversation, safe='')}" + (f"/{part}" if part else "")
    return address(path, {name: str(value) for name, value in query.items() if value is not None and value != ""})


def comment_address(conversation: str, number: int | str, run: str = "") -> str:
    """The page of a comment."""
    return address_of(conversation, f"comments/{number}", run=run)
