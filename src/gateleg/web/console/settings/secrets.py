"""Secrets by name: who set each and when; setting, replacing and deleting them. No page shows a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import SecretStr, ValidationError

from gateleg.host.actions.secrets import PutSecret, RekeySecrets, SecretTarget, delete_secret, put_secret, rekey_secrets
from gateleg.host.errors import NotAllowed
from gateleg.host.host_secret import SHORTEST
from gateleg.host.secrets import BadSecret, check_secret
from gateleg.web.console.actions import act
from gateleg.web.console.cells import Column, Row, ago_cell, button_cell, meta_cell
from gateleg.web.console.dialogs import button, sheet
from gateleg.web.console.failures import ErrorText, empty, trouble
from gateleg.web.console.forms import Field
from gateleg.web.console.lists import pager
from gateleg.web.console.markup import tag
from gateleg.web.console.settings.managed import cursor_of, filters, managed_tenant_of
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.host.secrets import SecretInfo, Secrets
    from gateleg.store import Page
    from gateleg.web.console.frame import View
    from gateleg.web.console.settings.managed import ManagedTenant

    Show = Callable[[], Awaitable[None]]

TAB = "secrets"
COLUMNS = (
    Column("name", "Name"),
    Column("tenant", "Tenant"),
    Column("version", "Version", right=True),
    Column("set", "Set"),
    Column("by", "By"),
    Column("deeds", "", right=True),
)
_PAGE_SIZE = 50


def secret_row(info: SecretInfo) -> Row:
    """A secret in the list, without its value."""
    cells = {
        "name": info.name,
        "tenant": info.tenant or meta_cell("the application's own"),
        "version": str(info.version),
        "set": ago_cell(info.changed_at),
        "by": info.changed_by or meta_cell("unknown"),
        "deeds": [button_cell("replace", "Replace"), button_cell("delete", "Delete", look="danger")],
    }
    return Row(f"{info.tenant or ''}/{info.name}", cells, label=info.name)


async def secrets_panel(view: View) -> None:
    """Show the secrets that the caller manages."""
    try:
        managed = managed_tenant_of(view, TAB, host=True)
    except NotAllowed as error:
        trouble(error)
        return
    if not managed.choices:
        empty("box", "No applications", "Secrets belong to applications. Install one, or add it to gateleg.toml.")
        return
    await filters(view, managed, hint="All tenants")
    box, cursor = tag("div", classes="stack gap-2"), cursor_of(view, TAB)

    async def show() -> None:
        page = await _secrets(view, managed).page(
            tenant=managed.tenant, every_tenant=managed.tenant is None, limit=_PAGE_SIZE, cursor=cursor
        )
        box.clear()
        with box:
            _head(view, managed, show)
            _list(view, managed, show, page, cursor)

    await show()


def _secrets(view: View, managed: ManagedTenant) -> Secrets:
    return view.host.secrets.of(managed.application)


def _head(view: View, managed: ManagedTenant, show: Show) -> None:
    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("p", "Values are encrypted and never shown. To change one, replace its value.", "meta")
        with tag("div", classes="deeds"):
            if view.may(rekey_secrets.role):
                button(rekey_secrets.title, lambda: _rekey(view, managed, show), icon="key")
            button("Set a secret", lambda: _set(view, managed, show, None), icon="add", look="first")


def _list(view: View, managed: ManagedTenant, show: Show, page: Page[SecretInfo], cursor: str | None) -> None:
    rows = {secret_row(info).id: info for info in page}

    async def press(row: str, verb: str) -> None:
        await (_set(view, managed, show, rows[row]) if verb == "replace" else _delete(view, managed, show, rows[row]))

    with tag("section", classes="card tight", aria_label="Secrets"):
        if not page.items:
            empty("box", "No secrets yet", "Passwords and keys that you set here can be used by name.")
            return
        Grid("Secrets", COLUMNS, [secret_row(info) for info in page], on_action=press)
        with tag("div", classes="card-foot"):
            pager(managed.path, managed.state, cursor=cursor, following=page.next, shown=len(page))


async def _set(view: View, managed: ManagedTenant, show: Show, current: SecretInfo | None) -> None:
    """Ask for a value and store it: a new secret, or a new value of the current one."""
    answers: list[PutSecret] = []
    with sheet("Set a secret" if current is None else f"Replace {current.name}") as dialog:
        if current is not None:
            tag("p", f"Version {current.version + 1} is used the next time the application reads it.", "note")
        with tag("div", classes="fields"):
            name = Field("Name", required=True, hint="Letters, digits, dots, hyphens and underscores") if current is None else None
            chosen = current is None and managed.every_tenant
            tenant = Field("Tenant", managed.tenant or "", hint="Leave empty for the application itself") if chosen else None
            value = Field("Value", kind="password", required=True)
        problem = tag("div", classes="fill")

        def keep() -> None:
            whose = managed.tenant if current is None else current.tenant
            asked = (name.text if name is not None else "" if current is None else current.name, str(value.value))
            problem.clear()
            try:
                check_secret(*asked)
            except BadSecret as error:
                with problem:
                    trouble(error)
                return
            owner = (tenant.text or None) if tenant is not None else whose
            answers.append(PutSecret(application=managed.application, name=asked[0], tenant=owner, value=SecretStr(asked[1])))
            dialog.submit(True)

        with tag("div", classes="deeds"):
            button("Cancel", lambda: dialog.submit(False))
            button(put_secret.title, keep, look="first")
    await dialog
    dialog.delete()
    for given in answers:
        if await act(view, put_secret, given):
            await show()


async def _delete(view: View, managed: ManagedTenant, show: Show, info: SecretInfo) -> None:
    target = SecretTarget(application=managed.application, name=info.name, tenant=info.tenant)
    if await act(view, delete_secret, target, title=f"Delete {info.name}?"):
        await show()


async def _rekey(view: View, managed: ManagedTenant, show: Show) -> None:
    """Ask for the former secret of the host, and re-encrypt what was encrypted with it."""
    answers: list[RekeySecrets] = []
    with sheet(rekey_secrets.title) as dialog:
        tag("p", f"Secrets of {managed.owner}, of all its tenants, that were encrypted before the host's secret was changed.")
        former = Field("The former secret of the host", kind="password", required=True)
        problem = tag("div", classes="fill")

        def read() -> None:
            problem.clear()
            try:
                answers.append(RekeySecrets(application=managed.application, former=SecretStr(str(former.value))))
            except ValidationError:
                with problem:
                    trouble(ErrorText(f"The secret of a host has {SHORTEST} bytes or more."))
                return
            dialog.submit(True)

        with tag("div", classes="deeds"):
            button("Cancel", lambda: dialog.submit(False))
            button(rekey_secrets.title, read, look="first")
    await dialog
    dialog.delete()
    for given in answers:
        if await act(view, rekey_secrets, given):
            await show()
