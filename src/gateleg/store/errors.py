"""Errors of the store: one class for each kind of failure.

Every error has a stable `code`, `what` happened, `why`, and a `fix`: what to do about it. `request` is the request with all values
removed. Errors that come from an answer have the transport's error as `__cause__`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.errors import GatelegError
from gateleg.store.observing.redaction import redacted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.store.flow import Request


class StoreError(GatelegError):
    """Something that the store or its service could not do."""

    code = "store"

    def __init__(self, message: str, *, why: str | None = None, fix: str | None = None, request: Request | None = None) -> None:
        super().__init__(message, why=why, fix=fix)
        #: the operation and its request, without values
        self.request: dict[str, Any] | None = None
        if request is not None:
            self.request = {"operation": request.operation, "request": redacted(request.payload)}


class NotFound(StoreError):
    """The item does not exist."""

    code = "not-found"
    status = 404
    fix = "Check the key; the item may have been deleted."


class ConditionFailed(StoreError):
    """The item does not satisfy the condition of a write. `current` is the stored item, or None if it does not exist."""

    code = "condition-failed"
    status = 409
    fix = "Look at `current` and decide on it."

    def __init__(
        self,
        what: str,
        *,
        current: Any = None,
        failed: Sequence[str] = (),
        why: str | None = None,
        fix: str | None = None,
        request: Request | None = None,
    ) -> None:
        super().__init__(what, why=why, fix=fix, request=request)
        #: the item that is there now, as an entity
        self.current = current
        #: the attributes that did not have the expected value, as far as that is known
        self.failed = frozenset(failed)


class AlreadyExists(ConditionFailed):
    """`create` found an item with the same key."""

    code = "already-exists"
    fix = "Choose another key, or use put or upsert to write over it."


class LostRace(ConditionFailed):
    """Another writer changed the item first."""

    code = "lost-race"
    why = "The item changed after it was read, or it is not the instance that the last write returned."
    fix = "Decide on `current`, the item that won; `retrying` does this for you."


class IllegalTransition(ConditionFailed):
    """The state machine does not allow this transition from the stored state."""

    code = "illegal-transition"
    fix = "Check the state of `current`: it determines which transitions are allowed."


class ConstraintFailed(ConditionFailed):
    """A write would have taken an attribute beyond its declared bound: `attribute` and `bound` say which, such as "ge=0"."""

    code = "constraint-failed"
    fix = "Compare with `current` and change by less; if the bound is wrong, change it in the entity's declaration."

    def __init__(self, what: str, *, attribute: str, bound: str, current: Any = None, request: Request | None = None) -> None:
        super().__init__(what, current=current, failed=(attribute,), request=request)
        self.attribute = attribute
        self.bound = bound


class UniqueTaken(StoreError):
    """Another item holds the values of a unique constraint."""

    code = "unique-taken"
    status = 409
    fix = "Choose another value, or find the item that has it."

    def __init__(self, what: str, *, constraint: str, request: Request | None = None) -> None:
        super().__init__(what, request=request)
        self.constraint = constraint


class TransactionCanceled(StoreError):
    """A transaction was refused as a whole. `reasons` has an entry for each operation in call order: its error, or None."""

    code = "transaction-canceled"
    status = 409
    fix = "See `reasons`; nothing was written."

    def __init__(self, what: str, *, reasons: Sequence[StoreError | None], request: Request | None = None) -> None:
        super().__init__(what, request=request)
        self.reasons = tuple(reasons)


class TransactionConflict(StoreError):
    """Every attempt conflicted with other transactions on the same items."""

    code = "transaction-conflict"
    status = 409
    fix = "Try again later, or spread the writes over more items."


class IdempotencyMismatch(StoreError):
    """A transaction's token was used before, with another request."""

    code = "idempotency-mismatch"
    status = 409
    fix = "Use a token for one transaction only; leave it out to have one made."


class Throttled(StoreError):
    """The service has no capacity left for the request. `unprocessed` is the number of items that a batch did not process."""

    code = "throttled"
    status = 503
    fix = "Slow down, raise the table's capacity, or spread the load over more partitions."

    def __init__(self, what: str, *, unprocessed: int = 0, why: str | None = None, request: Request | None = None) -> None:
        super().__init__(what, why=why, request=request)
        self.unprocessed = unprocessed


class TooLarge(StoreError):
    """An item over 400 KB, or a transaction over 4 MB. Refused before it was sent, unless an update made the item grow."""

    code = "too-large"
    status = 413
    fix = "Move large values to the object store, compress them, or split the item."

    def __init__(self, what: str, *, size: int | None, limit: int, request: Request | None = None) -> None:
        super().__init__(what, request=request)
        #: in bytes; None when only the service knows
        self.size = size
        self.limit = limit


class KeyTooLong(StoreError):
    """A key over 2,048 bytes in its hash or 1,024 in its range."""

    code = "key-too-long"
    status = 422
    fix = "Bound the attributes of the key with max_length, or key the item by a digest of what is long."


class TooMany(StoreError):
    """A transaction has more operations than DynamoDB allows. Refused before it was sent."""

    code = "too-many"
    status = 422
    fix = "Split it where the parts need not succeed together."


class DuplicateTarget(StoreError):
    """Two operations of one transaction write the same item. Refused before it was sent."""

    code = "duplicate-target"
    fix = "Put both changes into one operation."


class KeyGivenTwice(StoreError, TypeError):
    """Components of a key were given besides a reference, an instance or a query, which have theirs already."""

    code = "key-given-twice"
    fix = "Leave them out, or give the entity or the pattern instead; what the stored item must satisfy belongs in condition=."


class NotBatchable(StoreError):
    """A write that a batch cannot do: batches have no conditions."""

    code = "not-batchable"
    fix = "Use the single verb or a transaction."


class NotReturned(StoreError):
    """A value that the service does not return for this kind of write."""

    code = "not-returned"
    fix = "Read the item before or after the write."


class NotProjected(StoreError):
    """An index does not hold the whole item."""

    code = "not-projected"
    fix = "Ask with hydrate=True, which reads the items from the table, or name the attributes with project=[...]."


class CursorRejected(StoreError):
    """The cursor was not made by this store, or is for another query. Processes that share cursors need the same `cursor_key`."""

    code = "cursor-rejected"
    status = 400
    fix = "Start again without a cursor."


class BadLimit(StoreError, ValueError):
    """A page of less than one result was asked for."""

    code = "bad-limit"
    status = 422
    fix = "Ask for at least one result."


class InvalidOption(StoreError, TypeError):
    """An option of a verb has a value that the verb does not take."""

    code = "invalid-option"
    fix = "Use one of the values that the reference lists."


class NotAnOperation(StoreError, TypeError):
    """A transaction was given something else than a write or a check."""

    code = "not-an-operation"
    fix = "Say what is to be done with each item: create(item), put(item), patch(item, ...), delete(item) or check(item, condition)."


class OutOfScope(StoreError):
    """An operation outside the partition that the store is bound to."""

    code = "out-of-scope"
    status = 404
    fix = "Use a store with another scope; this one cannot be left."


class LockHeld(StoreError):
    """Another process or thread holds the lock."""

    code = "lock-held"
    status = 409
    fix = "Try again when its time is over."


class LockLost(StoreError):
    """The lock expired, and may have a new holder."""

    code = "lock-lost"
    status = 409
    fix = "Stop the work it protected, and renew in time: at a third of the seconds it is held for."


class TableMissing(StoreError):
    """The table or index does not exist."""

    code = "table-missing"
    status = 503
    fix = "Create it with `gateleg tables apply` or ensure_tables, and check the prefix, the region and the endpoint."


class TableBusy(StoreError):
    """The table already exists, or is being changed."""

    code = "table-busy"
    status = 503
    fix = "If it exists already, use `ensure_tables`, which leaves it as it is; if it is being changed, wait until it is active."


class Refused(StoreError):
    """The service found the request invalid."""

    code = "refused"
    fix = "Compare the declaration with the deployed table (`gateleg tables drift` does), and check the values that were sent."


class AccessDenied(StoreError):
    """The credentials are missing, wrong, or not allowed to do this."""

    code = "access-denied"
    fix = "Check the credentials, their policy and the machine's clock."


class QuotaExceeded(StoreError):
    """A limit of the account or of an item collection is reached."""

    code = "quota-exceeded"
    status = 503
    fix = "Raise the quota, or spread items over more partitions."


class ServiceFailed(StoreError):
    """The service had an internal error. Whether a write was applied is unknown."""

    code = "service-failed"
    status = 502
    fix = "Try again; writes with a condition or a version can be repeated safely."


class StoreClosed(StoreError):
    """The store was used after it was closed. Nothing was sent."""

    code = "store-closed"
    status = 503
    fix = "Open a store that stays open as long as it is used: leave its `with` block, or call close, after the last operation."


class NotDynamoDB(StoreError):
    """Something answers at the address of the store, but it does not speak the DynamoDB protocol."""

    code = "not-dynamodb"
    status = 502
    fix = "Check the address: is this the console's? `gateleg engine serve` prints the address of a DynamoDB endpoint."


class NoAnswer(StoreError):
    """The service could not be reached, or did not answer. Whether a write was applied is unknown."""

    code = "no-answer"
    status = 503
    fix = "Check the endpoint and the network; writes with a condition or a version can be repeated safely."


class TimedOut(StoreError):
    """The operation exceeded its deadline. Whether a write was applied is unknown."""

    code = "timed-out"
    status = 504
    fix = "Give it more time, or ask for less at once."


class BadAddress(StoreError, ValueError):
    """The text is not a valid store address."""

    code = "bad-address"
    fix = "Write embedded:./data, embedded::memory:, dynamodb:eu-west-1 or http://host:8001."


class CannotOpen(StoreError):
    """The file of an embedded store cannot be opened, or is not a database of Gateleg."""

    code = "cannot-open"
    fix = "Check the path and the permissions; `gateleg engine check` verifies a file."
