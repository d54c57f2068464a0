"""Translate errors of the service into errors of the store, and explain refused writes from what they expected of the stored item."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.model import DecodeError, spec_of
from gateleg.net import is_throttled
from gateleg.store.errors import (
    AccessDenied,
    AlreadyExists,
    ConditionFailed,
    ConstraintFailed,
    IdempotencyMismatch,
    IllegalTransition,
    KeyTooLong,
    LostRace,
    NoAnswer,
    NotDynamoDB,
    NotFound,
    QuotaExceeded,
    Refused,
    ServiceFailed,
    StoreClosed,
    StoreError,
    TableBusy,
    TableMissing,
    Throttled,
    TooLarge,
    TransactionConflict,
)
from gateleg.store.setup import CONFLICTS
from gateleg.store.sizes import ITEM_LIMIT, too_large
from gateleg.store.transports import CLOSED, FOREIGN, ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model import Item, Ref
    from gateleg.model.expressions import Transition
    from gateleg.model.planning import BoundGuard
    from gateleg.store.flow import Request

__all__ = ["WriteCondition", "explain_refusal"]

_DENIED = frozenset(
    {
        "AccessDeniedException",
        "UnrecognizedClientException",
        "InvalidSignatureException",
        "IncompleteSignatureException",
        "MissingAuthenticationTokenException",
        "MissingAuthenticationToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "OptInRequired",
    }
)
_LONG_KEY = re.compile(r"size of (hashkey|all range keys|rangekey) has exceeded", re.IGNORECASE)
_LARGE_ITEM = re.compile(r"item size.* maximum allowed size", re.IGNORECASE)
_NO_INDEX = re.compile(r"does not have the specified index", re.IGNORECASE)
_MISSING = frozenset({"ResourceNotFoundException", "TableNotFoundException", "IndexNotFoundException"})
_BUSY = frozenset({"ResourceInUseException", "TableInUseException", "TableAlreadyExistsException"})


def translated(error: ServiceError | Unreachable, request: Request | None) -> StoreError:
    """The store's error for an error of the service that no flow handled."""
    if isinstance(error, Unreachable):
        return NoAnswer(error.message, request=request)
    what = f"{_named(request)}: {(error.message or error.code).rstrip('.')}."
    if error.code == CLOSED:
        return StoreClosed(what, request=request)
    if error.code.startswith(FOREIGN) or error.code == NotDynamoDB.__name__:
        return NotDynamoDB(error.message, request=request)
    if error.code == "ValidationException":
        return refused(what, error.message, request)
    kind: type[StoreError]
    if error.code in _MISSING:
        kind = TableMissing
    elif error.code in _BUSY:
        kind = TableBusy
    elif error.code == "LimitExceededException" or error.code == "ItemCollectionSizeLimitExceededException":
        kind = QuotaExceeded
    elif is_throttled(error.code, error.status):
        kind = Throttled
    elif error.code in CONFLICTS or error.code == "TransactionCanceledException":
        kind = TransactionConflict
    elif error.code == "IdempotentParameterMismatchException":
        kind = IdempotencyMismatch
    elif error.code in _DENIED:
        kind = AccessDenied
    elif error.status >= 500:
        kind = ServiceFailed
    else:
        kind = Refused
    return kind(what, request=request)


def refused(what: str, message: str, request: Request | None) -> StoreError:
    """The store's error for a request that the service rejected as invalid, chosen by the service's message."""
    if _LARGE_ITEM.search(message):
        if request is None or request.operation != "PutItem":
            return TooLarge(what, size=None, limit=ITEM_LIMIT, request=request)
        return too_large(request.payload["Item"], request.pattern.partition(".")[0], request)
    if _LONG_KEY.search(message):
        return KeyTooLong(what, request=request)
    if _NO_INDEX.search(message):
        return TableMissing(what, fix="Create the index with `gateleg tables apply`.", request=request)
    return Refused(what, request=request)


def _named(request: Request | None) -> str:
    """The name of a request in messages: its operation and tables."""
    if request is None:
        return "The request"
    tables = sorted(_tables_of(request.payload))
    return f"{request.operation} on {', '.join(tables)}" if tables else request.operation


def _tables_of(payload: Mapping[str, Any]) -> set[str]:
    """The tables of a request for an item, a transaction or a batch."""
    if isinstance(table := payload.get("TableName"), str):
        return {table}
    written = {write["TableName"] for entry in payload.get("TransactItems", ()) for write in entry.values()}
    return written | set(payload.get("RequestItems", ()))


@dataclass(frozen=True, slots=True)
class WriteCondition:
    """What a write expected of the stored item, to explain why it was refused."""

    ref: Ref[Any]
    verb: str
    absent: bool = False
    present: bool = False
    version: int | None = None
    moves: tuple[Transition, ...] = ()
    #: the bounds that the update must keep
    guards: tuple[BoundGuard, ...] = ()
    #: whether the caller passed a condition
    conditional: bool = False


def explain_refusal(expected: WriteCondition, item: Item | None, request: Request | None = None) -> StoreError:
    """The error of a refused write, from what it expected and the stored item."""
    name = str(expected.ref)
    broken = [guard for guard in expected.guards if not guard.holds(item or {})]
    if item is None and broken and not expected.present:
        return bound_error(broken[0], expected.ref, None, "update", request)
    if item is None:
        return _missing_item_error(expected, name, request)
    certain = _certain(expected, item, request)
    if certain is not None:
        return certain
    current = _current(expected.ref, item)
    if not expected.conditional:
        # The remaining conditions protect derived data.
        what = f"{name} no longer has the values that its index keys, markers or counters were computed from."
        return LostRace(what, current=current, request=request)
    return ConditionFailed(f"{name} does not satisfy the condition of the {expected.verb}.", current=current, request=request)


def explain_refusals(
    expected: Mapping[int, WriteCondition], item: Item | None, request: Request | None = None, *, certain_only: bool = False
) -> dict[int, StoreError]:
    """The errors of operations on one item that were refused together, by number.

    Blames the operations that certainly failed, or if there are none, those with a condition. With `certain_only`, blames only the former:
    another reason for the refusal is then already known.
    """
    if item is None:
        return {number: explain_refusal(expectation, None, request) for number, expectation in expected.items()}
    certain = {number: _certain(expectation, item, request) for number, expectation in expected.items()}
    if certain_only or any(certain.values()):
        return {number: cause for number, cause in certain.items() if cause is not None}
    conditional = {number: expectation for number, expectation in expected.items() if expectation.conditional} or expected
    return {number: explain_refusal(expectation, item, request) for number, expectation in conditional.items()}


def _certain(expected: WriteCondition, item: Item, request: Request | None) -> StoreError | None:
    """The error that the stored item proves: it should not exist, has another version, is in another state, or a bound would be broken."""
    name, current = str(expected.ref), _current(expected.ref, item)
    if expected.absent:
        fix = None
        if expected.verb == "put":
            fix = "This instance was never read: get the item and put or patch that, or pass check_version=False to overwrite it."
        return AlreadyExists(f"{name} already exists.", fix=fix, current=current, request=request)
    spec = spec_of(expected.ref.entity)
    stale = []
    if expected.version is not None and spec.version is not None:
        stored = item.get(spec.version.wire, {"N": "0"}).get("N")
        if stored != str(expected.version):
            stale.append(spec.version.name)
    stuck = [move for move in expected.moves if item.get(str(move.path[0]), {}).get("S") not in move.target.predecessors]
    failed = (*stale, *(move.attribute for move in stuck))
    if stale:
        what = f"The write expected version {expected.version} of {name}, but the stored version is {stored or 'missing'}."
        return LostRace(what, current=current, failed=failed, request=request)
    if stuck:
        move = stuck[0]
        state = item.get(str(move.path[0]), {}).get("S")
        what = f"{name} cannot go from {state} to {move.target}."
        allowed = ", ".join(sorted(move.target.predecessors))
        return IllegalTransition(what, why=f"Only {allowed} can move to {move.target}.", current=current, failed=failed, request=request)
    broken = [guard for guard in expected.guards if not guard.holds(item)]
    if broken:
        return bound_error(broken[0], expected.ref, item, "update", request)
    return None


def bound_error(guard: BoundGuard, ref: Ref[Any], item: Item | None, verb: str, request: Request | None) -> ConstraintFailed:
    """The error of a write that would break a bound of an item's attribute."""
    current = None if item is None else _current(ref, item)
    stored = getattr(current, guard.attribute, None)
    now = "" if stored is None else f" It is {stored!r} now."
    what = f"The {verb} would break a bound of {ref}: {guard.attribute} must be {guard.text} ({guard.rule}={guard.bound}).{now}"
    return ConstraintFailed(what, attribute=guard.attribute, bound=f"{guard.rule}={guard.bound}", current=current, request=request)


def _missing_item_error(expected: WriteCondition, name: str, request: Request | None) -> StoreError:
    if expected.version and not expected.present:
        return LostRace(f"{name} was deleted after it was read.", request=request)
    if expected.present or not expected.conditional:
        return NotFound(f"There is no {name} to {expected.verb}.", request=request)
    return ConditionFailed(f"{name} does not exist, so the condition of the {expected.verb} fails.", request=request)


def _current(ref: Ref[Any], item: Item) -> Any:
    """The stored item as an instance; None if it cannot be decoded."""
    try:
        return spec_of(ref.entity).decode(item)
    except DecodeError:
        return None
