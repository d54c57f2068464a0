"""`gateleg tables ...`: compare declared with deployed tables, and query them."""

import typer

from gateleg.cli.tables import backfill, changes, check, items, listing, reports, shell, templates, tools, transfer

app = typer.Typer(
    help="Declared tables: plan, apply, query, explain, check, document, export and import them.",
    no_args_is_help=True,
    add_completion=False,
)
app.command(name="list")(listing.listed)
app.command()(changes.plan)
app.command()(changes.apply)
app.command()(changes.drift)
app.command()(reports.explain)
app.command()(reports.docs)
app.command()(reports.lint)
app.command()(templates.template)
app.command()(backfill.backfill)
app.command()(check.check)
app.command()(items.browse)
app.command()(items.query)
app.command()(tools.mcp)
app.command()(shell.shell)
app.command()(transfer.export)
app.command(name="import")(transfer.load)
