"""`cancel` and `retry`."""

from typing import Annotated

import typer

from gateleg.cli.jobs.inspection import JobArgument, SubjectOption, TypeOption
from gateleg.cli.jobs.queue_connection import QueueOption, find_id, opened_queue
from gateleg.commands.failures import MISUSED, fail
from gateleg.commands.options import AppOption, ConfigOption, JsonOption, PrefixOption, StoreOption
from gateleg.commands.settings import settings_from


def cancel(
    job: JobArgument,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    app: AppOption = None,
    config: ConfigOption = None,
    reason: Annotated[str | None, typer.Option(help="The reason, shown with the job.")] = None,
    tree: Annotated[bool, typer.Option("--tree", help="Also cancel all its descendants.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Do not wait for a running handler; its result will be rejected.")] = False,
    json: JsonOption = False,
) -> None:
    """Cancel a job. A running job is asked to stop."""
    from gateleg.cli.jobs.formats import plain
    from gateleg.commands.printing import print_json

    with opened_queue(settings_from(config, store=store, prefix=prefix), app) as opened:
        name = find_id(opened, job)
        cancel_tree, cancel_one = opened.cancel_tree, opened.cancel
        done = cancel_tree(name, reason=reason, force=force) if tree else [cancel_one(name, reason=reason, force=force)]
    if json:
        print_json([plain(one) for one in done])
        return
    for one in done:
        asked = one.cancel_requested is not None and not one.finished
        typer.echo(f"{one.job_id} {'is asked to stop' if asked else f'is {one.status}'}")


def retry(
    job: Annotated[
        str | None, typer.Argument(help="The job's id, or a prefix of it; without one, all failed jobs that match the options.")
    ] = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    app: AppOption = None,
    config: ConfigOption = None,
    all: Annotated[bool, typer.Option("--all", help="All failed jobs.")] = False,
    type: TypeOption = None,
    subject: SubjectOption = None,
    queue: QueueOption = None,
    limit: Annotated[int, typer.Option(min=1, help="The maximum number.")] = 1000,
    json: JsonOption = False,
) -> None:
    """Retry a failed or cancelled job, or all failed jobs of a type, a subject or a queue."""
    from gateleg.cli.jobs.formats import plain
    from gateleg.commands.printing import print_json

    if job is None and not (all or type or subject or queue):
        fail("pass a job id, or select jobs with --all, --type, --subject or --queue", MISUSED)
    with opened_queue(settings_from(config, store=store, prefix=prefix), app) as opened:
        if job is not None:
            done = [opened.retry(find_id(opened, job))]
        else:
            done = opened.retry_failed(job_type=type, subject=subject, queue=queue, limit=limit)
    if json:
        print_json([plain(one) for one in done])
    else:
        typer.echo(f"{len(done):,} {'job waits' if len(done) == 1 else 'jobs wait'} again")
