"""How a command says that it could not do its work: one line, and a status that a script can tell apart."""

from typing import NoReturn

import typer

#: What was asked for could not be done.
FAILED = 1
#: The arguments do not go together; the same status that a wrong option gives.
MISUSED = 2


def fail(message: str, status: int = FAILED) -> NoReturn:
    """Print the message to standard error and end the command."""
    from gateleg.store.observing.redaction import without_credentials

    typer.echo(f"gateleg: {without_credentials(message)}", err=True)
    raise typer.Exit(status)
