"""`gateleg serve`: the API and the console for production; workers are started apart."""

import typer

from gateleg.cli.hosting import (
    ConfigOption,
    DynamoFlag,
    HostOption,
    LogOption,
    ObjectsFlag,
    PortOption,
    PrefixFlag,
    StoreFlag,
    announce_link,
)

app = typer.Typer(add_completion=False)


@app.command()
def serve(
    store: StoreFlag = None,
    prefix: PrefixFlag = None,
    objects: ObjectsFlag = None,
    host: HostOption = None,
    port: PortOption = None,
    dynamodb: DynamoFlag = None,
    log: LogOption = None,
    config: ConfigOption = None,
) -> None:
    """Serve the API and the console. Workers run apart: `gateleg worker`. SIGINT and SIGTERM let requests end."""
    from gateleg.cli.hosting import run_host, settings_from
    from gateleg.cli.installed import installed_applications
    from gateleg.web.settings import shown

    flags = {"store": store, "prefix": prefix, "objects": objects, "host": host, "port": port, "dynamodb": dynamodb, "log": log}
    settings = settings_from(config, flags)

    def ready(address: str, link: str | None) -> None:
        typer.echo(f"Serving {shown(settings.store)} at {address}")
        announce_link(link)

    run_host(settings, installed_applications(settings), ready)
