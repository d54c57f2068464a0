"""`submit`."""

from typing import Annotated, Any

import typer

from gateleg.cli.jobs.queue_connection import find_id, submitting_queue
from gateleg.cli.jobs.submission_options import takes_options_of
from gateleg.commands.configs import read_config
from gateleg.commands.options import AppOption, ConfigOption, JsonOption, PrefixOption, StoreOption
from gateleg.commands.settings import settings_from
from gateleg.jobs.submission import JobAttributes


@takes_options_of(JobAttributes)
def submit(
    job_type: Annotated[str, typer.Argument(help="A job type of the application.")],
    config: Annotated[str, typer.Argument(help="The config, as JSON; - reads it from standard input.")] = "{}",
    app: AppOption = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    settings_file: ConfigOption = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print its log until it has finished.")] = False,
    json: JsonOption = False,
    **attributes: Any,
) -> None:
    """Submit a job; prints its id."""
    from gateleg.cli.jobs.formats import plain
    from gateleg.cli.jobs.inspection import print_updates
    from gateleg.commands.printing import print_json

    given = read_config(config)
    settings = settings_from(settings_file, store=store, prefix=prefix)
    with submitting_queue(settings, app, job_type, given) as opened:
        if "dependencies" in attributes:
            attributes["dependencies"] = [find_id(opened, text) for text in attributes["dependencies"]]
        if "parent_job_id" in attributes:
            attributes["parent_job_id"] = find_id(opened, attributes["parent_job_id"])
        answer = opened.submit(JobAttributes.read(attributes).submission(job_type, given, created_by="command line"))
        if json:
            print_json({"created": answer.created, "job": plain(answer.job)})
        else:
            typer.echo(str(answer.job.job_id))
        if follow:
            print_updates(opened, answer.job.job_id)
