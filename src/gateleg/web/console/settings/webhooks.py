"""Webhooks: adding, disabling, enabling and deleting them, and the log of deliveries, which can be sent again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gateleg.host.errors import NotAllowed
from gateleg.host.principal import Role
from gateleg.host.webhooks import BadWebhook, check_events
from gateleg.net.errors import AddressRefused
from gateleg.web.console.cells import Badge, Column, Row, ago_cell, button_cell, chip_cell, meta_cell, tag_cell
from gateleg.web.console.dialogs import button, carry_out, sheet
from gateleg.web.console.failures import empty, trouble
from gateleg.web.console.forms import Field, confirm
from gateleg.web.console.lists import pager
from gateleg.web.console.markup import section, tag
from gateleg.web.console.settings.keys import show_once
from gateleg.web.console.settings.managed import cursor_of, filters, managed_tenant_of, require_managed
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from gateleg.host.tables import Webhook, WebhookDelivery
    from gateleg.host.webhooks import NewWebhook, Webhooks
    from gateleg.store import Page
    from gateleg.web.console.frame import View
    from gateleg.web.console.settings.managed import ManagedTenant

    Show = Callable[[], Awaitable[None]]

TAB = "webhooks"
ON, OFF = Badge("done", "On", "notifications_active"), Badge("neutral", "Off", "notifications_off")
LOOKS = {
    "pending": Badge("waiting", "Pending", "schedule"),
    "delivered": Badge("done", "Delivered", "check_circle"),
    "failed": Badge("failed", "Failed", "error"),
}
HOOK_COLUMNS = (
    Column("url", "Address", wraps=True),
    Column("state", "State"),
    Column("events", "Events", wraps=True),
    Column("made", "Added"),
    Column("deeds", "", right=True),
)
DELIVERY_COLUMNS = (
    Column("event", "Event"),
    Column("state", "State"),
    Column("url", "Address", wraps=True, desk=True),
    Column("answer", "Answer", wraps=True),
    Column("at", "Sent"),
    Column("deeds", "", right=True),
)
_PAGE_SIZE = 25
#: Characters of a response that a row shows.
_MAX_ANSWER_CHARACTERS = 120


def hook_row(hook: Webhook) -> Row:
    """A webhook in the list."""
    switch = button_cell("disable", "Disable") if hook.enabled else button_cell("enable", "Enable")
    cells = {
        "url": hook.url,
        "state": chip_cell(ON if hook.enabled else OFF),
        "events": [tag_cell("all events" if event == "*" else event) for event in hook.events],
        "made": [part for part in (ago_cell(hook.created_at), meta_cell(f"by {hook.created_by}") if hook.created_by else None) if part],
        "deeds": [switch, button_cell("delete", "Delete", look="danger")],
    }
    return Row(hook.hook_id, cells, label=hook.url)  # type: ignore[arg-type]


def delivery_row(delivery: WebhookDelivery, addresses: Mapping[str, str]) -> Row:
    """A delivery in the log: the last response of the receiver, and the number of attempts. `addresses` are URLs of webhooks, by id."""
    words = " ".join(delivery.answer.split())
    answer = words if len(words) <= _MAX_ANSWER_CHARACTERS else f"{words[:_MAX_ANSWER_CHARACTERS]} …"
    status = [f"HTTP {delivery.answered}"] if delivery.answered is not None else []
    tries = [meta_cell(f"{delivery.attempts} attempts")] if delivery.attempts > 1 else []
    known = delivery.hook_id in addresses
    cells = {
        "event": delivery.event,
        "state": chip_cell(LOOKS[delivery.state]),
        "url": addresses[delivery.hook_id] if known else meta_cell("deleted"),
        "answer": [*status, *([meta_cell(answer)] if answer else []), *tries],
        "at": ago_cell(delivery.created_at),
        "deeds": button_cell("again", "Send again") if known and delivery.state != "pending" else None,
    }
    return Row(delivery.delivery_id, cells, label=delivery.event)


async def webhooks_panel(view: View) -> None:
    """Show the webhooks that the caller manages."""
    try:
        managed = managed_tenant_of(view, TAB)
    except NotAllowed as error:
        trouble(error)
        return
    if not managed.choices:
        empty("box", "No applications", "Webhooks send events of applications. Install one, or add it to gateleg.toml.")
        return
    await filters(view, managed, hint="No tenant")
    hooks, cursor = view.host.resources[managed.application].webhooks, cursor_of(view, TAB)
    box = tag("div", classes="stack gap-2")

    async def show() -> None:
        found = await hooks.list(tenant=managed.tenant)
        log = await hooks.deliveries(tenant=managed.tenant, limit=_PAGE_SIZE, cursor=cursor)
        box.clear()
        with box:
            _head(view, managed, hooks, show)
            _list(view, managed, hooks, show, found)
            _log(view, managed, hooks, show, {hook.hook_id: hook.url for hook in found}, log, cursor)

    await show()


def _head(view: View, managed: ManagedTenant, hooks: Webhooks, show: Show) -> None:
    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("p", f"Events of {managed.owner} are sent to these addresses: signed, and retried for about a day.", "meta")
        with tag("div", classes="deeds"):
            button("Add a webhook", lambda: _add(view, managed, hooks, show), icon="add", look="first")


def _list(view: View, managed: ManagedTenant, hooks: Webhooks, show: Show, found: Sequence[Webhook]) -> None:
    by_id = {hook.hook_id: hook for hook in found}

    async def act(hook_id: str, verb: str) -> None:
        hook = by_id[hook_id]
        if verb == "delete":
            loss = "No more events are sent to this URL. Its signing secret is deleted too, if it was created for this webhook."
            if not await confirm("Delete this webhook?", f"{hook.url}: {loss}", verb="Delete"):
                return
        words = {"delete": "Deleted", "enable": "Enabled", "disable": "Disabled"}[verb]
        if await carry_out(view, Role.MEMBER, partial(_change, view, managed, hooks, hook_id, verb), words):
            await show()

    with tag("section", classes="card tight", aria_label="Webhooks"):
        if not found:
            empty("tray", "No webhooks yet", "Add a URL to send events to.")
            return
        Grid("Webhooks", HOOK_COLUMNS, [hook_row(hook) for hook in found], complete=True, on_action=act)


async def _change(view: View, managed: ManagedTenant, hooks: Webhooks, hook_id: str, verb: str) -> None:
    require_managed(view, managed.tenant)
    if verb == "delete":
        await hooks.delete(hook_id, tenant=managed.tenant)
    else:
        await hooks.switch(hook_id, enabled=verb == "enable", tenant=managed.tenant)
    await _note(view, managed, f"webhook.{verb}", hook_id)


async def _note(view: View, managed: ManagedTenant, action: str, hook_id: str, **details: str) -> None:
    await view.host.audit.note(view.principal, action, f"{managed.application}/{hook_id}", tenant=managed.tenant, **details)


def _log(
    view: View,
    managed: ManagedTenant,
    hooks: Webhooks,
    show: Show,
    addresses: Mapping[str, str],
    page: Page[WebhookDelivery],
    cursor: str | None,
) -> None:
    async def send_again(delivery_id: str, verb: str) -> None:
        async def work() -> None:
            require_managed(view, managed.tenant)
            again = await hooks.send_again(delivery_id, tenant=managed.tenant)
            await _note(view, managed, "webhook.again", again.hook_id, delivery=delivery_id)

        if await carry_out(view, Role.MEMBER, work, "Sent again"):
            await show()

    with section("Deliveries"), tag("div", classes="card tight"):
        if not page.items:
            empty("check", "No deliveries yet", "Each event that is sent is listed here for 30 days, with the response of the receiver.")
            return
        Grid("Deliveries", DELIVERY_COLUMNS, [delivery_row(one, addresses) for one in page], on_action=send_again)
        with tag("div", classes="card-foot"):
            pager(managed.path, managed.state, cursor=cursor, following=page.next, shown=len(page))


async def _add(view: View, managed: ManagedTenant, hooks: Webhooks, show: Show) -> None:
    """Ask for a URL and its events; the signing secret is shown once."""
    made: list[NewWebhook] = []
    with sheet("Add a webhook") as dialog:
        with tag("div", classes="fields"):
            url = Field("Address", required=True, placeholder="https://example.com/hook")
            events = Field("Events", "*", hint="Separated by commas: * for all, order.* for all that start with order.")
        problem = tag("div", classes="fill")

        async def add() -> None:
            problem.clear()
            wanted = [part.strip() for part in events.text.split(",") if part.strip()]
            try:
                require_managed(view, managed.tenant)
                check_events(wanted)
                made.append(await hooks.create(url.text, wanted, tenant=managed.tenant, by=view.principal.name))
            except (AddressRefused, BadWebhook, NotAllowed) as error:
                with problem:
                    trouble(error)
                return
            dialog.submit(True)

        with tag("div", classes="deeds"):
            button("Cancel", lambda: dialog.submit(False))
            button("Add", add, look="first")
    await dialog
    dialog.delete()
    for new in made:
        await _note(view, managed, "webhook.create", new.webhook.hook_id, url=new.webhook.url)
        sentence = "The receiver checks signatures with it. Copy it now: it is not shown again."
        await show_once("The signing secret", sentence, new.signing_secret or "")
        await show()
