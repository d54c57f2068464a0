"""`gateleg tables ...`: compare declared with deployed tables, and query them."""

import typer

from gateleg.cli.action_commands import add_actions
from gateleg.cli.commands import HELP
from gateleg.cli.tables import changes, items, reports, transfer
from gateleg.host.actions.items import ITEM_ACTIONS

app = typer.Typer(
    help=HELP["tables"],
    add_completion=False,
    no_args_is_help=True,
)
app.command(name="list")(items.listed)
app.command()(changes.plan)
app.command()(changes.apply)
app.command()(changes.drift)
app.command()(reports.explain)
app.command()(reports.docs)
app.command()(reports.lint)
app.command()(reports.template)
app.command()(transfer.backfill)
app.command()(changes.check)
app.command()(items.browse)
app.command()(items.query)
app.command()(reports.mcp)
app.command()(items.shell)
app.command()(transfer.export)
app.command(name="import")(transfer.load)

_items = typer.Typer(help="Single items: show, create, change and delete them.", add_completion=False, no_args_is_help=True)
_items.command()(items.show)
add_actions(_items, ITEM_ACTIONS, "tables items")
app.add_typer(_items, name="items")
