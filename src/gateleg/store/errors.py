"""Errors of the store: one class for each kind of failure.

Each error has a stable `code`, a `message`, usually a `why` and a `fix`. `request` is the request without values: it keeps names and
expressions, and each value is replaced by its type and length. Errors of the service have the transport's error as `__cause__`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Self

from gateleg.errors import GatelegError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.store.flow import Request


class StoreError(GatelegError):
    """The base class of all errors of `gateleg.store`."""

    def __init__(self, message: str, *, why: str | None = None, fix: str | None = None, request: Request | None = None) -> None:
        super().__init__(message, why=why, fix=fix)
        #: the operation and its request, without values
        self.request: dict[str, Any] | None = None
        if request is not None:
            self.request = {"operation": request.operation, "request": redacted(request.payload)}


class NotFound(StoreError):
    """The item does not exist."""

    status = 404
    fix = "Check the key; the item may have been deleted."


class ConditionFailed(StoreError):
    """The item does not satisfy the condition of a write. `current` is the stored item, or None if it does not exist."""

    status = 409
    fix = "Check `current`, the stored item, and decide what to do."

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
        #: the stored item as an instance; None if it does not exist or cannot be decoded
        self.current = current
        #: the attributes that did not have the expected value, as far as known
        self.failed = frozenset(failed)


class AlreadyExists(ConditionFailed):
    """`create` found an item with the same key."""

    fix = "Choose another key, or overwrite the item with put or upsert."


class LostRace(ConditionFailed):
    """Another writer changed the item first."""

    why = "The item changed after it was read, or it is not the instance that the last write returned."
    fix = "Repeat the change with `current`, the stored item; `retrying` does this for you."


class IllegalTransition(ConditionFailed):
    """The state machine does not allow this transition from the stored state."""

    fix = "Check the state of `current`: it determines which transitions are allowed."


class ConstraintFailed(ConditionFailed):
    """A write would break the declared bound of an attribute. `attribute` is its name, `bound` the bound, such as "ge=0"."""

    fix = "Check `current` and change the attribute by less; if the bound is wrong, change the entity's declaration."

    def __init__(self, what: str, *, attribute: str, bound: str, current: Any = None, request: Request | None = None) -> None:
        super().__init__(what, current=current, failed=(attribute,), request=request)
        self.attribute = attribute
        self.bound = bound


class UniqueTaken(StoreError):
    """Another item already has the values of a unique constraint. `constraint` is its name."""

    status = 409
    fix = "Choose another value, or find the item that has it."

    def __init__(self, what: str, *, constraint: str, request: Request | None = None) -> None:
        super().__init__(what, request=request)
        self.constraint = constraint


class TransactionCanceled(StoreError):
    """A transaction was canceled, and nothing was written. `reasons` has an entry for each operation in call order: its error, or None."""

    status = 409
    fix = "Check `reasons`, and repeat the whole transaction: nothing was written."

    def __init__(self, what: str, *, reasons: Sequence[StoreError | None], request: Request | None = None) -> None:
        super().__init__(what, request=request)
        self.reasons = tuple(reasons)


class TransactionConflict(StoreError):
    """Every attempt conflicted with other transactions on the same items."""

    status = 409
    fix = "Try again later, or spread the writes over more items."


class IdempotencyMismatch(StoreError):
    """The idempotency token of a transaction was already used with another request."""

    status = 409
    fix = "Use each token for one transaction only, or pass no token: the store then generates one."


class Throttled(StoreError):
    """The service lacks capacity for the request, and retries did not help. `unprocessed` is the number of unprocessed items of a batch."""

    status = 503
    fix = "Slow down, raise the table's capacity, or spread the load over more partitions."

    def __init__(self, what: str, *, unprocessed: int = 0, why: str | None = None, request: Request | None = None) -> None:
        super().__init__(what, why=why, request=request)
        self.unprocessed = unprocessed


class TooLarge(StoreError):
    """An item is larger than 400 KB, or a transaction larger than 4 MB. Only updates that make an item too large are sent first."""

    status = 413
    fix = "Move large values to the object store, compress them, or split the item."

    def __init__(self, what: str, *, size: int | None, limit: int, request: Request | None = None) -> None:
        super().__init__(what, request=request)
        #: in bytes; None if only the service knows it
        self.size = size
        self.limit = limit


class KeyTooLong(StoreError):
    """The hash of a key is longer than 2,048 bytes, or its range longer than 1,024."""

    status = 422
    fix = "Limit the attributes of the key with max_length, or use a digest of long values in the key."


class TooMany(StoreError):
    """A transaction has more operations than DynamoDB allows. It was not sent."""

    status = 422
    fix = "Split it into parts that need not succeed together."


class DuplicateTarget(StoreError):
    """Two operations of one transaction write the same item. It was not sent."""

    fix = "Combine both changes in one operation."


class KeyGivenTwice(StoreError, TypeError):
    """Key components were passed together with a reference, an instance or a query, which already has them."""

    fix = "Remove them, or pass the entity or the pattern instead; pass conditions on the stored item with condition=."


class NotBatchable(StoreError):
    """A write needs a condition, which batches do not support."""

    fix = "Write the item by itself (put, delete, ...) or in a transaction."


class NotReturned(StoreError):
    """`returning` asks for a value that the service does not return for this kind of write."""

    fix = "Read the item before or after the write."


class NotProjected(StoreError):
    """The index of the query does not project whole items."""

    fix = "Pass hydrate=True, which reads the items from the table, or list the attributes that you need with project=[...]."


class CursorRejected(StoreError):
    """The cursor is for another query, or another store made it. Processes that share cursors need the same `cursor_key`."""

    status = 400
    fix = "Start again without a cursor."


class BadLimit(StoreError, ValueError):
    """The limit of a page is less than 1."""

    status = 422
    fix = "Use a limit of at least 1."


class InvalidOption(StoreError, TypeError):
    """An option of a store's method has an invalid value."""

    fix = "Use one of the values that the reference lists."


class NotAnOperation(StoreError, TypeError):
    """An argument of a transaction is neither a write nor a check."""

    fix = "Pass an operation for each item: create(item), put(item), patch(item, ...), delete(item) or check(item, condition)."


class BlockEnded(StoreError):
    """A write was added to a transaction or batch outside of its `with` block. Nothing was sent."""

    fix = "Add the writes inside of the block, which sends them when it ends; open a new one for further writes."


class OutOfScope(StoreError):
    """The operation is outside the partition that the scoped store is restricted to."""

    status = 404
    fix = "Use a store with another scope."


class LockHeld(StoreError):
    """Another process or thread holds the lock."""

    status = 409
    fix = "Try again after it is released or expires."


class LockLost(StoreError):
    """The lock expired, and has a new holder."""

    status = 409
    fix = "Stop the work that the lock protects, and renew the lock earlier: after a third of its seconds."


class TableMissing(StoreError):
    """The table or index does not exist."""

    status = 503
    fix = "Create it with `gateleg tables apply` or ensure_tables, and check the prefix, the region and the endpoint."


class TableBusy(StoreError):
    """The table already exists, or is being changed."""

    status = 503
    fix = "If it exists, use `ensure_tables`, which does not change it; if it is being changed, wait until it is active."


class KeysDiffer(StoreError):
    """Deployed tables have other keys than declared: items would be lost to every reader, or be written among those of another program."""

    status = 503
    fix = (
        "A key cannot be changed in place. Move the items with a migration of the application (`gateleg migrate plan`), or give the "
        "declared table another name in `[table_names]` of gateleg.toml; `gateleg tables check` compares all tables."
    )

    def __init__(self, message: str, *, problems: Mapping[str, Sequence[str]] | None = None, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        #: the differences in words, by the declared name of the table
        self.problems = dict(problems or {})

    @classmethod
    def of(cls, problems: Mapping[str, Sequence[str]], *, fix: str | None = None) -> Self:
        """The error for these differences."""
        return cls(" ".join(text for texts in problems.values() for text in texts), problems=problems, fix=fix)


class Refused(StoreError):
    """The service rejected the request as invalid."""

    fix = "Compare the declaration with the deployed table (`gateleg tables drift` does), and check the values that were sent."


class AccessDenied(StoreError):
    """The credentials are missing or invalid, or do not permit the operation."""

    fix = "Check the credentials, their policy and the machine's clock."


class QuotaExceeded(StoreError):
    """A limit of the account or of an item collection was reached."""

    status = 503
    fix = "Raise the quota, or spread items over more partitions."


class ServiceFailed(StoreError):
    """The service had an internal error. Whether a write was applied is unknown."""

    status = 502
    fix = "Try again; writes with a condition or a version can be repeated safely."


class StoreClosed(StoreError):
    """The store was used after it was closed. Nothing was sent."""

    status = 503
    fix = "Keep the store open as long as it is used: leave its `with` block, or call close, after the last operation."


class NotDynamoDB(StoreError):
    """The server at the store's address does not speak the DynamoDB protocol."""

    code = "not-dynamodb"
    status = 502
    fix = "Check that the address is not that of the console. `gateleg engine serve` prints the address of a DynamoDB endpoint."


class NoAnswer(StoreError):
    """The service could not be reached, or did not answer. Whether a write was applied is unknown."""

    status = 503
    fix = "Check the endpoint and the network; writes with a condition or a version can be repeated safely."


class TimedOut(StoreError):
    """The operation exceeded its deadline. Whether a write was applied is unknown."""

    status = 504
    fix = "Allow more time, or do less in one operation."


class BadAddress(StoreError, ValueError):
    """The text is not a valid store address."""

    fix = "Write embedded:./data, embedded::memory:, dynamodb:eu-west-1 or http://host:8001."


class CannotOpen(StoreError):
    """The file of an embedded store cannot be opened, or is not a Gateleg database."""

    fix = "Check the path and the permissions; `gateleg engine check` verifies a file."


#: Request parameters that contain attribute values by name.
_ITEMS = frozenset({"Key", "Item", "ExclusiveStartKey", "ExpressionAttributeValues"})
_CONTAINERS = (dict, list)
#: The user and the password in a URL. A password that should have been escaped may contain what ends the authority of a URL; what looks
#: like a port does not begin a password.
_USER = re.compile(r"(?<=://)(?:[^/?#\s'\"]+@|[^/?#\s'\":]*:(?!\d{1,5}(?:[/?#]|$))[^\s'\"]*@)")


def without_credentials(text: str) -> str:
    """The text with user names and passwords in URLs hidden."""
    return _USER.sub("(hidden)@", text)


def shown_address(text: str) -> str:
    """A text that should have been an address, as errors may quote it: without what comes before an @, which may be a password."""
    before, at, place = text.rpartition("@")
    scheme, colon, _ = before.partition("://")
    return f"{scheme}{colon}(hidden)@{place}" if colon else f"(hidden)@{place}" if at else text


def redacted(request: Any) -> Any:
    """A copy of a request in which every attribute value is replaced by its type and length."""
    if isinstance(request, dict):
        return {name: _items(value) if name in _ITEMS else redacted(value) for name, value in request.items() if name != "Keys"} | (
            {"Keys": [_items(key) for key in request["Keys"]]} if "Keys" in request else {}
        )
    if isinstance(request, list):
        return [redacted(entry) for entry in request]
    return request


def _items(values: Any) -> Any:
    if not isinstance(values, dict):
        return "..."
    return {name: _value(value) for name, value in values.items()}


def _value(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) != 1:
        return "..."
    ((tag, content),) = value.items()
    if tag in ("BOOL", "NULL"):
        return {tag: "..."}
    noun = "elements" if isinstance(content, _CONTAINERS) else "characters"
    return {tag: f"{len(content)} {noun}"}
