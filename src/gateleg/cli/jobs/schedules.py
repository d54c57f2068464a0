"""`schedules`: list, add, enable, disable and remove them."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateleg.cli.action_commands import add_actions, perform_by_command
from gateleg.cli.jobs.actions import takes_options_of
from gateleg.cli.jobs.queue_connection import opened_queue, submitting_queue
from gateleg.commands.opening import read_config, settings_from
from gateleg.commands.options import (
    AppOption,
    ConfigOption,
    CursorOption,
    JsonOption,
    LimitOption,
    PrefixOption,
    StoreOption,
)
from gateleg.host.actions.queues import SCHEDULE_ACTIONS, NewSchedule, put_schedule
from gateleg.jobs.submission import RunAttributes

if TYPE_CHECKING:
    from gateleg.jobs.tables import Schedule

app = typer.Typer(help="Schedules: jobs that are submitted periodically.", add_completion=False, invoke_without_command=True)
NameArgument = Annotated[str, typer.Argument(help="The schedule's name.")]


@app.callback()
def schedules(context: typer.Context) -> None:
    """Schedules: jobs that are submitted periodically."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(name="list")
def listed(
    store: StoreOption = None,
    prefix: PrefixOption = None,
    app: AppOption = None,
    config: ConfigOption = None,
    limit: LimitOption = 50,
    cursor: CursorOption = None,
    json: JsonOption = False,
) -> None:
    """List the schedules by name, with their next runs."""
    from gateleg.cli.jobs.formats import plain
    from gateleg.commands.printing import print_json, print_rows

    with opened_queue(settings_from(config, store=store, prefix=prefix), app) as opened:
        page = opened.schedules_page(limit=limit, cursor=cursor)
    if json:
        print_json({"items": [plain(one) for one in page], "next": page.next})
    elif not page.items:
        typer.echo("No schedules.")
    else:
        print_rows(
            [
                {
                    "name": one.name,
                    "type": one.job_type,
                    "when": one.cron or f"every {one.every} s",
                    "zone": one.timezone if one.cron else "",
                    "next": f"{one.next_run_at:%Y-%m-%d %H:%M:%S}" if one.active and one.next_run_at else _state(one),
                    "last": f"{one.last_run_at:%Y-%m-%d %H:%M:%S}" if one.last_run_at else "",
                    "skipped": str(one.skipped) if one.skipped else "",
                }
                for one in page
            ]
        )
        if page.next:
            typer.echo(f"More: --cursor {page.next}", err=True)


def _state(schedule: "Schedule") -> str:
    """Why a schedule does not run."""
    return "no longer declared" if schedule.undeclared_at is not None else "off"


@app.command()
@takes_options_of(RunAttributes)
def add(
    name: NameArgument,
    job_type: Annotated[str, typer.Argument(help="A job type of the application.")],
    config: Annotated[str, typer.Argument(help="The config, as JSON.")] = "{}",
    cron: Annotated[str | None, typer.Option(help="Minute, hour, day, month and weekday, such as '0 3 * * mon-fri'.")] = None,
    every: Annotated[int | None, typer.Option(min=1, help="Seconds between two runs.")] = None,
    timezone: Annotated[str, typer.Option(help="The time zone of --cron.")] = "UTC",
    max_delay: Annotated[int, typer.Option(min=0, help="Skip a run that is late by more than this many seconds.")] = 600,
    app: AppOption = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    settings_file: ConfigOption = None,
    **attributes: Any,
) -> None:
    """Create or replace a schedule."""
    given = read_config(config)
    settings = settings_from(settings_file, store=store, prefix=prefix)
    with submitting_queue(settings, app, job_type, given) as opened:
        when = {"cron": cron, "every": every, "timezone": timezone, "max_delay": max_delay}
        attributes = RunAttributes.read(attributes).model_dump(exclude_unset=True)
        new = NewSchedule.model_validate({"name": name, "job_type": job_type, "config": given} | when | attributes)
        _, words = perform_by_command(put_schedule, settings, new, app=app, jobs=opened.context.jobs)
    typer.echo(words)


add_actions(app, SCHEDULE_ACTIONS, "jobs schedules")
