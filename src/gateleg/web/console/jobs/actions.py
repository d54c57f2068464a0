"""Which actions a job allows (pure), and the bar of actions on selected jobs. `/jobs/changes`: changes of tables that an application's
handler failed to process, to be repeated.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui

from gateleg.host.actions.jobs import archive_jobs, cancel_jobs, prioritise_jobs, retry_jobs
from gateleg.host.change_consumers import REPEAT_JOB, RepeatedChanges
from gateleg.host.live import Topic
from gateleg.host.principal import Role
from gateleg.jobs import Job, JobStatus, Submission
from gateleg.jobs.table_streams import FailedChange
from gateleg.web.console.actions import act
from gateleg.web.console.cells import Column, Row, ago_cell, button_cell, id_cell, mono_cell
from gateleg.web.console.dialogs import button, carry_out
from gateleg.web.console.failures import empty
from gateleg.web.console.forms import Field, confirm
from gateleg.web.console.frame import View, frame
from gateleg.web.console.jobs.topics import CRUMBS, section_head
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS, address, live_list, show_when_loaded
from gateleg.web.console.markup import tag

if TYPE_CHECKING:
    from collections.abc import Callable

    from nicegui.element import Element

    from gateleg.host.actions import Action
    from gateleg.jobs.tables import ArchivedJob
    from gateleg.store import Page
    from gateleg.web.console.live import LiveIndicator
    from gateleg.web.console.widgets import Grid


def may_cancel(job: Job) -> bool:
    """Whether a job can be cancelled, or asked to stop."""
    return not job.finished and job.cancel_requested is None


def may_force(job: Job) -> bool:
    """Whether a job was asked to stop and still runs: it can be taken from its worker."""
    return job.status == JobStatus.PROCESSING and job.cancel_requested is not None


def may_retry(job: Job | ArchivedJob) -> bool:
    """Whether a job can be retried; one in the archive comes back to the queue."""
    return job.status in (JobStatus.FAILED, JobStatus.CANCELLED)


def may_archive(job: Job) -> bool:
    """Whether a job can be archived early: a failed one that is not to be retried."""
    return job.status == JobStatus.FAILED


def may_prioritise(job: Job) -> bool:
    """Whether a job's priority still matters."""
    return job.status == JobStatus.PENDING


@dataclass
class SelectedJobs:
    """The selected rows of a list, and their jobs."""

    ids: list[str] = field(default_factory=list)
    known: dict[str, Job] = field(default_factory=dict)
    grid: Grid | None = None
    on_change: Callable[[], None] = lambda: None

    def take(self, ids: list[str]) -> None:
        """Set the selected rows."""
        self.ids = ids
        self.on_change()

    def jobs(self, fits: Callable[[Job], bool]) -> list[Job]:
        """The selected jobs that satisfy a predicate."""
        return [job for one in self.ids if (job := self.known.get(one)) is not None and fits(job)]


def bulk_bar(view: View, choice: SelectedJobs, *, archives: bool = False) -> Element:
    """The bar above a list while rows are selected. With `archives`, failed jobs can be moved to the archive."""

    async def on_all(action: Action[Any, Any], fits: Callable[[Job], bool], **options: Any) -> None:
        ids = [job.job_id for job in choice.jobs(fits)]
        if await act(view, action, action.input(job_ids=ids, **options), confirmed=True) and choice.grid is not None:
            choice.grid.clear_choice()

    with tag("div", classes="bulk", role="toolbar", aria_label="Selected jobs") as bar:
        count = tag("span", "", "strong")
        retry = button(retry_jobs.title, lambda: on_all(retry_jobs, may_retry), look="small")
        cancel = button(cancel_jobs.title, lambda: on_all(cancel_jobs, may_cancel), look="small")
        archive = button(archive_jobs.title, lambda: on_all(archive_jobs, may_archive), look="small")
        priority = Field("Priority", "50", kind="number", least=0, most=100)
        sort = button("Set", lambda: on_all(prioritise_jobs, may_prioritise, priority=int(priority.text or 50)), look="small")
    bar.set_visibility(False)

    def changed() -> None:
        bar.set_visibility(bool(choice.ids))
        count.set_text(f"{len(choice.ids)} selected")
        for part, fits in ((retry, may_retry), (cancel, may_cancel), (sort, may_prioritise), (priority, may_prioritise)):
            part.set_visibility(bool(choice.jobs(fits)))
        archive.set_visibility(archives and bool(choice.jobs(may_archive)))

    choice.on_change = changed
    return bar


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
