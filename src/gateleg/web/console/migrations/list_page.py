"""`/migrations`: the numbered migrations of all applications, and drift between deployed and declared tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.host.item_keys import table_address
from gateleg.host.migrations import migrations_of
from gateleg.web.console.cells import Badge, Column, Row, ago_cell, chip_cell
from gateleg.web.console.failures import empty
from gateleg.web.console.frame import View, frame
from gateleg.web.console.lists import show_when_loaded
from gateleg.web.console.live import LiveIndicator, follow
from gateleg.web.console.markup import card, section, tag
from gateleg.web.console.migrations.labels import address_of, operator_cell, phases_text, progress_cell, state_of, title_of, wrong_text
from gateleg.web.console.migrations.topics import MigrationSummary, list_topic
from gateleg.web.console.tables.table_snapshots import TableSnapshot, badge_of, row_of, take_snapshots
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.host.live import Topic

_COLUMNS = (
    Column("name", "Migration", wraps=True),
    Column("application", "Application"),
    Column("state", "State"),
    Column("phase", "Phase"),
    Column("progress", "Progress", wraps=True),
    Column("wrong", "Failed items", right=True),
    Column("changed", "Changed"),
    Column("by", "By", desk=True),
)
_DRIFT = (Column("name", "Table"), Column("state", "State"), Column("means", "What it means", wraps=True))
#: An example, shown if there are no migrations.
EXAMPLE = """# shop/migrations/m0001_orders_by_customer.py
from gateleg.migrate import KeyMove, Migration
from shop.tables import OldOrder, Order

migration = Migration(
    1,
    "orders-by-customer",
    moves=(KeyMove("orders", OldOrder, Order, convert=to_new, revert=to_old),),
)

# shop/application.py
application = Application(name="shop", ..., migrations="shop.migrations")"""


async def migrations() -> None:
    """The page."""
    with frame(title="Migrations", section="migrations", wide=True, titled=False) as view:
        with tag("header", classes="head"):
            with tag("div", classes="titles"):
                tag("h1", "Migrations")
                tag("p", "Changes of keys, tables and stored items, by application.", "meta")
            with tag("div", classes="deeds"):
                pulse = LiveIndicator()
        if any(migrations_of(view.host.applications).values()):
            topic = list_topic(view.host)
            await show_when_loaded(view.live.now(topic), lambda first: _list(view, topic, first, pulse), pulse=pulse)
        else:
            _none()
        with section("Drift"):
            await show_when_loaded(take_snapshots(view.host.store, view.host.tables), _drift, rows=2, saying="Comparing the tables")


def migration_row(one: MigrationSummary) -> Row:
    """A migration in the list."""
    status = one.status
    return Row(
        f"{one.application} {status.number} {status.name}",
        {
            "name": title_of(status),
            "application": one.title,
            "state": chip_cell(state_of(status)),
            "phase": phases_text(status) or None,
            "progress": progress_cell(status.stages),
            "wrong": wrong_text(status.stages) or None,
            "changed": ago_cell(status.changed_at),
            "by": operator_cell(status.changed_by),
        },
        href=address_of(one.application, status.number),
    )


def _list(view: View, topic: Topic[list[MigrationSummary]], first: list[MigrationSummary], pulse: LiveIndicator) -> None:
    newer = [one for one in first if not one.status.in_code]
    for one in newer:
        with tag("div", classes="note failed"):
            text = f"{one.title} has {title_of(one.status)} in its data but not in its code. Deploy the release that has them."
            tag("span", text)
    with tag("section", classes="card tight", aria_label="Migrations"):
        grid = Grid("Migrations", _COLUMNS, complete=True)

    def show(found: list[MigrationSummary]) -> None:
        grid.show([migration_row(one) for one in found])

    show(first)
    follow(view.live, topic, show, pulse, known=first)


def _none() -> None:
    with card():
        sentence = (
            "A migration is a module of an application's package of migrations. It changes tables, rewrites items, "
            "or moves them to another key, while clients read and write."
        )
        empty("table", "No migrations", sentence)
        with tag("div", classes="code-box"):
            tag("pre", EXAMPLE, "code", tabindex="0", role="region", aria_label="An example")
            tag("button", "Copy", "deed small", type="button", data_copy=EXAMPLE)


def drifted(found: Sequence[TableSnapshot]) -> list[TableSnapshot]:
    """The declared tables that differ from their declaration, or could not be read."""
    return [one for one in found if one.table is not None and one.state != "in sync"]


def _drift(found: list[TableSnapshot]) -> None:
    different = drifted(found)
    if not different:
        declared = sum(one.table is not None for one in found)
        with tag("p", classes="meta"):
            tag("span", f"All {declared} declared tables match their deployed tables.")
        return
    rows = [
        Row(
            one.name,
            {"name": one.name, "state": chip_cell(Badge(*badge_of(one.state))), "means": row_of(one).means},
            href=f"{table_address(one.name)}?tab=health",
        )
        for one in different
    ]
    with card("tight", label="Drift"):
        Grid("Drift", _DRIFT, rows, complete=True)
