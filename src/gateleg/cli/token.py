"""`gateleg token`: the local token of a host without keys."""

from pathlib import Path
from typing import Annotated

import typer

from gateleg.commands.opening import settings_from
from gateleg.commands.options import ConfigOption

app = typer.Typer(add_completion=False)


@app.command()
def token(
    data: Annotated[Path | None, typer.Option("--data", help="The data folder of the host.")] = None, config: ConfigOption = None
) -> None:
    """Print the token of a host without keys, for `Authorization: Bearer ...`. It stops working once the first key is created."""
    from gateleg.cli.host_runner import explain
    from gateleg.host.credentials import token_from

    settings = settings_from(config, data=data)
    try:
        typer.echo(token_from(settings.load_secret(make=False)))
    except Exception as error:
        explain(error, settings)
