"""Failures of commands: one line on standard error, and an exit status for scripts."""

from typing import NoReturn

import typer

#: The command could not do its work.
FAILED = 1
#: The arguments are invalid; also the status for an unknown option.
MISUSED = 2


def fail(message: str, status: int = FAILED) -> NoReturn:
    """Print the message to standard error and end the command."""
    from gateleg.store.errors import without_credentials

    typer.echo(f"gateleg: {without_credentials(message)}", err=True)
    raise typer.Exit(status)
