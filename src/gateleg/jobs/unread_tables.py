"""Find jobs in queue tables that a queue does not read, such as those of an application that is not installed."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from gateleg.store.flow import Request
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.store.flow import Flow

__all__ = ["QUEUE_NAME", "unread_tables_warning"]

_log = logging.getLogger("gateleg.jobs")
#: The names of tables of jobs: `JobQueue`, and those that applications bring.
QUEUE_NAME = re.compile(r"([A-Z][A-Za-z0-9]*)?JobQueue")


def unread_tables(context: QueueContext) -> Flow[list[str]]:
    """The tables of jobs in the store, by the names in the account, that are not empty and that this queue does not read.

    They are told by their name (`QUEUE_NAME`) and their key. Where tables may not be listed or read, none is found.
    """
    own = {context.setup.name_of(tables.all[0]) for tables in context.ledgers}
    found: list[str] = []
    start: dict[str, str] = {}
    while True:
        try:
            response = yield Request("ListTables", start, "tables")
        except ServiceError:
            return found
        for name in response["TableNames"]:
            if name not in own and _may_be_ours(context, name):
                found += (yield from _holds_jobs(name)) * [name]
        if "LastEvaluatedTableName" not in response:
            return found
        start = {"ExclusiveStartTableName": response["LastEvaluatedTableName"]}


def is_empty(context: QueueContext) -> Flow[bool]:
    """Whether the queue's own tables have no job. Tables that cannot be read count as not empty."""
    for tables in context.ledgers:
        name = context.setup.name_of(tables.all[0])
        try:
            response = yield Request("Scan", {"TableName": name, "Limit": 1, "Select": "COUNT"}, "Job.any")
        except ServiceError as error:
            return error.code == "ResourceNotFoundException"
        if response["Count"]:
            return False
    return True


def _may_be_ours(context: QueueContext, name: str) -> bool:
    """Whether a table of the account has the name of a table of jobs in this store."""
    setup = context.setup
    declared = next((short for short, full in setup.table_names.items() if full == name), None)
    if declared is None and name.startswith(setup.prefix):
        declared = name.removeprefix(setup.prefix)
    return declared is not None and QUEUE_NAME.fullmatch(declared) is not None


def _holds_jobs(name: str) -> Flow[bool]:
    try:
        response = yield Request("Scan", {"TableName": name, "Limit": 1, "ProjectionExpression": "job_id"}, "Job.any")
    except ServiceError:
        return False
    return any("job_id" in item for item in response["Items"])


def unread_tables_warning(names: Sequence[str]) -> str:
    """The text of the warning about jobs in tables that are not read."""
    return (
        f"the store has jobs in {', '.join(names)}, which this queue does not read: they are neither listed nor run. Install the "
        "application that brings these tables, and name it in `applications`; for a queue in Python, add its TableNames to further="
    )


def warn_of_unread_tables(context: QueueContext) -> Flow[None]:
    """Log a warning if the store has jobs in queue tables that this queue does not read."""
    names = yield from unread_tables(context)
    if names:
        _log.warning("%s", unread_tables_warning(names))
