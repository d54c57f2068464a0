"""`schedules`: list, add, switch on and off, remove."""

from typing import Annotated

import typer

from gateleg.cli.jobs.opening import AppOption, opened_queue
from gateleg.cli.jobs.submitting import read_config
from gateleg.cli.tables.options import DEFAULT_STORE, JsonOption, PrefixOption, StoreOption

app = typer.Typer(help="Jobs that are submitted again and again.", invoke_without_command=True)
NameArgument = Annotated[str, typer.Argument(help="The schedule's name.")]


@app.callback()
def schedules(context: typer.Context) -> None:
    """Jobs that are submitted again and again."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(name="list")
def listed(store: StoreOption = DEFAULT_STORE, prefix: PrefixOption = "", json: JsonOption = False) -> None:
    """List all schedules with their next runs."""
    from gateleg.cli.jobs.showing import plain
    from gateleg.cli.tables.printing import print_json, print_rows

    with opened_queue(store, prefix) as opened:
        found = opened.schedules()
    if json:
        print_json([plain(one) for one in found])
    elif not found:
        typer.echo("No schedules.")
    else:
        print_rows(
            [
                {
                    "name": one.name,
                    "type": one.job_type,
                    "when": one.cron or f"every {one.every} s",
                    "zone": one.timezone if one.cron else "",
                    "next": f"{one.next_run_at:%Y-%m-%d %H:%M:%S}" if one.enabled and one.next_run_at else "off",
                    "last": f"{one.last_run_at:%Y-%m-%d %H:%M:%S}" if one.last_run_at else "",
                    "skipped": str(one.skipped) if one.skipped else "",
                }
                for one in found
            ]
        )


@app.command()
def add(
    name: NameArgument,
    job_type: Annotated[str, typer.Argument(help="A job type of the application.")],
    config: Annotated[str, typer.Argument(help="The config, as JSON.")] = "{}",
    cron: Annotated[str | None, typer.Option(help="Minute, hour, day, month and weekday, such as '0 3 * * mon-fri'.")] = None,
    every: Annotated[int | None, typer.Option(min=1, help="Seconds between two runs.")] = None,
    timezone: Annotated[str, typer.Option(help="The time zone of --cron.")] = "UTC",
    max_delay: Annotated[int, typer.Option(min=0, help="A run that is later than this many seconds is skipped.")] = 600,
    queue: Annotated[str | None, typer.Option("--queue", "-q", help="Another queue than the job type's.")] = None,
    app: AppOption = None,
    store: StoreOption = DEFAULT_STORE,
    prefix: PrefixOption = "",
) -> None:
    """Make a schedule, or put another in its place."""
    from gateleg.jobs import Submission

    submission = Submission(job_type, read_config(config), queue=queue)
    with opened_queue(store, prefix, app) as opened:
        made = opened.schedule(name, submission, cron=cron, every=every, timezone=timezone, max_delay=max_delay)
    typer.echo(f"{name} runs next at {made.next_run_at:%Y-%m-%d %H:%M:%S} UTC")


@app.command()
def enable(name: NameArgument, store: StoreOption = DEFAULT_STORE, prefix: PrefixOption = "") -> None:
    """Switch a schedule on, without what it has missed."""
    with opened_queue(store, prefix) as opened:
        made = opened.set_enabled(name, True)
    typer.echo(f"{name} runs next at {made.next_run_at:%Y-%m-%d %H:%M:%S} UTC")


@app.command()
def disable(name: NameArgument, store: StoreOption = DEFAULT_STORE, prefix: PrefixOption = "") -> None:
    """Switch a schedule off."""
    with opened_queue(store, prefix) as opened:
        opened.set_enabled(name, False)
    typer.echo(f"{name} is off")


@app.command()
def remove(name: NameArgument, store: StoreOption = DEFAULT_STORE, prefix: PrefixOption = "") -> None:
    """Take a schedule away."""
    with opened_queue(store, prefix) as opened:
        opened.unschedule(name)
    typer.echo(f"{name} is gone")
