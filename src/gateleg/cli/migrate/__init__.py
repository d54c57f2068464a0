"""`gateleg migrate`: the numbered migrations of applications."""

import typer

from gateleg.cli.migrate import changes, looking

app = typer.Typer(help="Numbered migrations of applications: plan, apply, watch, verify and undo them.", no_args_is_help=True)

for command in (looking.plan, changes.apply, looking.status, changes.verify, changes.rollback, changes.pause, changes.resume):
    app.command()(command)
