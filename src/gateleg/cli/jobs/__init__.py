"""`gateleg jobs ...`: submit, inspect and control jobs."""

import typer

from gateleg.cli.action_commands import add_actions
from gateleg.cli.commands import HELP
from gateleg.cli.jobs import actions, inspection, queues, schedules
from gateleg.host.actions.jobs import JOB_ACTIONS
from gateleg.host.actions.queues import QUEUE_ACTIONS

app = typer.Typer(help=HELP["jobs"], add_completion=False, no_args_is_help=True)
app.command()(actions.submit)
app.command()(actions.submit_many)
app.command(name="list")(inspection.listed)
app.command()(inspection.show)
app.command()(inspection.logs)
app.command()(inspection.tree)
app.command()(inspection.archive)
add_actions(app, (*JOB_ACTIONS, *QUEUE_ACTIONS), "jobs")
app.command()(queues.stats)
app.command()(queues.workers)
app.add_typer(schedules.app, name="schedules")
