"""All commands, put together. A group is imported when it is called, and what a command needs when it runs, so that each starts quickly."""

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import gateleg

#: Command, and the module whose `app` holds it: a group, or one command alone.
GROUPS = {
    "up": "gateleg.cli.up",
    "serve": "gateleg.cli.serve",
    "engine": "gateleg.cli.engine",
    "tables": "gateleg.cli.tables",
    "jobs": "gateleg.cli.jobs",
    "worker": "gateleg.cli.worker",
    "keys": "gateleg.cli.keys",
    "secrets": "gateleg.cli.secrets",
    "token": "gateleg.cli.token",
    "config": "gateleg.cli.config",
    "delphi": "gateleg.cli.delphi",
}


class Commands(TyperGroup):
    """The commands of this module, and the groups by name."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the order in which help shows them."""
        return [*GROUPS, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command, whose group is imported now."""
        if cmd_name not in GROUPS:
            return super().get_command(ctx, cmd_name)
        command = typer.main.get_command(import_module(GROUPS[cmd_name]).app)
        command.name = cmd_name
        return command


app = typer.Typer(
    name="gateleg",
    cls=Commands,
    help="Build DynamoDB applications in Python that run embedded in one process or on Amazon DynamoDB, unchanged.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gateleg {gateleg.__version__}")
        raise typer.Exit


@app.callback()
def gateleg_command(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    """Take the options that stand before a command."""
