"""Whether a store holds jobs in queue tables of other names: an empty queue may only be the wrong one."""

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

__all__ = ["told_of"]

_log = logging.getLogger("gateleg.jobs")


def other_layout(context: QueueContext) -> Flow[Layout | None]:
    """The layout whose table of jobs has some, while that of this queue has none; None when there is no such table.

    One item of each is read. A table that this process may not read counts as one that has no jobs, and its own as one that has.
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
        reply = yield Request("Scan", {"TableName": table, "Limit": 1, "Select": "COUNT"}, "Job.any")
    except ServiceError as error:
        return error.code != "ResourceNotFoundException" and otherwise
    return bool(reply["Count"])


def told_of(context: QueueContext, layout: Layout) -> str:
    """What to say about jobs in the tables of another layout."""
    there, here = (context.setup.name_of(tables_named(names).all[0]) for names in (LAYOUTS[layout], context.tables.names))
    return (
        f"the store has jobs in {there}, and none in {here}, which this queue uses. If they are meant, name the tables as their submitter "
        f'does: job_tables = "{layout}" or --job-tables {layout} for hosts and commands, tables=LAYOUTS["{layout}"] for a Queue'
    )


def warn_of_other_tables(context: QueueContext) -> Flow[None]:
    """Log a warning when the store has jobs in tables of other names and none in those of this queue."""
    layout = yield from other_layout(context)
    if layout is not None:
        _log.warning("%s", told_of(context, layout))
