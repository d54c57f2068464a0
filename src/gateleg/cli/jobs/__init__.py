"""`gateleg jobs ...`: submit, inspect and control jobs."""

import typer

from gateleg.cli.jobs import directing, looking, queues, schedules, submitting

app = typer.Typer(help="Jobs: submit, list, follow, cancel and retry them; queues, schedules and the archive.", no_args_is_help=True)
app.command()(submitting.submit)
app.command(name="list")(looking.listed)
app.command()(looking.show)
app.command()(looking.logs)
app.command()(looking.tree)
app.command()(looking.archive)
app.command()(directing.cancel)
app.command()(directing.retry)
app.command()(queues.pause)
app.command()(queues.resume)
app.command()(queues.drain)
app.command()(queues.stats)
app.command()(queues.workers)
app.add_typer(schedules.app, name="schedules")
