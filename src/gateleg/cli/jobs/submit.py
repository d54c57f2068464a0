"""`submit`."""

from typing import Annotated

import typer

from gateleg.cli.jobs.queue_connection import find_id, submitting_queue
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
    queue: Annotated[str | None, typer.Option("--queue", "-q", help="Queue to use instead of the job type's own.")] = None,
    priority: Annotated[int | None, typer.Option(help="0 to 100, higher first.")] = None,
    subject: Annotated[str | None, typer.Option(help="What the job is about: a conversation, a project.")] = None,
    delay: Annotated[float | None, typer.Option(help="Seconds to wait before it may start.")] = None,
    after: Annotated[list[str] | None, typer.Option(help="Job that must be completed first; may be repeated.")] = None,
    key: Annotated[str | None, typer.Option(help="Idempotency key: submitting again with the same key returns the first job.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print its log until it has finished.")] = False,
    json: JsonOption = False,
) -> None:
    """Submit a job; prints its id."""
    from gateleg.cli.jobs.formats import plain
    from gateleg.cli.jobs.inspection import print_updates
    from gateleg.commands.printing import print_json
    from gateleg.jobs import Submission

    given = read_config(config)
    settings = settings_from(settings_file, store=store, prefix=prefix)
    with submitting_queue(settings, app, job_type, given) as opened:
        submission = Submission(
            job_type,
            given,
            queue=queue,
            priority=priority,
            subject=subject,
            delay=delay,
            depends_on=[find_id(opened, text) for text in after or ()],
            idempotency_key=key,
            tags=tag or (),
            created_by="command line",
        )
        answer = opened.submit(submission)
        if json:
            print_json({"created": answer.created, "job": plain(answer.job)})
        else:
            typer.echo(str(answer.job.job_id))
        if follow:
            print_updates(opened, answer.job.job_id)
