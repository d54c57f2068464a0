"""`list`."""

import typer

from gateleg.cli.installed import settings_of_tables
from gateleg.cli.tables.declared import load_tables
from gateleg.commands.opening import opened
from gateleg.commands.options import ConfigOption, JsonOption, OnlyOption, PrefixOption, StoreOption, TablesOption
from gateleg.commands.printing import print_json, print_rows


def listed(
    store: StoreOption = None,
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    only: OnlyOption = None,
    json: JsonOption = False,
) -> None:
    """List the declared tables with their entities, and whether the store has them."""
    settings = settings_of_tables(config, store=store, prefix=prefix, tables=tables)
    declared = load_tables(settings, only)
    with opened(settings) as target:
        states = target.table_states(*declared)
        names = [target.setup.name_of(table) for table in declared]
    rows = [
        {"table": name, "state": states[name], "entities": ", ".join(spec.name for spec in table.specs)}
        for name, table in zip(names, declared, strict=True)
    ]
    if json:
        print_json({"items": rows})
    elif rows:
        print_rows(rows)
    else:
        typer.echo("No tables are declared.")
