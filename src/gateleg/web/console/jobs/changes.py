"""`/jobs/changes`: changes of tables that an application's handler failed to process, to be repeated."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.jobs import Submission
from gateleg.jobs.table_streams import FailedChange
from gateleg.web.console.actions import button, carry_out
from gateleg.web.console.cells import Column, Row, ago_cell, button_cell, id_cell, mono_cell
from gateleg.web.console.confirm import confirm
from gateleg.web.console.empty import empty
from gateleg.web.console.frame import View, frame
from gateleg.web.console.jobs.section import CRUMBS, section_head
from gateleg.web.console.live import Topic
from gateleg.web.console.live_list import live_list
from gateleg.web.console.loading import PAGE_TIMEOUT_SECONDS, show_when_loaded
from gateleg.web.console.markup import tag
from gateleg.web.console.paging import address
from gateleg.web.principal import Role
from gateleg.web.stream_jobs import REPEAT_JOB, RepeatedChanges

if TYPE_CHECKING:
    from gateleg.store import Page
    from gateleg.web.console.live import LiveIndicator

PATH = "/jobs/changes"
_PAGE_SIZE = 50
_COLUMNS = (
    Column("table", "Table"),
    Column("key", "Item", wraps=True),
    Column("handler", "Handler"),
    Column("error", "Error", wraps=True),
    Column("attempts", "Attempts", right=True, desk=True),
    Column("failed", "Failed"),
    Column("id", "Event", desk=True),
    Column("deeds", "", right=True),
)


def register() -> None:
    """Serve the failed changes of one application at a time at `/jobs/changes`."""

    @ui.page(PATH, response_timeout=PAGE_TIMEOUT_SECONDS)
    async def changes(application: str | None = None, cursor: str | None = None) -> None:
        with frame(title="Failed changes", section="jobs", crumbs=CRUMBS, wide=True, titled=False) as view:
            pulse = section_head(view, PATH)
            names = {one.name: one.title for one in view.host.applications if one.table_streams is not None}
            if not names:
                sentence = "Changes that a stream consumer of an application failed to process are listed here. No application has one."
                empty("tray", "No application consumes changes", sentence)
                return
            chosen = application if application in names else next(iter(names))
            with tag("div", classes="line gap-2 spread fill"):
                with tag("nav", classes="choices", aria_label="Application"):
                    for name, title in names.items():
                        current = "true" if name == chosen else None
                        tag("a", title, href=address(PATH, {"application": name}), aria_current=current)
                if view.may(Role.OPERATOR):
                    button("Repeat all", partial(_repeat, view, chosen, None), icon="replay")
            topic = changes_topic(view, chosen, cursor)
            await show_when_loaded(view.live.now(topic), lambda first: _list(view, chosen, topic, first, pulse, cursor), pulse=pulse)


def changes_topic(view: View, application: str, cursor: str | None) -> Topic[Page[FailedChange]]:
    """The failed changes of an application."""

    async def read() -> Page[FailedChange]:
        return await view.host.store.page(FailedChange.of_consumer, consumer=application, limit=_PAGE_SIZE, cursor=cursor)

    return Topic(("failed changes", application, cursor), read, every=3.0)


def change_row(one: FailedChange, *, deeds: bool) -> Row:
    """A failed change in the list."""
    keys = one.record.get("dynamodb", {}).get("Keys", {})
    return Row(
        f"{one.event_id} {one.handler}",
        {
            "table": one.table,
            "key": mono_cell(json.dumps(keys, ensure_ascii=False)),
            "handler": one.handler,
            "error": one.error,
            "attempts": str(one.attempts),
            "failed": ago_cell(one.failed_at),
            "id": id_cell(one.event_id),
            "deeds": button_cell("repeat", "Repeat") if deeds else None,
        },
    )


def _list(
    view: View, application: str, topic: Topic[Page[FailedChange]], first: Page[FailedChange], pulse: LiveIndicator, cursor: str | None
) -> None:
    operator = view.may(Role.OPERATOR)
    live_list(
        view,
        topic,
        first,
        label="Failed changes",
        columns=_COLUMNS if operator else _COLUMNS[:-1],
        row=partial(change_row, deeds=operator),
        nothing=lambda: empty("check", "No failed changes", "Changes that a stream consumer failed to process are listed here."),
        path=PATH,
        cursor=cursor,
        pulse=pulse,
        on_action=lambda row, verb: _repeat(view, application, row.partition(" ")[0]),
    )


async def _repeat(view: View, application: str, event: str | None) -> None:
    if event is None and not await confirm(
        "Repeat all failed changes?",
        f"A worker calls the change handlers of {application} again for each of them.",
        verb="Repeat all",
        harmless=True,
    ):
        return

    async def work() -> None:
        task = RepeatedChanges(application=application, event_id=event)
        await view.host.queue.submit(Submission(REPEAT_JOB, task, subject=f"changes of {application}", created_by=view.principal.name))
        await view.host.audit.note(view.principal, "stream.repeat", application, **({} if event is None else {"event": event}))

    if await carry_out(view, Role.OPERATOR, work, "Submitted: a worker will repeat it"):
        view.live.refresh_all()
