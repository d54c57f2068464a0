"""`gateleg objects`: put, delete and share objects."""

import typer

from gateleg.cli.action_commands import add_actions
from gateleg.cli.commands import HELP
from gateleg.host.actions.objects import OBJECT_ACTIONS

app = typer.Typer(help=HELP["objects"], add_completion=False, no_args_is_help=True)
add_actions(app, OBJECT_ACTIONS, "objects")
