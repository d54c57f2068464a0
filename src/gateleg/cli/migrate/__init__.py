"""`gateleg migrate`: the numbered migrations of applications."""

from collections.abc import Callable

import typer

from gateleg.cli.migrate import changes, inspection

app = typer.Typer(
    help="Numbered migrations of applications: plan, apply, monitor, verify and roll back.", no_args_is_help=True, add_completion=False
)

_COMMANDS: tuple[Callable[..., None], ...] = (
    inspection.plan,
    changes.apply,
    inspection.status,
    inspection.errors,
    changes.repeat,
    changes.verify,
    changes.rollback,
    changes.pause,
    changes.resume,
)
for command in _COMMANDS:
    app.command()(command)
