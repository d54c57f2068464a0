"""Actions on jobs: which ones a job allows (pure), and running them on a selection, with entries in the audit log."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.jobs import Job, JobError, JobStatus, WrongState
from gateleg.jobs.retention import Archiver
from gateleg.web.console.actions import button, carry_out
from gateleg.web.console.fields import Field
from gateleg.web.console.markup import tag
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable
    from uuid import UUID

    from nicegui.element import Element

    from gateleg.jobs.tables import ArchivedJob
    from gateleg.web.console.frame import View
    from gateleg.web.console.grid import Grid


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


def summary(done: int, refused: int, word: str) -> str:
    """The result of a bulk action: `3 retried, 1 had changed`."""
    return f"{done} {word}" + (f", {refused} had changed" if refused else "")


async def on_each(view: View, jobs: list[Job], action: str, act: Callable[[UUID], Awaitable[object]]) -> Counter[str]:
    """Run an action on several jobs; a job that has changed state meanwhile does not stop the others."""
    counts: Counter[str] = Counter()
    for job in jobs:
        try:
            await act(job.job_id)
        except JobError:
            counts["refused"] += 1
            continue
        counts["done"] += 1
        await view.host.audit.note(view.principal, action, str(job.job_id))
    return counts


def bulk_bar(view: View, choice: SelectedJobs, topic: Hashable, *, archives: bool = False) -> Element:
    """The bar above a list while rows are selected. With `archives`, failed jobs can be moved to the archive."""
    queue = view.host.queue
    archivist = Archiver(queue, view.host.objects)

    async def put_away(job_id: UUID) -> None:
        if not await archivist.archive(choice.known[str(job_id)]):
            raise WrongState(f"The job {job_id} has changed since it was listed.")

    async def all_of(jobs: list[Job], action: str, word: str, act: Callable[[UUID], Awaitable[object]]) -> None:
        said: list[str] = []

        async def work() -> None:
            counts = await on_each(view, jobs, action, act)
            said.append(summary(counts["done"], counts["refused"], word))

        if await carry_out(view, Role.OPERATOR, work):
            ui.notification(said[0], icon="check", timeout=3, position="bottom")
            if choice.grid is not None:
                choice.grid.clear_choice()
            view.live.refresh(topic)

    with tag("div", classes="bulk", role="toolbar", aria_label="Selected jobs") as bar:
        count = tag("span", "", "strong")
        retry = button("Retry", lambda: all_of(choice.jobs(may_retry), "job.retry", "retried", queue.retry), look="small")
        cancel = button("Cancel", lambda: all_of(choice.jobs(may_cancel), "job.cancel", "cancelled", queue.cancel), look="small")
        archive = button("Archive", lambda: all_of(choice.jobs(may_archive), "job.archive", "archived", put_away), look="small")
        priority = Field("Priority", "50", kind="number", least=0, most=100)
        sort = button(
            "Set",
            lambda: all_of(
                choice.jobs(may_prioritise), "job.priority", "moved", lambda one: queue.set_priority(one, int(priority.text or 50))
            ),
            look="small",
        )
    bar.set_visibility(False)

    def changed() -> None:
        bar.set_visibility(bool(choice.ids))
        count.set_text(f"{len(choice.ids)} selected")
        for part, fits in ((retry, may_retry), (cancel, may_cancel), (sort, may_prioritise), (priority, may_prioritise)):
            part.set_visibility(bool(choice.jobs(fits)))
        archive.set_visibility(archives and bool(choice.jobs(may_archive)))

    choice.on_change = changed
    return bar
