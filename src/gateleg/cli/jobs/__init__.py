"""`gateleg jobs ...`: submit, inspect and control jobs."""

import typer

from gateleg.cli.commands import HELP
from gateleg.cli.jobs import actions, inspection, queues, schedules

app = typer.Typer(help=HELP["jobs"], add_completion=False, no_args_is_help=True)
app.command()(actions.submit)
app.command(name="list")(inspection.listed)
app.command()(inspection.show)
app.command()(inspection.logs)
app.command()(inspection.tree)
app.command()(inspection.archive)
app.command()(actions.cancel)
app.command()(actions.retry)
app.command()(queues.pause)
app.command()(queues.resume)
app.command()(queues.drain)
app.command()(queues.stats)
app.command()(queues.workers)
app.add_typer(schedules.app, name="schedules")
