"""`gateleg serve`: the API and the console for production; workers are started separately."""

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

app = typer.Typer(add_completion=False)


@app.command()
def serve(
    store: StoreOption = None,
    data: DataOption = None,
    prefix: PrefixOption = None,
    objects: ObjectsOption = None,
    host: HostOption = None,
    port: PortOption = None,
    dynamodb: DynamoOption = None,
    log: LogOption = None,
    config: ConfigOption = None,
) -> None:
    """Serve the API and the console; run workers with `gateleg worker`. SIGINT and SIGTERM let running requests finish."""
    from gateleg.cli.host_runner import run_host
    from gateleg.cli.installed import installed_applications
    from gateleg.host.settings import format_setting

    settings = settings_from(
        config, store=store, data=data, objects=objects, prefix=prefix, host=host, port=port, dynamodb=dynamodb, log=log
    )

    def ready(address: str, link: str | None) -> None:
        typer.echo(f"Serving {format_setting(settings.store)} at {address}")
        announce_link(link)

    run_host(settings, installed_applications(settings), ready)
