"""`submit` and `submit-many`, and the options of commands that submit jobs: one for each attribute of a submission, as
`gateleg.jobs.submission` declares them.
"""

import functools
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import typer

from gateleg.cli.action_commands import perform_by_command
from gateleg.cli.jobs.queue_connection import find_id, submitting_queue
from gateleg.commands.opening import read_config, settings_from
from gateleg.commands.options import AppOption, ConfigOption, JsonOption, PrefixOption, StoreOption
from gateleg.commands.printing import MISUSED, fail
from gateleg.jobs.submission import JobAttributes, RunAttributes


class _Words(NamedTuple):
    """What an option has besides its own name: shorter ones, and a help that says what only a command line can."""

    flags: tuple[str, ...] = ()
    help: str | None = None


_WORDS = {
    "queue": _Words(("-q",)),
    "timeout_seconds": _Words(("--timeout",)),
    "tags": _Words(("--tag",), "A tag; may be repeated."),
    "job_id": _Words(help="Its id, chosen by you; a random one by default."),
    "run_at": _Words(help="Do not start it before this time, such as 2030-01-31T08:00:00Z."),
    "dependencies": _Words(("--after",), "Job that must be completed first; may be repeated."),
    "parent_job_id": _Words(("--parent",), "The parent in the tree of jobs; may be the beginning of an id."),
    "idempotency_key": _Words(("--key",)),
}


def takes_options_of(attributes: type[RunAttributes]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each attribute. Its last parameter, `**attributes`, gets those that were given, as they were typed."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        *own, _ = signature.parameters.values()
        added = [_option(name, attributes) for name in attributes.model_fields]

        @functools.wraps(command)
        def with_options(**values: Any) -> None:
            given = {name: value for name, value in values.items() if name not in attributes.model_fields or value not in (None, [])}
            command(**given)

        with_options.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
        return with_options

    return decorate


def _option(name: str, attributes: type[RunAttributes]) -> inspect.Parameter:
    """The parameter from which Typer makes an option. Ids and times are texts: an id may be the beginning of one."""
    field, words = attributes.model_fields[name], _WORDS.get(name, _Words())
    kinds = {field.annotation, *get_args(field.annotation)}
    kind: Any = list[str] if get_origin(field.annotation) is list else next((kind for kind in (int, float) if kind in kinds), str)
    option = typer.Option(f"--{name.replace('_', '-')}", *words.flags, help=words.help or field.description)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option])


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
    from gateleg.cli.jobs.inspection import print_updates
    from gateleg.commands.printing import print_json
    from gateleg.host.actions.jobs import NewJob, SubmissionResult, submit_job

    given = read_config(config)
    settings = settings_from(settings_file, store=store, prefix=prefix)
    with submitting_queue(settings, app, job_type, given) as opened:
        if "dependencies" in attributes:
            attributes["dependencies"] = [find_id(opened, text) for text in attributes["dependencies"]]
        if "parent_job_id" in attributes:
            attributes["parent_job_id"] = find_id(opened, attributes["parent_job_id"])
        new = NewJob(job_type=job_type, config=given, **JobAttributes.read(attributes).model_dump(exclude_unset=True))
        answer, _ = perform_by_command(submit_job, settings, new, app=app, jobs=opened.context.jobs)
        if json:
            print_json(SubmissionResult.of(answer).model_dump(mode="json"))
        else:
            typer.echo(str(answer.job.job_id))
        if follow:
            print_updates(opened, answer.job.job_id)


def submit_many(
    document: Annotated[
        str,
        typer.Argument(help='A file with a JSON list of jobs: [{"job_type": ..., "config": {...}}]; - reads standard input.'),
    ],
    app: AppOption = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    settings_file: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Submit several jobs, which may depend on each other; prints their ids. If one of them is refused, none is submitted."""
    from pydantic import ValidationError

    from gateleg.commands.printing import print_json
    from gateleg.host.actions.jobs import NewJobs, submit_jobs

    try:
        content = sys.stdin.read() if document == "-" else Path(document).read_text()
        new = NewJobs.model_validate_json(f'{{"jobs": {content}}}')
    except OSError as error:
        fail(f"cannot read {document}: {error.strerror or error}", MISUSED)
    except ValidationError as error:
        problem = error.errors()[0]
        fail(f"{document} is not a list of jobs: {'.'.join(str(part) for part in problem['loc'][1:])} {problem['msg']}", MISUSED)
    settings = settings_from(settings_file, store=store, prefix=prefix)
    with submitting_queue(settings, app, new.jobs[0].job_type, new.jobs[0].config) as opened:
        answers, _ = perform_by_command(submit_jobs, settings, new, app=app, jobs=opened.context.jobs)
    if json:
        print_json(submit_jobs.reply(answers).model_dump(mode="json"))
    else:
        typer.echo("\n".join(str(answer.job.job_id) for answer in answers))
