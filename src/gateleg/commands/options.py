"""Options that commands share. Options for settings override `gateleg.toml` and `GATELEG_*`; None means not set."""

from pathlib import Path
from typing import Annotated

import typer

ConfigOption = Annotated[Path | None, typer.Option("--config", "-c", help="Settings file; gateleg.toml by default, if it exists.")]
StoreOption = Annotated[
    str | None, typer.Option("--store", help="embedded:FOLDER, http://host:port or dynamodb:REGION; from the settings by default.")
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", help="Folder for the host's own files, and for tables and objects that the settings do not place elsewhere."),
]
PrefixOption = Annotated[str | None, typer.Option("--prefix", help="Prefix of all table names.")]
ObjectsOption = Annotated[str | None, typer.Option("--objects", help="dir:FOLDER or s3://bucket.")]
AppOption = Annotated[
    str | None,
    typer.Option(
        "--app", help="module:object with an application or job handlers, such as shop.work:jobs; all installed applications by default."
    ),
]
TablesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tables",
        "-t",
        help="Python module that declares tables; may be repeated. By default, the installed applications and Gateleg itself.",
    ),
]
HostOption = Annotated[str | None, typer.Option("--host", help="Address to listen on; any but loopback requires an API key.")]
PortOption = Annotated[int | None, typer.Option("--port", "-p", min=0, max=65535, help="Port to listen on; 0 picks a free one.")]
DynamoOption = Annotated[
    bool | None, typer.Option("--dynamodb/--no-dynamodb", help="Serve the DynamoDB protocol at /dynamodb, for SDKs; off by default.")
]
LogOption = Annotated[str | None, typer.Option("--log", help="human or json.")]

JsonOption = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON.")]
OnlyOption = Annotated[list[str] | None, typer.Option("--only", help="Only this table; may be repeated.")]
ArgumentsOption = Annotated[list[str] | None, typer.Option("--arg", "-a", help="name=value; may be repeated.")]
CursorOption = Annotated[str | None, typer.Option("--cursor", help="The cursor that the previous page ended with, to continue after it.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, help="Items to show.")]
