"""What you do with data: operations as values, a store that is called and one that is awaited, transports and errors.

    store = Store.connect("embedded:./data")            or AsyncStore.connect(...), whose verbs are awaited
    store.ensure_tables(jobs)

    job = store.create(Job(job_type="report"))          the result is the instance as it is stored: go on with that one
    job = store.get(Job, job_id=job.job_id)             NotFound; `find` answers None
    job = store.patch(job, Job.status.to(PROCESSING), Job.worker_id.set("w1"))
    for job in store.query(Job.ready, queue="default"): ...
    page = store.page(Job.ready, queue="default", limit=20, cursor=None)

Verbs
    one item        get find create put patch upsert delete save retrying, `with edit(instance) as draft`
    many items      query page count collect delete_all
    together        batch_get batch_write transact transact_get, `with transaction() as tx`, `with batch() as batch`, loader
    inside          scope(partition): a store that cannot leave it (ask, ref); within(seconds); using(transport); lock(name)
    whole tables    scan export create_tables ensure_tables delete_tables table_states: for tools, never for a user's question

Every verb is also a function here, which builds the operation as a value: `patch(job, Job.priority.set(9)).params()` is a dry run,
`store.run(operation)` carries it out, `store.transact([create(a), patch(b, ...)])` carries out several together. Writes never change the
instance they are given.

Multi-step flows are generators of requests (`requests.py`), run by two small drivers (`synchronous.py`, `asynchronous.py`). Errors are
in `errors.py`, one class for each kind of failure. Hooks (`Metrics`, `Tracing`) see every request.
"""

from gateleg.net import Backoff
from gateleg.store.asynchronous import AsyncStore
from gateleg.store.batches import batch_get, batch_write
from gateleg.store.changing import retrying, save
from gateleg.store.clearing import delete_all
from gateleg.store.collecting import Batch, Transaction
from gateleg.store.errors import (
    AccessDenied,
    AlreadyExists,
    BadAddress,
    CannotOpen,
    ConditionFailed,
    ConstraintFailed,
    CursorRejected,
    DuplicateTarget,
    IdempotencyMismatch,
    IllegalTransition,
    KeyGivenTwice,
    KeyTooLong,
    LockHeld,
    LockLost,
    LostRace,
    NoAnswer,
    NotBatchable,
    NotDynamoDB,
    NotFound,
    NotProjected,
    NotReturned,
    OutOfScope,
    QuotaExceeded,
    Refused,
    ServiceFailed,
    StoreClosed,
    StoreError,
    TableBusy,
    TableMissing,
    Throttled,
    TimedOut,
    TooLarge,
    TooMany,
    TransactionCanceled,
    TransactionConflict,
    UniqueTaken,
)
from gateleg.store.hooks import Call, Hook
from gateleg.store.lifecycle import create_tables, delete_tables, ensure_tables, table_states
from gateleg.store.loading import AsyncLoader, Loader
from gateleg.store.locking import Lock, acquire, locks, release, renew
from gateleg.store.metrics import Metrics, Tally
from gateleg.store.operation import Operation, Stream
from gateleg.store.paging import Page, page
from gateleg.store.querying import collect, count, query
from gateleg.store.readiness import Health, health
from gateleg.store.reading import find, get
from gateleg.store.scanning import Progress, export, scan
from gateleg.store.sizes import item_size
from gateleg.store.synchronous import Store
from gateleg.store.tracing import Tracing
from gateleg.store.transactions import transact, transact_get
from gateleg.store.unreadable import Items, Unreadable
from gateleg.store.write_operation import WriteOperation
from gateleg.store.writing import check, create, delete, patch, put, upsert

__all__ = [
    "AccessDenied",
    "AlreadyExists",
    "AsyncLoader",
    "AsyncStore",
    "Backoff",
    "BadAddress",
    "Batch",
    "Call",
    "CannotOpen",
    "ConditionFailed",
    "ConstraintFailed",
    "CursorRejected",
    "DuplicateTarget",
    "Health",
    "Hook",
    "IdempotencyMismatch",
    "IllegalTransition",
    "Items",
    "KeyGivenTwice",
    "KeyTooLong",
    "Loader",
    "Lock",
    "LockHeld",
    "LockLost",
    "LostRace",
    "Metrics",
    "NoAnswer",
    "NotBatchable",
    "NotDynamoDB",
    "NotFound",
    "NotProjected",
    "NotReturned",
    "Operation",
    "OutOfScope",
    "Page",
    "Progress",
    "QuotaExceeded",
    "Refused",
    "ServiceFailed",
    "Store",
    "StoreClosed",
    "StoreError",
    "Stream",
    "TableBusy",
    "TableMissing",
    "Tally",
    "Throttled",
    "TimedOut",
    "TooLarge",
    "TooMany",
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
    "item_size",
    "locks",
    "page",
    "patch",
    "put",
    "query",
    "release",
    "renew",
    "retrying",
    "save",
    "scan",
    "table_states",
    "transact",
    "transact_get",
    "upsert",
]
