"""API keys: creating them, which shows each once, and revoking them.

Secrets that are shown once, when they are created.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.host.errors import Refusal
from gateleg.host.principal import Role
from gateleg.web.console.cells import Badge, Column, Row, ago_cell, button_cell, chip_cell, meta_cell, tag_cell
from gateleg.web.console.dialogs import button, carry_out, sheet
from gateleg.web.console.failures import empty, refusal, trouble
from gateleg.web.console.forms import Field, confirm
from gateleg.web.console.markup import tag
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.host.credentials import NewKey
    from gateleg.host.tables import ApiKey
    from gateleg.web.console.cells import Cell
    from gateleg.web.console.frame import View

    Show = Callable[[], Awaitable[None]]

GOOD, ENDED, REVOKED = Badge("done", "Active", "key"), Badge("neutral", "Expired", "schedule"), Badge("cancelled", "Revoked", "key_off")
COLUMNS = (
    Column("name", "Name"),
    Column("state", "State"),
    Column("role", "Role"),
    Column("groups", "Groups and tenant", wraps=True),
    Column("made", "Created"),
    Column("used", "Last used"),
    Column("ends", "Expires"),
    Column("deeds", "", right=True),
)


def key_badge(key: ApiKey, now: datetime) -> Badge:
    """Whether a key is valid, expired or revoked."""
    if key.revoked_at is not None:
        return REVOKED
    return ENDED if key.ends_at is not None and key.ends_at <= now else GOOD


def key_row(key: ApiKey, now: datetime) -> Row:
    """A key in the list."""
    badge = key_badge(key, now)
    groups: Cell = [tag_cell(name) for name in sorted(key.groups or ())]
    if key.tenant:
        groups = [*(groups if isinstance(groups, list) else []), meta_cell(f"tenant {key.tenant}")]
    return Row(
        key.key_id,
        {
            "name": [key.name, meta_cell(f"gl_{key.key_id}")],
            "state": chip_cell(badge),
            "role": key.role,
            "groups": groups,
            "made": ago_cell(key.created_at),
            "used": ago_cell(key.used_at) or meta_cell("never"),
            "ends": ago_cell(key.ends_at) or meta_cell("never"),
            "deeds": button_cell("revoke", "Revoke", look="danger") if badge is GOOD else None,
        },
    )


def end_of(text: str) -> datetime | None:
    """The expiry of a key from a date: the end of that day in UTC. Raises ValueError for an invalid date."""
    return datetime.fromisoformat(f"{text}T23:59:59").replace(tzinfo=UTC) if text else None


async def keys_panel(view: View) -> None:
    """Show the keys."""
    if not view.may(Role.ADMIN):
        trouble(refusal(Role.ADMIN))
        return
    box = tag("div", classes="stack gap-2")

    async def show() -> None:
        keys = await view.host.keys.list()
        box.clear()
        with box:
            _head(view, show)
            with tag("section", classes="card tight", aria_label="API keys"):
                if keys:
                    rows = [key_row(key, view.host.store.setup.now()) for key in keys]
                    Grid("API keys", COLUMNS, rows, complete=True, on_action=lambda key_id, verb: _revoke(view, key_id, show))
                else:
                    sentence = (
                        "Without keys, the host accepts only requests from this machine with its token. Once the first key exists, "
                        "every request needs a key."
                    )
                    empty("people", "No keys yet", sentence)

    await show()


def _head(view: View, show: Show) -> None:
    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("p", "Give each caller their own key. It is shown once, when it is created; only a hash of it is stored.", "meta")
        with tag("div", classes="deeds"):
            button("Create a key", lambda: _create(view, show), icon="add", look="first")


async def _create(view: View, show: Show) -> None:
    made: list[NewKey] = []
    first = not await view.host.keys.exist()
    with sheet("Create a key") as dialog:
        if first:
            tag("p", "This is the first key: once it exists, everyone needs a key, including you.", "note")
        with tag("div", classes="fields"):
            name = Field("Name", required=True, hint="Who or what will use it")
            role = Field("Role", "admin" if first else "viewer", kind="choice", choices=[(one.word, one.word) for one in Role])
            groups = Field("Groups", hint="Separated by commas; applications grant access by group")
            tenant = Field("Tenant")
            ends = Field("Expires after", kind="date", hint="Leave empty for no expiry")
        problem = tag("div", classes="fill")

        def make() -> None:
            problem.clear()
            try:
                view.require(Role.ADMIN)
                made.append(
                    view.host.keys.prepare(
                        name.text,
                        Role[role.text.upper()],
                        groups=[part.strip() for part in groups.text.split(",") if part.strip()],
                        tenant=tenant.text or None,
                        ends_at=end_of(ends.text),
                        by=view.principal.name,
                    )
                )
            except (Refusal, ValueError) as error:
                with problem:
                    trouble(error)
                return
            dialog.submit(True)

        with tag("div", classes="deeds"):
            button("Cancel", lambda: dialog.submit(False))
            button("Create", make, look="first")
    await dialog
    dialog.delete()
    if not made:
        return
    # The first key ends the caller's own access, so it is shown before it becomes valid.
    if first:
        await _show_token(made[0], "It becomes valid when you close this dialog.")
    if await carry_out(view, Role.ADMIN, lambda: _keep(view, made[0])):
        if not first:
            await _show_token(made[0])
        await show()


async def _keep(view: View, made: NewKey) -> None:
    key = (await view.host.keys.keep(made)).key
    await view.host.audit.note(view.principal, "key.create", key.key_id, name=key.name, role=key.role)


async def _show_token(made: NewKey, note: str = "") -> None:
    sentence = f"Copy it now: it is not stored, and cannot be shown again. {note}".strip()
    await show_once(f"The key of {made.key.name}", sentence, made.token)
    with suppress(TimeoutError):
        # The result says that the page has closed the dialog.
        await ui.run_javascript("0", timeout=3.0)


async def _revoke(view: View, key_id: str, show: Show) -> None:
    key = await view.host.keys.get(key_id)
    loss = "Requests with this key are refused from now on, and its sessions end. This cannot be undone."
    if not await confirm(f"Revoke the key of {key.name}?", loss, verb="Revoke"):
        return

    async def work() -> None:
        await view.host.keys.revoke(key_id, by=view.principal.name)
        await view.host.audit.note(view.principal, "key.revoke", key_id, name=key.name)

    if await carry_out(view, Role.ADMIN, work, f"The key of {key.name} was revoked"):
        await show()


async def show_once(title: str, note: str, secret: str) -> None:
    """Show a secret to be copied, until the user says that it is."""
    with sheet(title, lasting=True) as dialog:
        tag("p", note)
        tag("pre", secret, "code wrap", tabindex=0)
        with tag("div", classes="deeds"):
            tag("button", "Copy", "deed", type="button", data_copy=secret)
            button("I have copied it", lambda: dialog.submit(True), look="first")
    await dialog
    dialog.delete()
