"""The addresses of Delphi's pages. Pure."""

from __future__ import annotations

from urllib.parse import quote

from gateleg.web.console.lists import address

HOME = "/delphi"
#: The parts of a conversation's page and their titles, by path.
PARTS = {"": "Map", "groups": "Groups", "topics": "Topics", "time": "Over time", "report": "Report", "compare": "Compare"}


def address_of(conversation: str, part: str = "", **query: str | int | None) -> str:
    """The address of a conversation's page or of a part of it. Query values that are None or empty are omitted."""
    path = f"{HOME}/{quote(conversation, safe='')}" + (f"/{part}" if part else "")
    return address(path, {name: str(value) for name, value in query.items() if value is not None and value != ""})


def comment_address(conversation: str, number: int | str, run: str = "") -> str:
    """The address of a comment's page."""
    return address_of(conversation, f"comments/{number}", run=run)
