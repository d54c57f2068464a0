"""API keys: creating them, which shows each once, and revoking one or several."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic import ValidationError

from gateleg.errors import GatelegError, problem_message
from gateleg.host.actions.keys import CreateKey, KeyChoice, KeyTarget, create_key, revoke_key, revoke_keys
from gateleg.host.principal import Role
from gateleg.web.console.actions import act, call_of
from gateleg.web.console.cells import Badge, Column, Row, ago_cell, button_cell, chip_cell, meta_cell, tag_cell
from gateleg.web.console.dialogs import button, sheet, show_once
from gateleg.web.console.failures import ErrorText, empty, refusal, trouble
from gateleg.web.console.forms import Field
from gateleg.web.console.markup import tag
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

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
            if keys:
                _list(view, keys, show)
                return
            with tag("section", classes="card tight", aria_label="API keys"):
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
            button(create_key.title, lambda: _create(view, show), icon="add", look="first")


def _list(view: View, keys: list[ApiKey], show: Show) -> None:
    now = view.host.store.setup.now()
    names = {key.key_id: key.name for key in keys}
    valid = {key.key_id for key in keys if key_badge(key, now) is GOOD}
    chosen: list[str] = []

    async def revoke(key_id: str, verb: str) -> None:
        if await act(view, revoke_key, KeyTarget(key_id=key_id), title=f"Revoke the key of {names[key_id]}?"):
            await show()

    async def revoke_chosen() -> None:
        ids = [key_id for key_id in chosen if key_id in valid]
        if await act(view, revoke_keys, KeyChoice(key_ids=ids), title=f"Revoke {len(ids)} keys?"):
            await show()

    def choose(ids: list[str]) -> None:
        chosen[:] = ids
        bar.set_visibility(bool(ids))
        count.set_text(f"{len(ids)} selected")
        several.set_visibility(any(key_id in valid for key_id in ids))

    with tag("div", classes="bulk", role="toolbar", aria_label="Selected keys") as bar:
        count = tag("span", "", "strong")
        several = button(revoke_keys.title, revoke_chosen, look="small danger")
    bar.set_visibility(False)
    with tag("section", classes="card tight", aria_label="API keys"):
        Grid("API keys", COLUMNS, [key_row(key, now) for key in keys], complete=True, on_choose=choose, on_action=revoke)


async def _create(view: View, show: Show) -> None:
    created: list[CreateKey] = []
    first = not await view.host.keys.exist()
    with sheet(create_key.title) as dialog:
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
                given = CreateKey(
                    name=name.text,
                    role=role.text,  # type: ignore[arg-type]
                    groups=[part.strip() for part in groups.text.split(",") if part.strip()],
                    tenant=tenant.text or None,
                    ends_at=end_of(ends.text),
                )
                given.prepared(call_of(view))
            except ValidationError as error:
                with problem:
                    trouble(ErrorText(f"The {error.errors()[0]['loc'][0]}: {problem_message(error.errors()[0])}."))
                return
            except (GatelegError, ValueError) as error:
                with problem:
                    trouble(error)
                return
            created.append(given)
            dialog.submit(True)

        with tag("div", classes="deeds"):
            button("Cancel", lambda: dialog.submit(False))
            button("Create", make, look="first")
    await dialog
    dialog.delete()
    for given in created:
        # The first key ends the caller's own access, so it is shown before it becomes valid.
        shown = create_key.once(given.prepared(call_of(view)))
        if first and shown is not None:
            await show_once(shown, "It becomes valid when you close this dialog.")
        if await act(view, create_key, given, shown=first):
            await show()
