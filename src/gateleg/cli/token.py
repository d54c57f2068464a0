"""`gateleg token`: the local token of a host without keys."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gateleg.cli.hosting import ConfigOption

app = typer.Typer(add_completion=False)


@app.command()
def token(
    data: Annotated[Path | None, typer.Option("--data", help="The data folder of the host.")] = None, config: ConfigOption = None
) -> None:
    """Print the token of a host without keys, for `Authorization: Bearer ...`. The first key ends it."""
    from gateleg.cli.hosting import explain, settings_from
    from gateleg.web.local import token_from

    flags: dict[str, Any] = {"data": data}
    settings = settings_from(config, flags)
    try:
        typer.echo(token_from(settings.load_secret(make=False)))
    except Exception as error:
        explain(error, settings)
