"""All commands, put together. What a command needs is imported when it runs, so that help is quick."""

import typer

import gateleg
from gateleg.cli import engine, jobs, tables, worker

app = typer.Typer(
    name="gateleg",
    help="DynamoDB applications in Python: folded into one process, or opened on Amazon DynamoDB.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(engine.app, name="engine")
app.add_typer(tables.app, name="tables")
app.add_typer(jobs.app, name="jobs")
app.command()(worker.worker)


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(gateleg.__version__)
