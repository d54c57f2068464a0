"""`list`, `show`, `logs`, `tree` and `archive`."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from gateleg.cli.jobs.queue_connection import QueueOption, find_id, opened_queue
from gateleg.commands.opening import settings_from
from gateleg.commands.options import (
    AppOption,
    ConfigOption,
    CursorOption,
    JsonOption,
    LimitOption,
    ObjectsOption,
    PrefixOption,
    StoreOption,
)
from gateleg.commands.printing import MISUSED, fail

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.jobs import Job, Queue
    from gateleg.jobs.monitor import Branch
    from gateleg.jobs.tables import ArchivedJob

#: Seconds between two polls of a followed job.
_EVERY = 1.0
JobArgument = Annotated[str, typer.Argument(help="The job's id, or a prefix of it.")]
SubjectOption = Annotated[str | None, typer.Option(help="Only jobs about this subject.")]
TypeOption = Annotated[str | None, typer.Option("--type", "-t", help="Only jobs of this type.")]


def listed(
    store: StoreOption = None,
    prefix: PrefixOption = None,
    app: AppOption = None,
    config: ConfigOption = None,
    status: Annotated[str | None, typer.Option("--status", "-s", help="PENDING, PROCESSING, COMPLETED, FAILED or CANCELLED.")] = None,
    type: TypeOption = None,
    subject: SubjectOption = None,
    queue: QueueOption = None,
    worker: Annotated[str | None, typer.Option(help="Only jobs of this worker.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only jobs with this tag.")] = None,
    internal: Annotated[
        bool, typer.Option("--internal", help="Also list internal jobs: routine work of the queue and of applications.")
    ] = False,
    limit: LimitOption = 25,
    cursor: CursorOption = None,
    json: JsonOption = False,
) -> None:
    """List jobs, newest first."""
    from gateleg.cli.jobs.formats import plain, row
    from gateleg.commands.printing import print_json, print_rows
    from gateleg.jobs import JobStatus
    from gateleg.jobs.queue_context import UnreadableJob

    wanted = None
    if status is not None:
        try:
            wanted = JobStatus(status.upper())
        except ValueError:
            fail(f"{status!r} is not a status; use one of {', '.join(JobStatus)}", MISUSED)
    with opened_queue(settings_from(config, store=store, prefix=prefix), app) as opened:
        page = opened.jobs_page(
            status=wanted,
            job_type=type,
            subject=subject,
            queue=queue,
            worker=worker,
            tag=tag,
            internal=internal,
            limit=limit,
            cursor=cursor,
        )
    if json:
        unreadable = [{"job_id": bad.job_id, "problems": list(bad.problems)} for bad in map(UnreadableJob.of, page.unreadable)]
        print_json({"items": [plain(job) for job in page], "next": page.next, "unreadable": unreadable})
    elif not page.items and not page.unreadable:
        typer.echo("No jobs.")
    else:
        if page.items:
            print_rows([row(job) for job in page])
        for bad in map(UnreadableJob.of, page.unreadable):
            typer.echo(f"{bad.job_id} is unreadable: {bad.reason}", err=True)
        if page.next:
            typer.echo(f"More: --cursor {page.next}", err=True)


def show(
    job: JobArgument,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    app: AppOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show a job: its config, attempts, results and last lines of log. Also from the archive."""
    from gateleg.cli.jobs.formats import plain
    from gateleg.commands.printing import print_json

    with opened_queue(settings_from(config, store=store, prefix=prefix), app) as opened:
        found = opened.get_or_archived(find_id(opened, job))
    if json:
        print_json(plain(found))
    else:
        _print_job(found)


def _print_job(job: "Job | ArchivedJob") -> None:
    from rich.table import Table

    from gateleg.cli.jobs.formats import coloured, plain
    from gateleg.commands.printing import console
    from gateleg.durations import duration

    out = console()
    facts = Table.grid(padding=(0, 2))
    shown = (
        *("job_id", "job_type", "queue", "priority", "subject", "created_at", "started_at", "completed_at", "archived_at", "worker_id"),
        *("parent_job_id", "job_stage", "retry_count", "max_retries", "run_at", "cancel_reason", "job_config", "job_results"),
    )
    values = plain(job)
    facts.add_row("status", coloured(job.status))
    for name in shown:
        if name in values:
            facts.add_row(name, str(values[name]))
    out.print(facts)
    for attempt in job.attempts:
        error = "" if attempt.error is None else f": {attempt.error.kind}: {attempt.error.message}"
        ran = duration((attempt.ended_at - attempt.started_at).total_seconds())
        snoozed = "" if not attempt.times or attempt.outcome == "snoozed" else f", snoozed {attempt.times} times"
        out.print(f"attempt {attempt.number} by {attempt.worker_id or '-'}, {ran}{snoozed}: {attempt.outcome}{error}")
    for entry in job.logs.entries:
        out.print(f"{entry.timestamp:%H:%M:%S} {entry.level:7} {entry.message}")


def logs(
    job: JobArgument,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    app: AppOption = None,
    config: ConfigOption = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the log until the job has finished.")] = False,
    json: JsonOption = False,
) -> None:
    """Print the log of a job; -f follows it. For a long archived log, print the last lines and where the rest is.

    Exits with 1 when a followed job does not end well.
    """
    with opened_queue(settings_from(config, store=store, prefix=prefix), app) as opened:
        job_id = find_id(opened, job)
        _print_log_location(opened.get_or_archived(job_id))
        if follow:
            print_updates(opened, job_id, json)
        else:
            for entry in opened.log(job_id):
                typer.echo(entry.model_dump_json() if json else f"{entry.timestamp:%Y-%m-%d %H:%M:%S} {entry.level:7} {entry.message}")


def _print_log_location(job: "Job | ArchivedJob") -> None:
    """Say where the rest of an archived log is."""
    if job.logs.log_location is not None:
        typer.echo(
            f"These are the last lines; all {job.logs.earlier + len(job.logs.entries):,} are in the object {job.logs.log_location}",
            err=True,
        )


def print_updates(queue: "Queue", job_id: "UUID", json: bool = False) -> None:
    """Print the lines of a job's log as they arrive, until it is finished."""
    from gateleg.jobs import JobStatus, follow

    status = JobStatus.PENDING
    for update in follow(queue, job_id, every=_EVERY):
        status = update.job.status
        for entry in update.lines:
            typer.echo(entry.model_dump_json() if json else f"{entry.timestamp:%Y-%m-%d %H:%M:%S} {entry.level:7} {entry.message}")
    typer.echo(f"{job_id} is {status}", err=True)
    if status != JobStatus.COMPLETED:
        raise typer.Exit(1)


def tree(
    job: JobArgument,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    app: AppOption = None,
    config: ConfigOption = None,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Refresh until every job of the tree has finished.")] = False,
    json: JsonOption = False,
) -> None:
    """Show a job and its descendants, with the progress of each."""
    from gateleg.cli.jobs.formats import plain_tree, tree_view
    from gateleg.commands.printing import console, print_json

    with opened_queue(settings_from(config, store=store, prefix=prefix), app) as opened:
        job_id = find_id(opened, job)
        branch = opened.tree(job_id)
        known: dict[UUID, Job] = {}
        if json:
            print_json(plain_tree(branch))
        elif not watch:
            console().print(tree_view(branch, _labels(opened, branch, known)))
        else:
            from rich.live import Live

            with Live(tree_view(branch, _labels(opened, branch, known)), console=console(), auto_refresh=False) as live:
                while branch.unfinished:
                    time.sleep(_EVERY)
                    branch = opened.tree(job_id)
                    live.update(tree_view(branch, _labels(opened, branch, known)), refresh=True)


def _labels(queue: "Queue", branch: "Branch", known: "dict[UUID, Job]") -> "dict[UUID, str]":
    """Labels for the jobs of a tree that would otherwise look alike. Each job is read once, into `known`."""
    from gateleg.jobs.monitor.stats import labels, lookalikes

    fresh = [job_id for job_id in lookalikes(branch) if job_id not in known]
    known.update({job.job_id: job for job in queue.read_jobs(fresh)} if fresh else {})
    return labels(known.values())


def archive(
    store: StoreOption = None,
    prefix: PrefixOption = None,
    app: AppOption = None,
    config: ConfigOption = None,
    subject: SubjectOption = None,
    type: TypeOption = None,
    limit: LimitOption = 25,
    cursor: CursorOption = None,
    sweep: Annotated[bool, typer.Option("--sweep", help="First archive the finished jobs that are due.")] = False,
    objects: ObjectsOption = None,
    json: JsonOption = False,
) -> None:
    """List archived jobs of a type or about a subject, newest first.

    With --sweep, long logs of the jobs that move are copied to the object store, as a worker does it.
    """
    from gateleg.cli.jobs.archive_sweep import sweep_finished
    from gateleg.cli.jobs.formats import archived_row, plain
    from gateleg.commands.printing import print_json, print_rows
    from gateleg.jobs.queue_context import UnreadableJob

    if not sweep and (subject is None) == (type is None):
        fail("use --subject or --type", MISUSED)
    settings = settings_from(config, store=store, prefix=prefix, objects=objects)
    with opened_queue(settings, app) as opened:
        if sweep:
            for line in sweep_finished(settings, opened):
                typer.echo(line, err=json)
        if subject is None and type is None:
            return
        page = opened.archive_page(subject=subject, job_type=type, limit=limit, cursor=cursor)
    if json:
        unreadable = [{"job_id": bad.job_id, "problems": list(bad.problems)} for bad in map(UnreadableJob.of, page.unreadable)]
        print_json({"items": [plain(job) for job in page], "next": page.next, "unreadable": unreadable})
    elif not page.items and not page.unreadable:
        typer.echo("No archived jobs.")
    else:
        if page.items:
            print_rows([archived_row(job) for job in page])
        for bad in map(UnreadableJob.of, page.unreadable):
            typer.echo(f"{bad.job_id} is unreadable: {bad.reason}", err=True)
        if page.next:
            typer.echo(f"More: --cursor {page.next}", err=True)
