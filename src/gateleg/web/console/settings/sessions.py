"""Sessions: where a person is signed in, and for admins where everybody is; ending them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.host.principal import Role
from gateleg.web.authentication import SESSIONS_PAGE
from gateleg.web.console.cells import Badge, Column, Row, ago_cell, button_cell, chip_cell, meta_cell
from gateleg.web.console.dialogs import carry_out
from gateleg.web.console.failures import empty, refusal, trouble
from gateleg.web.console.forms import confirm
from gateleg.web.console.frame import frame
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS, pager
from gateleg.web.console.markup import tag
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.host.sessions import LiveSession
    from gateleg.store import Page
    from gateleg.web.console.frame import View

    Show = Callable[[], Awaitable[None]]

COLUMNS = (
    Column("name", "Name"),
    Column("browser", "Browser", wraps=True),
    Column("role", "Role"),
    Column("begun", "Signed in"),
    Column("seen", "Last used"),
    Column("ends", "Ends"),
    Column("deeds", "", right=True),
)
THIS_ONE = Badge("done", "This browser", "key")
_PAGE_SIZE = 50


def session_row(live: LiveSession, *, current: bool) -> Row:
    """A session in the list."""
    by = "signed in as a person" if live.principal.is_person else "signed in with a key" if live.principal.key_id else "the host's token"
    cells = {
        "name": [live.principal.name, meta_cell(by if live.principal.tenant is None else f"{by}, tenant {live.principal.tenant}")],
        "browser": [chip_cell(THIS_ONE), meta_cell(live.browser)] if current else meta_cell(live.browser or "unknown"),
        "role": live.principal.role.word,
        "begun": ago_cell(live.created_at),
        "seen": ago_cell(live.seen_at),
        "ends": ago_cell(live.ends_at),
        "deeds": button_cell("end", "End", look="danger"),
    }
    return Row(live.session_id, cells, label=live.principal.name)


async def everyones_panel(view: View) -> None:
    """Show the sessions of everybody."""
    if not view.may(Role.ADMIN):
        trouble(refusal(Role.ADMIN))
        return
    tag(
        "p",
        "Everybody who is signed in. To keep somebody out, also revoke their key, or their account at the provider.",
        "meta",
    )
    await _panel(view, None)


async def own_panel(view: View) -> None:
    """Show the caller's sessions."""
    tag("p", "The browsers in which you are signed in. End those that you do not know.", "meta")
    await _panel(view, view.host.sessions.own_key_id(view.principal))


async def _panel(view: View, key_id: str | None) -> None:
    box, cursor = tag("div", classes="stack gap-2"), view.request.query_params.get("cursor") or None

    async def show() -> None:
        page = await view.host.sessions.page(key_id=key_id, limit=_PAGE_SIZE, cursor=cursor)
        box.clear()
        with box:
            _list(view, page, key_id, cursor, show)

    await show()


def _list(view: View, page: Page[LiveSession], key_id: str | None, cursor: str | None, show: Show) -> None:
    cookie = getattr(view.request.state, "session", None)
    shown = {live.session_id: live for live in page}
    rows = [session_row(live, current=view.host.sessions.is_current(live, cookie)) for live in page]
    with tag("section", classes="card tight", aria_label="Sessions"):
        if not rows:
            empty("people", "No sessions", "Browsers that sign in are listed here. Sessions of earlier releases are not, until they end.")
        else:
            Grid("Sessions", COLUMNS, rows, on_action=lambda session_id, verb: _end(view, shown[session_id], key_id, show))
        with tag("div", classes="card-foot"):
            path, state = (SESSIONS_PAGE, {}) if key_id is not None else ("/settings", {"tab": "sessions"})
            pager(path, state, cursor=cursor, following=page.next, shown=len(rows))


async def _end(view: View, live: LiveSession, key_id: str | None, show: Show) -> None:
    loss = "That browser has to sign in again. What is not saved there is lost."
    if not await confirm(f"End this session of {live.principal.name}?", loss, verb="End"):
        return

    async def work() -> None:
        await view.host.sessions.revoke(live.session_id)
        await view.host.audit.note(view.principal, "session.revoke", live.session_id, name=live.principal.name)

    needed = Role.ADMIN if key_id is None else Role.MEMBER
    if await carry_out(view, needed, work, f"The session of {live.principal.name} has ended"):
        await show()


def register() -> None:
    """Serve one's own sessions at `/sessions`."""

    @ui.page(SESSIONS_PAGE, response_timeout=PAGE_TIMEOUT_SECONDS)
    async def sessions() -> None:
        with frame(title="Your sessions", section="sessions") as view:
            await own_panel(view)
