"""The pages of Delphi in the console: `/delphi` lists conversations, `/delphi/{conversation}` shows the map of one, and the pages below
show its groups, topics, comments, report and comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.delphi import rules
from gateleg.apps.delphi.runs.run_tables import StoredConversation
from gateleg.apps.delphi.web.addresses import HOME
from gateleg.apps.delphi.web.comment import comment_part
from gateleg.apps.delphi.web.comparison import compare_part
from gateleg.apps.delphi.web.groups import groups_part
from gateleg.apps.delphi.web.heading import conversation_page
from gateleg.apps.delphi.web.listing import COLUMNS, Listing, listing
from gateleg.apps.delphi.web.maps import map_part
from gateleg.apps.delphi.web.replay import replay_part
from gateleg.apps.delphi.web.report import report_part
from gateleg.apps.delphi.web.topics import topics_part
from gateleg.apps.delphi.web.upload import may_upload, new_form, upload_page
from gateleg.web.console.failures import empty
from gateleg.web.console.frame import frame
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS, pager, show_when_loaded
from gateleg.web.console.markup import card, tag
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.host import Resources

_LIMIT = 50
_STYLES = ("web/delphi.css", "reports/static/explorer.css", "reports/static/replay.css", "reports/static/statements.css")


def register(resources: Resources) -> None:
    """Register the pages with the console."""
    for name in _STYLES:
        ui.add_css(Path(__file__).parent / name, shared=True)
    for path, page in pages().items():
        ui.page(path, response_timeout=PAGE_TIMEOUT_SECONDS)(page)


def pages() -> dict[str, Callable[..., Awaitable[None]]]:
    """The pages by path."""
    one = f"{HOME}/{{conversation}}"
    return {
        HOME: conversations_page,
        one: map_page,
        f"{one}/groups": groups_page,
        f"{one}/topics": topics_page,
        f"{one}/upload": upload_page,
        f"{one}/time": replay_page,
        f"{one}/report": report_page,
        f"{one}/compare": compare_page,
        f"{one}/comments/{{number}}": comment_page,
    }


async def conversations_page(cursor: str = "", upload: str = "") -> None:
    """The conversations that the viewer may see, and a form for a new one."""
    with frame(title="Opinion maps", section="delphi", titled=False) as view:
        may = may_upload(view.principal)
        with tag("div", classes="head"):
            tag("h1", "Opinion maps")
            if may and not upload:
                with tag("a", classes="deed first", href=f"{HOME}?upload=new"):
                    ui.icon("upload")
                    tag("span", "New conversation")
        if may and upload:
            new_form(view.principal, view.host.settings.upload_limit)
            return
        question, condition = StoredConversation.recent(), rules.visible_condition(view.principal)
        if condition is not None:
            question = question.filter(condition)

        def show(found: Listing) -> None:
            if not found.rows and not cursor:
                sentence = "Upload the votes and comments of a Polis export: two CSV files are enough."
                empty("people", "No conversations yet", f"{sentence} `gateleg up --demo` loads an example.")
                return
            with card("tight", label="Conversations"):
                Grid("Conversations", COLUMNS, found.rows)
            pager(HOME, {}, cursor=cursor or None, following=found.next, shown=len(found.rows))

        await show_when_loaded(listing(view.host.store, question, limit=_LIMIT, cursor=cursor or None), show)


async def map_page(conversation: str, run: str = "") -> None:
    """The maps of participants and comments."""
    await conversation_page(conversation, run, "", map_part)


async def groups_page(conversation: str, run: str = "") -> None:
    """The groups, described in plain language."""
    await conversation_page(conversation, run, "groups", groups_part)


async def topics_page(conversation: str, run: str = "") -> None:
    """The topics from coarse to fine."""
    await conversation_page(conversation, run, "topics", topics_part)


async def replay_page(conversation: str, run: str = "") -> None:
    """How the groups formed over time."""
    await conversation_page(conversation, run, "time", replay_part)


async def report_page(conversation: str, run: str = "") -> None:
    """The report with its files."""
    await conversation_page(conversation, run, "report", report_part)


async def compare_page(conversation: str) -> None:
    """Two runs side by side."""
    await conversation_page(conversation, "", "compare", compare_part)


async def comment_page(conversation: str, number: str, run: str = "") -> None:
    """A comment and its votes."""
    wanted = int(number) if number.isascii() and number.isdecimal() else -1
    await conversation_page(conversation, run, "comments", lambda view, shown: comment_part(view, shown, wanted), title=f"Comment {number}")
