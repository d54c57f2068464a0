"""The options that the table commands share."""

from typing import Annotated

import typer

StoreOption = Annotated[
    str,
    typer.Option("--store", envvar="GATELEG_STORE", help="embedded:FOLDER, http://host:port or dynamodb:REGION."),
]
TablesOption = Annotated[
    list[str] | None,
    typer.Option("--tables", "-t", envvar="GATELEG_TABLES", help="Python module that declares tables and entities; may be repeated."),
]
PrefixOption = Annotated[str, typer.Option("--prefix", envvar="GATELEG_PREFIX", help="Stands before every table name.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")]
OnlyOption = Annotated[list[str] | None, typer.Option("--only", help="Only this table; may be repeated.")]
ArgumentsOption = Annotated[list[str] | None, typer.Option("--arg", "-a", help="name=value; may be repeated.")]
CursorOption = Annotated[str | None, typer.Option("--cursor", help="Go on where an earlier answer ended.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, help="Items to show.")]

DEFAULT_STORE = "embedded:./data"
