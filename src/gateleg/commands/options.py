"""The options that commands share. Those of the settings override `gateleg.toml` and `GATELEG_*`; None means that they were not given."""

from pathlib import Path
from typing import Annotated

import typer

ConfigOption = Annotated[Path | None, typer.Option("--config", "-c", help="Settings file; gateleg.toml, if it is there.")]
StoreOption = Annotated[
    str | None, typer.Option("--store", help="embedded:FOLDER, http://host:port or dynamodb:REGION; that of the settings, when left out.")
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", help="The folder of `gateleg up --data`; that of the settings, when left out."),
]
PrefixOption = Annotated[str | None, typer.Option("--prefix", help="Stands before every table name.")]
JobTablesOption = Annotated[
    str | None,
    typer.Option(
        "--job-tables",
        help="The queue's tables: delphi (DelphiJobQueue, ...), which hosts use, or plain (JobQueue, ...), as `Queue(store, jobs)`.",
    ),
]
ObjectsOption = Annotated[str | None, typer.Option("--objects", help="dir:FOLDER or s3://bucket.")]
AppOption = Annotated[
    str | None,
    typer.Option(
        "--app", help="module:object with an application or job handlers, such as shop.work:jobs; all installed ones, when left out."
    ),
]
TablesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tables",
        "-t",
        help="Python module that declares tables; may be repeated. When left out: the installed applications and Gateleg itself.",
    ),
]
HostOption = Annotated[str | None, typer.Option("--host", help="Address to listen on; off loopback, a key must exist.")]
PortOption = Annotated[int | None, typer.Option("--port", "-p", min=0, max=65535, help="Port to listen on; 0 takes a free one.")]
DynamoOption = Annotated[
    bool | None, typer.Option("--dynamodb/--no-dynamodb", help="Speak DynamoDB's protocol at /dynamodb, for SDKs; off by default.")
]
LogOption = Annotated[str | None, typer.Option("--log", help="human or json.")]

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")]
OnlyOption = Annotated[list[str] | None, typer.Option("--only", help="Only this table; may be repeated.")]
ArgumentsOption = Annotated[list[str] | None, typer.Option("--arg", "-a", help="name=value; may be repeated.")]
CursorOption = Annotated[str | None, typer.Option("--cursor", help="Go on where an earlier answer ended.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, help="Items to show.")]
