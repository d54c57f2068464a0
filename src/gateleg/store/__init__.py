"""Read and write entities: a sync and an async store, operations as values, transports and errors.

    store = Store.connect("embedded:./data")            or AsyncStore.connect(...), whose verbs are awaited
    store.ensure_tables(jobs)

    job = store.create(Job(job_type="report"))          returns the instance as stored: use it for the next write
    job = store.get(Job, job_id=job.job_id)             raises NotFound; `find` returns None
    job = store.patch(job, Job.status.to(PROCESSING), Job.worker_id.set("w1"))
    for job in store.query(Job.ready, queue="default"): ...
    page = store.page(Job.ready, queue="default", limit=20, cursor=None)

Verbs
    one item        get find create put patch upsert delete save retrying, `with edit(instance) as draft`
    many items      query page count collect delete_all
    together        batch_get batch_write transact transact_get, `with transaction() as tx`, `with batch() as batch`, loader
    inside          scope(partition): a store that cannot leave it (ask, ref); within(seconds); using(transport); lock(name)
    whole tables    scan export create_tables ensure_tables delete_tables table_states: for tools, not for user requests

Every verb is also a function here, which builds the operation as a value: `patch(job, Job.priority.set(9)).params()` is a dry run,
`store.run(operation)` executes it, `store.transact([create(a), patch(b, ...)])` executes several atomically. Writes never modify the
instance they are given.

Multi-step flows are generators of requests (`gateleg.store.flow`: `Flow`, `Request`, `Pause`), run by two small drivers (`Store`,
`AsyncStore`) over a transport (`gateleg.store.transports`: `Transport`, `ServiceError`). Errors are in `gateleg.store.errors`, one class
for each kind of failure. Hooks (`Metrics`, `Tracing`) see every request.
"""

from gateleg.net import Backoff
from gateleg.store.async_store import AsyncStore
from gateleg.store.errors import (
    AlreadyExists,
    ConditionFailed,
    ConstraintFailed,
    CursorRejected,
    IllegalTransition,
    LockHeld,
    LostRace,
    NoAnswer,
    NotFound,
    OutOfScope,
    Refused,
    ServiceFailed,
    StoreError,
    TableBusy,
    TableMissing,
    Throttled,
    TimedOut,
    TooLarge,
    TransactionCanceled,
    TransactionConflict,
    UniqueTaken,
)
from gateleg.store.observing.hooks import Call, Hook
from gateleg.store.observing.metrics import Metrics
from gateleg.store.observing.tracing import Tracing
from gateleg.store.operations.batches import batch_get, batch_write
from gateleg.store.operations.bulk_deletes import delete_all
from gateleg.store.operations.collects import collect
from gateleg.store.operations.health_checks import Health, health
from gateleg.store.operations.loaders import AsyncLoader, Loader
from gateleg.store.operations.locks import Lock, acquire, locks, release, renew
from gateleg.store.operations.marker_release import release_unique
from gateleg.store.operations.operation import Operation, Stream
from gateleg.store.operations.pages import Page, page
from gateleg.store.operations.queries import count, query
from gateleg.store.operations.reads import find, get
from gateleg.store.operations.saves import retrying, save
from gateleg.store.operations.scans import ScanProgress, export, scan
from gateleg.store.operations.tables import create_tables, delete_tables, ensure_tables, table_states
from gateleg.store.operations.transactions import transact, transact_get
from gateleg.store.operations.unit_of_work import Batch, Transaction
from gateleg.store.operations.unreadable import Items
from gateleg.store.operations.write_operation import WriteOperation
from gateleg.store.operations.writes import check, create, delete, patch, put, upsert
from gateleg.store.store import Store
from gateleg.store.unreadable import Unreadable

__all__ = [
    "AlreadyExists",
    "AsyncLoader",
    "AsyncStore",
    "Backoff",
    "Batch",
    "Call",
    "ConditionFailed",
    "ConstraintFailed",
    "CursorRejected",
    "Health",
    "Hook",
    "IllegalTransition",
    "Items",
    "Loader",
    "Lock",
    "LockHeld",
    "LostRace",
    "Metrics",
    "NoAnswer",
    "NotFound",
    "Operation",
    "OutOfScope",
    "Page",
    "Refused",
    "ScanProgress",
    "ServiceFailed",
    "Store",
    "StoreError",
    "Stream",
    "TableBusy",
    "TableMissing",
    "Throttled",
    "TimedOut",
    "TooLarge",
    "Tracing",
    "Transaction",
    "TransactionCanceled",
    "TransactionConflict",
    "UniqueTaken",
    "Unreadable",
    "WriteOperation",
    "acquire",
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
    "locks",
    "page",
    "patch",
    "put",
    "query",
    "release",
    "release_unique",
    "renew",
    "retrying",
    "save",
    "scan",
    "table_states",
    "transact",
    "transact_get",
    "upsert",
]


def __dir__() -> list[str]:
    """What the room exports, without the modules that it is made of."""
    return __all__
