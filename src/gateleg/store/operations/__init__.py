"""Every method of the store as a function that builds the operation as a value, to run it later or as a part of a transaction.

    operation = query(Job.ready, queue="default")       sends no request yet
    operation.params()                                  the request that it would send: a dry run
    store.stream(operation)                             what `store.query` does; `store.run(operation)` for all but query, scan and export

`check`, `create`, `put`, `patch`, `upsert` and `delete` build the operations of a transaction; `gateleg.store` exports them too.
"""

from gateleg.store.operations.batches import batch_get, batch_write, transact, transact_get
from gateleg.store.operations.operation import Operation, Stream
from gateleg.store.operations.pages import Page, collect, page
from gateleg.store.operations.queries import count, query
from gateleg.store.operations.reads import Items, find, get
from gateleg.store.operations.scans import ScanProgress, delete_all, export, scan
from gateleg.store.operations.tables import Health, create_tables, delete_tables, ensure_tables, health, table_states
from gateleg.store.operations.write_operation import WriteOperation
from gateleg.store.operations.writes import check, create, delete, patch, put, release_unique, retrying, save, upsert

__all__ = [
    "Health",
    "Items",
    "Operation",
    "Page",
    "ScanProgress",
    "Stream",
    "WriteOperation",
    "batch_get",
    "batch_write",
    "check",
    "collect",
    "count",
    "create",
    "create_tables",
    "delete",
    "delete_all",
    "delete_tables",
    "ensure_tables",
    "export",
    "find",
    "get",
    "health",
    "page",
    "patch",
    "put",
    "query",
    "release_unique",
    "retrying",
    "save",
    "scan",
    "table_states",
    "transact",
    "transact_get",
    "upsert",
]
