"""Webhooks: adding, disabling, enabling and deleting them, and the log of deliveries, which can be sent again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from gateleg.errors import GatelegError, problem_message
from gateleg.host.actions import perform
from gateleg.host.actions.webhooks import CreateWebhook, create_webhook, delete_webhook, disable_webhook, enable_webhook, send_again
from gateleg.host.errors import NotAllowed
from gateleg.host.webhooks import check_events
from gateleg.web.console.actions import act, call_of, tell
from gateleg.web.console.cells import Badge, Column, Row, ago_cell, button_cell, chip_cell, meta_cell, tag_cell
from gateleg.web.console.dialogs import button, sheet
from gateleg.web.console.failures import ErrorText, empty, trouble
from gateleg.web.console.forms import Field
from gateleg.web.console.lists import pager
from gateleg.web.console.markup import section, tag
from gateleg.web.console.settings.managed import cursor_of, filters, managed_tenant_of
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from gateleg.host.tables import Webhook, WebhookDelivery
    from gateleg.host.webhooks import NewWebhook
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
    hooks, cursor = view.host.webhooks_of(managed.application), cursor_of(view, TAB)
    box = tag("div", classes="stack gap-2")

    async def show() -> None:
        found = await hooks.list(tenant=managed.tenant)
        log = await hooks.deliveries(tenant=managed.tenant, limit=_PAGE_SIZE, cursor=cursor)
        box.clear()
        with box:
            _head(view, managed, show)
            _list(view, managed, show, found)
            _log(view, managed, show, {hook.hook_id: hook.url for hook in found}, log, cursor)

    await show()


def _head(view: View, managed: ManagedTenant, show: Show) -> None:
    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("p", f"Events of {managed.owner} are sent to these addresses: signed, and retried for about a day.", "meta")
        with tag("div", classes="deeds"):
            button("Add a webhook", lambda: _add(view, managed, show), icon="add", look="first")


def _list(view: View, managed: ManagedTenant, show: Show, found: Sequence[Webhook]) -> None:
    by_id = {hook.hook_id: hook for hook in found}
    actions = {"delete": delete_webhook, "enable": enable_webhook, "disable": disable_webhook}

    async def press(hook_id: str, verb: str) -> None:
        action = actions[verb]
        given = action.input(application=managed.application, tenant=managed.tenant, hook_id=hook_id)
        loss = f"{by_id[hook_id].url}: {action.asks}" if action.asks else ""
        if await act(view, action, given, title="Delete this webhook?", loss=loss):
            await show()

    with tag("section", classes="card tight", aria_label="Webhooks"):
        if not found:
            empty("tray", "No webhooks yet", "Add a URL to send events to.")
            return
        Grid("Webhooks", HOOK_COLUMNS, [hook_row(hook) for hook in found], complete=True, on_action=press)


def _log(
    view: View, managed: ManagedTenant, show: Show, addresses: Mapping[str, str], page: Page[WebhookDelivery], cursor: str | None
) -> None:
    async def press(delivery_id: str, verb: str) -> None:
        given = send_again.input(application=managed.application, tenant=managed.tenant, delivery_id=delivery_id)
        if await act(view, send_again, given):
            await show()

    with section("Deliveries"), tag("div", classes="card tight"):
        if not page.items:
            empty("check", "No deliveries yet", "Each event that is sent is listed here for 30 days, with the response of the receiver.")
            return
        Grid("Deliveries", DELIVERY_COLUMNS, [delivery_row(one, addresses) for one in page], on_action=press)
        with tag("div", classes="card-foot"):
            pager(managed.path, managed.state, cursor=cursor, following=page.next, shown=len(page))


async def _add(view: View, managed: ManagedTenant, show: Show) -> None:
    """Ask for a URL and its events; the signing secret is shown once."""
    results: list[NewWebhook] = []
    with sheet("Add a webhook") as dialog:
        with tag("div", classes="fields"):
            url = Field("Address", required=True, placeholder="https://example.com/hook")
            events = Field("Events", "*", hint="Separated by commas: * for all, order.* for all that start with order.")
        problem = tag("div", classes="fill")

        async def add() -> None:
            problem.clear()
            names = [part.strip() for part in events.text.split(",") if part.strip()]
            try:
                check_events(names)
                given = CreateWebhook(application=managed.application, tenant=managed.tenant, url=url.text, events=names)
                results.append(await perform(create_webhook, call_of(view), given))
            except ValidationError as error:
                with problem:
                    trouble(ErrorText(f"The address: {problem_message(error.errors()[0])}."))
                return
            except GatelegError as error:
                with problem:
                    trouble(error)
                return
            dialog.submit(True)

        with tag("div", classes="deeds"):
            button("Cancel", lambda: dialog.submit(False))
            button(create_webhook.title, add, look="first")
    await dialog
    dialog.delete()
    for created in results:
        await tell(view, create_webhook, created)
        await show()
