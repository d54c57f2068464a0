"""`shell`."""

import code

from gateleg.cli.installed import settings_of_tables
from gateleg.cli.tables.declared import load_tables
from gateleg.commands.opening import opened
from gateleg.commands.options import ConfigOption, OnlyOption, PrefixOption, StoreOption, TablesOption


def shell(
    store: StoreOption = None,
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    only: OnlyOption = None,
) -> None:
    """Open a Python prompt with the store and the declared entities at hand: `store.get(Job, job_id=...)`."""
    settings = settings_of_tables(config, store=store, prefix=prefix, tables=tables)
    declared = load_tables(settings, only)
    entities = {spec.name: spec.entity for table in declared for spec in table.specs}
    from gateleg.web.settings import format_setting

    with opened(settings) as target:
        banner = f"store = {format_setting(settings.store)}; entities: {', '.join(entities) or 'none'}"
        code.interact(banner, local={"store": target, **entities}, exitmsg="")
