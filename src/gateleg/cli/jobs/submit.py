"""`submit`."""

from typing import Annotated

import typer

from gateleg.cli.jobs.queue_connection import find_id, submitting_queue
from gateleg.cli.jobs.run_options import (
    AboutOption,
    ConcurrencyKeyOption,
    ConcurrencyLimitOption,
    PriorityOption,
    RetriesOption,
    RunQueueOption,
    StartWithinOption,
    TagsOption,
    TimeoutOption,
)
from gateleg.commands.configs import read_config
from gateleg.commands.options import AppOption, ConfigOption, JsonOption, PrefixOption, StoreOption
from gateleg.commands.settings import settings_from


def submit(
    job_type: Annotated[str, typer.Argument(help="A job type of the application.")],
    config: Annotated[str, typer.Argument(help="The config, as JSON; - reads it from standard input.")] = "{}",
    app: AppOption = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    settings_file: ConfigOption = None,
    queue: RunQueueOption = None,
    priority: PriorityOption = None,
    subject: AboutOption = None,
    max_retries: RetriesOption = None,
    timeout_seconds: TimeoutOption = None,
    start_within: StartWithinOption = None,
    concurrency_key: ConcurrencyKeyOption = None,
    concurrency_limit: ConcurrencyLimitOption = 1,
    tags: TagsOption = None,
    job_id: Annotated[str | None, typer.Option(help="Its id, chosen by you; a random one by default.")] = None,
    run_at: Annotated[str | None, typer.Option(help="Do not start it before this time, such as 2030-01-31T08:00:00Z.")] = None,
    delay: Annotated[float | None, typer.Option(help="Seconds to wait before it may start.")] = None,
    start_by: Annotated[str | None, typer.Option(help="Do not start it after this time.")] = None,
    dependencies: Annotated[
        list[str] | None, typer.Option("--dependencies", "--after", help="Job that must be completed first; may be repeated.")
    ] = None,
    parent_job_id: Annotated[
        str | None, typer.Option("--parent-job-id", "--parent", help="The parent in the tree of jobs; may be the beginning of an id.")
    ] = None,
    stage: Annotated[str | None, typer.Option(help="Its label in the tree, to distinguish children of the same type.")] = None,
    idempotency_key: Annotated[
        str | None, typer.Option("--idempotency-key", "--key", help="Submitting again with the same key returns the first job.")
    ] = None,
    unique_key: Annotated[str | None, typer.Option(help="The same, but only while that job is waiting.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print its log until it has finished.")] = False,
    json: JsonOption = False,
) -> None:
    """Submit a job; prints its id."""
    from gateleg.cli.jobs.formats import plain
    from gateleg.cli.jobs.inspection import print_updates
    from gateleg.commands.printing import print_json
    from gateleg.jobs.submission import JobAttributes

    given = read_config(config)
    settings = settings_from(settings_file, store=store, prefix=prefix)
    with submitting_queue(settings, app, job_type, given) as opened:
        values = {
            "queue": queue,
            "priority": priority,
            "subject": subject,
            "max_retries": max_retries,
            "timeout_seconds": timeout_seconds,
            "start_within": start_within,
            "concurrency_key": concurrency_key,
            "concurrency_limit": concurrency_limit,
            "tags": tags or [],
            "job_id": job_id,
            "run_at": run_at,
            "delay": delay,
            "start_by": start_by,
            "dependencies": [find_id(opened, text) for text in dependencies or ()],
            "parent_job_id": None if parent_job_id is None else find_id(opened, parent_job_id),
            "stage": stage,
            "idempotency_key": idempotency_key,
            "unique_key": unique_key,
        }
        answer = opened.submit(JobAttributes.read(values).submission(job_type, given, created_by="command line"))
        if json:
            print_json({"created": answer.created, "job": plain(answer.job)})
        else:
            typer.echo(str(answer.job.job_id))
        if follow:
            print_updates(opened, answer.job.job_id)
