"""`mcp`."""

import json
import sys

from gateleg.cli.installed import settings_of_tables
from gateleg.cli.tables.declared import load_tables
from gateleg.commands.opening import opened
from gateleg.commands.options import ConfigOption, OnlyOption, PrefixOption, StoreOption, TablesOption


def mcp(
    store: StoreOption = None,
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    only: OnlyOption = None,
) -> None:
    """Serve the declared access patterns to a language model, by the Model Context Protocol on standard input and output.

    It only reads, and only by declared patterns and keys. Hidden attributes are never returned.
    """
    from gateleg.ops import read_tools
    from gateleg.ops.mcp import McpSession

    settings = settings_of_tables(config, store=store, prefix=prefix, tables=tables)
    declared = load_tables(settings, only)
    with opened(settings) as source:
        host = McpSession(source, read_tools(declared))
        for line in sys.stdin:
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            answer = host.answer(message)
            if answer is not None:
                sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
                sys.stdout.flush()
