"""`shell`."""

import code

from gateleg.cli.tables.declared import load_tables
from gateleg.cli.tables.opening import opened
from gateleg.cli.tables.options import DEFAULT_STORE, OnlyOption, PrefixOption, StoreOption, TablesOption


def shell(store: StoreOption = DEFAULT_STORE, tables: TablesOption = None, prefix: PrefixOption = "", only: OnlyOption = None) -> None:
    """Open a Python prompt with the store and the declared entities at hand: `store.get(Job, job_id=...)`."""
    declared = load_tables(tables, only)
    entities = {spec.name: spec.entity for table in declared for spec in table.specs}
    with opened(store, prefix) as target:
        banner = f"store = {store}; entities: {', '.join(entities) or 'none'}"
        code.interact(banner, local={"store": target, **entities}, exitmsg="")
