"""Warn if this queue's tables are empty while the store has jobs in queue tables with other names."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from gateleg.jobs.tables.queue_tables import tables_named
from gateleg.jobs.tables.table_names import LAYOUTS
from gateleg.store.flow import Request
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.table_names import Layout, TableNames
    from gateleg.store.flow import Flow

__all__ = ["other_tables_warning"]

_log = logging.getLogger("gateleg.jobs")


def other_layout(context: QueueContext) -> Flow[Layout | None]:
    """The known table names under which the store has jobs while this queue's table is empty; None if this does not occur.

    Reads one item of each table. If access is denied, another layout's table counts as empty, and this queue's table as not empty.
    """
    own = context.tables.names
    if (yield from _holds_jobs(context, own, otherwise=True)):
        return None
    for layout, names in LAYOUTS.items():
        if names.queue != own.queue and (yield from _holds_jobs(context, names, otherwise=False)):
            return layout
    return None


def _holds_jobs(context: QueueContext, names: TableNames, *, otherwise: bool) -> Flow[bool]:
    table = context.setup.name_of(tables_named(names).all[0])
    try:
        response = yield Request("Scan", {"TableName": table, "Limit": 1, "Select": "COUNT"}, "Job.any")
    except ServiceError as error:
        return error.code != "ResourceNotFoundException" and otherwise
    return bool(response["Count"])


def other_tables_warning(context: QueueContext, layout: Layout) -> str:
    """The text of the warning about jobs in the tables of another layout."""
    there, here = (context.setup.name_of(tables_named(names).all[0]) for names in (LAYOUTS[layout], context.tables.names))
    return (
        f"the store has jobs in {there}, but this queue uses {here}, which is empty. To use the other tables, set "
        f'job_tables = "{layout}" or --job-tables {layout} for hosts and commands, tables=LAYOUTS["{layout}"] for a Queue'
    )


def warn_of_other_tables(context: QueueContext) -> Flow[None]:
    """Log a warning if this queue's tables are empty while the store has jobs in queue tables with other names."""
    layout = yield from other_layout(context)
    if layout is not None:
        _log.warning("%s", other_tables_warning(context, layout))
