"""`gateleg streams`: changes that handlers of an application failed to process."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateleg.cli.installed import settings_of_tables
from gateleg.commands.opening import opened
from gateleg.commands.options import ConfigOption, JsonOption, PrefixOption, StoreOption
from gateleg.commands.printing import FAILED, MISUSED, fail, print_json

if TYPE_CHECKING:
    from gateleg.host import Application
    from gateleg.host.settings import Settings
    from gateleg.jobs.table_streams import FailedChange

app = typer.Typer(
    help="Changes that an application's handlers failed to process: list and repeat them.", add_completion=False, no_args_is_help=True
)

ApplicationArgument = Annotated[str, typer.Argument(help="The application that has the handlers.")]


@app.command()
def failed(
    application: ApplicationArgument,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to list.")] = 50,
    after: Annotated[str | None, typer.Option(help="Continue after an earlier page: the cursor that it ended with.")] = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List the changes that a handler failed to process, each with its error. They are kept until they are repeated."""
    from gateleg.jobs.table_streams import FailedChange, stream_table

    settings = settings_of_tables(config, store=store, prefix=prefix)
    _consuming(settings, application)
    with opened(settings) as target:
        # There may be no consumer yet.
        target.ensure_tables(stream_table)
        page = target.page(FailedChange.of_consumer, consumer=application, limit=limit, cursor=after)
    if json:
        print_json({"items": [_plain(one) for one in page], "next": page.next})
        return
    for one in page:
        when = f"{one.failed_at:%Y-%m-%d %H:%M:%S}"
        typer.echo(f"{one.event_id}  {when}  {one.table}, {one.handler}, {one.attempts} attempts: {one.error}")
    if page.next is not None:
        typer.echo(f"More: --after {page.next}")
    if not page.items:
        typer.echo("No failed changes.")


@app.command()
def repeat(
    application: ApplicationArgument,
    event: Annotated[str | None, typer.Option("--event", help="The event id of one change; all by default.")] = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
) -> None:
    """Call the handlers again with the changes that they failed to process. Exits with 1 if some fail again."""
    import asyncio

    settings = settings_of_tables(config, store=store, prefix=prefix)
    tried, taken = asyncio.run(_repeated(settings, _consuming(settings, application), event))
    if event is not None and not tried:
        fail(f"{application} has no failed change {event}", FAILED)
    typer.echo(f"{tried:,} repeated, {tried - taken:,} failed again")
    if taken < tried:
        raise typer.Exit(FAILED)


async def _repeated(settings: "Settings", application: "Application", event: str | None) -> tuple[int, int]:
    from gateleg.commands.opening import open_resources
    from gateleg.host.change_consumers import consumer_of

    counts = [(0, 0)]
    async with open_resources(application, settings) as resources:
        consumer = consumer_of(application, resources)
        if consumer is not None:
            await consumer.repeat_failed(event, watch=lambda tried, taken: counts.append((tried, taken)))
    return counts[-1]


def _consuming(settings: "Settings", name: str) -> "Application":
    """An installed application that has change handlers."""
    from gateleg.cli.installed import installed_applications

    found = {one.name: one for one in installed_applications(settings) if one.table_streams is not None}
    if name not in found:
        known = f"use one of {', '.join(found)}" if found else "no installed application has any"
        fail(f"{name} has no change handlers; {known}", MISUSED)
    return found[name]


def _plain(one: "FailedChange") -> dict[str, Any]:
    return {
        "event_id": one.event_id,
        "table": one.table,
        "handler": one.handler,
        "error": one.error,
        "attempts": one.attempts,
        "failed_at": one.failed_at,
        "keys": one.record.get("dynamodb", {}).get("Keys"),
    }
