"""`gateleg up`: everything on this machine with one command."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from gateleg.cli.host_runner import announce_link
from gateleg.commands.opening import settings_from
from gateleg.commands.options import (
    ConfigOption,
    DataOption,
    DynamoOption,
    HostOption,
    LogOption,
    ObjectsOption,
    PortOption,
    PrefixOption,
    StoreOption,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence
    from contextlib import AbstractAsyncContextManager

    from gateleg.host.application import Application
    from gateleg.host.host import Host
    from gateleg.host.settings import Settings

app = typer.Typer(add_completion=False)


@app.command()
def up(
    data: DataOption = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    objects: ObjectsOption = None,
    host: HostOption = None,
    port: PortOption = None,
    demo: Annotated[bool, typer.Option("--demo", help="Load sample data and run sample jobs.")] = False,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the console in a browser, if there is one.")] = True,
    concurrency: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of concurrent jobs.")] = 4,
    dynamodb: DynamoOption = None,
    drain: Annotated[float, typer.Option(min=0.0, help="Seconds that running jobs have to finish after Ctrl-C.")] = 10.0,
    log: LogOption = None,
    config: ConfigOption = None,
) -> None:
    """Start the store, the objects, a worker, the API and the console on this machine. Ctrl-C lets running jobs finish."""
    from gateleg.cli.host_runner import run_host
    from gateleg.cli.installed import installed_applications
    from gateleg.cli.shutdown import STARTED_AGAIN, start_again
    from gateleg.cli.worker_process import WorkerTask, worker_process

    settings = settings_from(
        config, store=store, data=data, objects=objects, prefix=prefix, host=host, port=port, dynamodb=dynamodb, log=log
    )
    applications = installed_applications(settings, demo=demo)
    task = WorkerTask.of(settings, demo=demo, concurrency=concurrency, drain_seconds=drain)

    async def prepare(host: "Host") -> None:
        for application in host.applications if demo else ():
            if application.demo is not None:
                await application.demo(host.resources[application.name])

    def ready(address: str, link: str | None) -> None:
        _announce(address, settings, applications)
        announce_link(link)
        if browser and STARTED_AGAIN not in os.environ:
            _open_browser(link or address)

    def beside(stop: "asyncio.Event") -> "AbstractAsyncContextManager[None]":
        return worker_process(task, stop)

    run_host(settings, applications, ready, prepared=prepare, beside=beside, drain=drain, when_silent=start_again)
    typer.echo("Gateleg has stopped.")


def _announce(address: str, settings: "Settings", applications: "Sequence[Application]") -> None:
    from gateleg.host.settings import format_setting

    typer.echo(f"Gateleg is up at {address}")
    typer.echo(f"  {format_setting(settings.store)} · {format_setting(settings.objects)} · API at {address}/api/docs · Ctrl-C stops it")
    if settings.dynamodb:
        typer.echo(f"  DynamoDB for SDKs at {address}/dynamodb")
    for application in applications:
        if settings.console and application.pages is not None:
            typer.echo(f"  {application.title}: {address}/{application.name}")
        elif application.routes is not None:
            typer.echo(f"  {application.title}: {address}/api/{application.name}")


def _open_browser(address: str) -> None:
    """Open the console, if there is a screen and the command was typed in a terminal."""
    import sys
    import webbrowser

    if not sys.stdout.isatty():
        return
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return
    webbrowser.open(address)
