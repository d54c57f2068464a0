"""From the service's refusals to the store's errors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.model import DecodeError, spec_of
from gateleg.net import is_throttled
from gateleg.store.backoff import CONFLICTS
from gateleg.store.errors import (
    AccessDenied,
    AlreadyExists,
    ConditionFailed,
    IdempotencyMismatch,
    IllegalTransition,
    KeyTooLong,
    LostRace,
    NoAnswer,
    NotFound,
    QuotaExceeded,
    Refused,
    ServiceFailed,
    StoreError,
    TableBusy,
    TableMissing,
    Throttled,
    TooLarge,
    TransactionConflict,
)
from gateleg.store.operation import shown
from gateleg.store.sizes import ITEM_LIMIT
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from gateleg.model import Item, Ref
    from gateleg.model.actions import Transition
    from gateleg.store.requests import Request


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a write took for granted."""

    ref: Ref[Any]
    verb: str
    absent: bool = False
    present: bool = False
    version: int | None = None
    moves: tuple[Transition, ...] = ()
    #: whether the caller gave a condition of their own
    conditional: bool = False


def explained(expected: Expectation, item: Item | None, request: Request | None = None) -> StoreError:
    """Why a write was refused, from what it expected and the item that was there."""
    name = shown(expected.ref)
    if item is None:
        return _nothing_there(expected, name, request)
    current = _current(expected.ref, item)
    if expected.absent:
        return AlreadyExists(f"{name} is there already.", current=current, request=request)
    spec = spec_of(expected.ref.entity)
    stale = []
    if expected.version is not None and spec.version is not None:
        stored = item.get(spec.version.wire, {"N": "0"}).get("N")
        if stored != str(expected.version):
            stale.append(spec.version.name)
    stuck = [move for move in expected.moves if item.get(str(move.path[0]), {}).get("S") not in move.target.predecessors]
    failed = (*stale, *(move.attribute for move in stuck))
    if stale:
        what = f"{name} was to be written from version {expected.version}, and has another."
        return LostRace(what, current=current, failed=failed, request=request)
    if stuck:
        move = stuck[0]
        state = item.get(str(move.path[0]), {}).get("S")
        what = f"{name} cannot go from {state} to {move.target}."
        allowed = ", ".join(sorted(move.target.predecessors))
        return IllegalTransition(what, why=f"Only {allowed} may.", current=current, failed=failed, request=request)
    if not expected.conditional:
        # The only conditions left are those that keep what is derived right.
        what = f"{name} no longer has the values that its index keys, markers or counters were worked out from."
        return LostRace(what, current=current, request=request)
    return ConditionFailed(f"{name} does not satisfy the condition of the {expected.verb}.", current=current, request=request)


def _nothing_there(expected: Expectation, name: str, request: Request | None) -> StoreError:
    if expected.version and not expected.present:
        return LostRace(f"{name} was deleted after it was read.", request=request)
    if expected.present or not expected.conditional:
        return NotFound(f"There is no {name} to {expected.verb}.", request=request)
    return ConditionFailed(f"There is no {name}, and the condition of the {expected.verb} fails.", request=request)


def _current(ref: Ref[Any], item: Item) -> Any:
    """The item that is there as an entity; None when it is none that can be read."""
    try:
        return spec_of(ref.entity).decode(item)
    except DecodeError:
        return None


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
_MISSING = frozenset({"ResourceNotFoundException", "TableNotFoundException", "IndexNotFoundException"})
_BUSY = frozenset({"ResourceInUseException", "TableInUseException", "TableAlreadyExistsException"})


def _named(request: Request | None) -> str:
    """A request as it is called in messages: its operation, and the table if it is of one."""
    if request is None:
        return "The request"
    table = request.payload.get("TableName")
    return f"{request.operation} on {table}" if isinstance(table, str) else request.operation


def translated(error: ServiceError | Unreachable, request: Request | None) -> StoreError:
    """The store's error for an answer that no flow has dealt with."""
    if isinstance(error, Unreachable):
        return NoAnswer(error.message, request=request)
    what = f"{_named(request)}: {(error.message or error.code).rstrip('.')}."
    if error.code == "ValidationException" and "maximum allowed size" in error.message:
        return TooLarge(what, size=None, limit=ITEM_LIMIT, request=request)
    if error.code == "ValidationException" and _LONG_KEY.search(error.message):
        return KeyTooLong(what, request=request)
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
