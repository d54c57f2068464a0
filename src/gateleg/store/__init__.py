"""Read and write entities: a sync and an async store, operations as values, transports and errors.

    store = Store.connect("embedded:./data")            or AsyncStore.connect(...), whose methods are awaited
    store.ensure_tables(jobs)

    job = store.create(Job(job_type="report"))          returns the stored instance: use it for the next write
    job = store.get(Job, job_id=job.job_id)             raises NotFound; `find` returns None
    job = store.patch(job, Job.status.to(PROCESSING), Job.worker_id.set("w1"))
    for job in store.query(Job.ready, queue="default"): ...
    page = store.page(Job.ready, queue="default", limit=20, cursor=None)

Methods
    one item        get find create put patch upsert delete save retrying, `with edit(instance) as draft`
    many items      query page count collect delete_all
    several at once batch_get batch_write transact transact_get, `with transaction() as tx`, `with batch() as batch`, loader
    variants        scope(partition): a store that is restricted to a partition (ask, ref); within(seconds); reading(expired=True);
                    using(transport)
    locks           `with lock(name, seconds=60)`
    whole tables    scan export create_tables ensure_tables delete_tables table_states health: for tools, not for user requests

Every method is also a function that builds the operation as a value (`gateleg.store.operations`). The functions for writes are exported
here: `patch(job, Job.priority.set(9)).params()` is a dry run, `store.run(operation)` executes it, and
`store.transact([create(a), patch(b, ...)])` executes several atomically. Writes never modify the instance that is passed to them.

Modules
    errors          one class for each kind of failure; those that programs catch are exported here
    operations      all methods as functions, and the types `Operation` and `Stream`
    locks           locks that processes share, and their table
    flow            multi-step operations as generators of steps: `Flow`, `Request`, `Pause`
    transports      how requests reach a service: `Transport`, `ServiceError`

Hooks (`Metrics`, `Tracing`) observe every request.
"""

from gateleg.store.blocks import AsyncBatch, AsyncTransaction, Batch, Transaction
from gateleg.store.errors import (
    AlreadyExists,
    ConditionFailed,
    ConstraintFailed,
    CursorRejected,
    IllegalTransition,
    KeysDiffer,
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
from gateleg.store.loaders import AsyncLoader, Loader
from gateleg.store.observing import Call, Hook, Metrics, Tracing
from gateleg.store.operations import Page, WriteOperation, check, create, delete, patch, put, upsert
from gateleg.store.store import AsyncStore, Store

__all__ = [
    "AlreadyExists",
    "AsyncBatch",
    "AsyncLoader",
    "AsyncStore",
    "AsyncTransaction",
    "Batch",
    "Call",
    "ConditionFailed",
    "ConstraintFailed",
    "CursorRejected",
    "Hook",
    "IllegalTransition",
    "KeysDiffer",
    "Loader",
    "LockHeld",
    "LostRace",
    "Metrics",
    "NoAnswer",
    "NotFound",
    "OutOfScope",
    "Page",
    "Refused",
    "ServiceFailed",
    "Store",
    "StoreError",
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
    "WriteOperation",
    "check",
    "create",
    "delete",
    "patch",
    "put",
    "upsert",
]


def __dir__() -> list[str]:
    """List the public names only, without submodules."""
    return __all__
