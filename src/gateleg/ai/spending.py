"""The cost of calls: each is recorded in one ledger, summed up by day, application, tenant and model, and limited by caps.

Every call has one row (`ModelCall`). Its end is written in one transaction with all sums that it belongs to: those of the day, and those
that the application keeps (`Account.record`). So the ledger, the host's usage and the application's agree at any moment.

A call under a cap reserves its estimated cost before it is made, and afterwards corrects that to the actual cost. Both are additions to one
number, `committed`, and a reservation is conditional on the sum staying within the cap. So, at any moment, `committed` = the cost of
finished calls + the estimates of running calls, and

    cost of the day <= cap + the amount by which running calls exceed their estimates

With `max_tokens` an estimate is rarely too low. A call with an unknown end (cancelled, timed out, broken off) counts with its estimate. So
does one whose process was killed: it leaves an open row, which `settle_lost` ends. Calls of local models are free, and are not opened.
"""

from __future__ import annotations

import logging
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, unquote
from uuid import uuid4

import orjson

from gateleg.ai.errors import BadModelAddress, PriceUnknown, SpendCapReached
from gateleg.ai.replies import NOTHING, Usage
from gateleg.ai.steps import StoreOperation
from gateleg.ai.tables import ModelCall, Spend, UsageDay
from gateleg.model import time_uuid
from gateleg.store import ConditionFailed, NotFound, StoreError, TransactionCanceled, create, patch, upsert
from gateleg.store.operations import page, transact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gateleg.ai.addresses import ModelAddress
    from gateleg.ai.settings import ModelSettings
    from gateleg.ai.steps import Flow
    from gateleg.store import Page, WriteOperation
    from gateleg.store.operations import Operation

#: How long the usage of a day, and a single call, are kept.
_RETENTION, _CALL_RETENTION = timedelta(days=800), timedelta(days=100)
#: Seconds after the longest duration of a call after which one that is still open is lost.
_LOST_AFTER_SECONDS = 120.0
#: Calls that are looked at when lost ones are ended.
_AT_ONCE = 200
_log = logging.getLogger(__name__)
#: How a call ended: with a reply; without one, at no cost; with unknown cost; or it was not made.
Ending = Literal["answered", "failed", "unknown", "refused"]


@dataclass(frozen=True, slots=True)
class Account:
    """Whom calls of models are recorded for."""

    application: str
    tenant: str | None = None
    #: what the calls are for, such as a run: its calls are listed together
    subject: str | None = None
    #: why they are made, such as `answer` or `summary`
    purpose: str = ""
    #: what else is recorded with each call, or a function that says it when a call begins
    labels: Mapping[str, str] | Callable[[], Mapping[str, str]] = field(default_factory=dict, hash=False)
    #: further writes for the transaction that ends a call, such as sums that the application keeps
    record: Callable[[ModelCall], Sequence[WriteOperation[Any]]] | None = field(default=None, compare=False)

    def ledger_subject(self, day: str) -> str:
        """The key of the ledger under which a call is listed."""
        return "/".join(quote(part, safe="") for part in (self.application, self.tenant or "", self.subject or day))


@dataclass(frozen=True, slots=True)
class Reservation:
    """A call that may be made: its estimated usage and cost, which are reserved."""

    model: str
    account: Account
    day: datetime
    #: the estimated usage; its cost is None without a price
    forecast: Usage
    #: the caps that it counts against
    scopes: tuple[str, ...] = ()
    #: its open row in the ledger, if it has one
    call: ModelCall | None = None


@dataclass
class Spending:
    """Records the usage of an account, and refuses calls that exceed a cap."""

    account: Account
    settings: ModelSettings
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    #: cancelled calls that are not settled yet, with their usage
    left: deque[tuple[Reservation, Usage, Ending]] = field(default_factory=deque)

    def reserve(self, address: ModelAddress, forecast: Usage, *, opened: bool = True) -> Flow[Reservation]:
        """Reserve the estimated cost of a call and open it. Raises `SpendCapReached` or `PriceUnknown` if it must not be made.

        Without `opened`, something else than the ledger remembers it until its end.
        """
        price = self.settings.price_of(address)
        forecast = replace(forecast, cost=None if price is None else price.of(forecast))
        caps = self._caps()
        model = self.settings.name_of(address)
        reserved = Reservation(model, self.account, self.clock(), forecast, tuple(scope for scope, _ in caps))
        if not caps or forecast.cost == 0:
            reserved = replace(reserved, scopes=())
        elif forecast.cost is None:
            raise PriceUnknown(f"There is a spend cap, but no known price for {model}.")
        call = self._row(reserved, forecast, "open") if opened and address.provider != "local" else None
        if not reserved.scopes or forecast.cost is None:
            return replace(reserved, call=(yield from self._opened(call)))
        for scope, cap in caps:
            if forecast.cost > cap:
                smaller = "Use a smaller max_tokens, or raise the cap in [models.caps] of the host's settings."
                raise self._refusal(scope, cap, forecast.cost, reserved.day, smaller)
        reserving = [_reserving(scope, cap, forecast.cost, reserved.day) for scope, cap in caps]
        try:
            yield StoreOperation(transact([*reserving, *([] if call is None else [create(call)])]))
        except TransactionCanceled as error:
            refused = [caps[number] for number, reason in enumerate(error.reasons) if isinstance(reason, ConditionFailed)]
            if not refused:
                raise
            raise self._refusal(*refused[0], forecast.cost, reserved.day) from None
        return replace(reserved, call=call)

    def _opened(self, call: ModelCall | None) -> Flow[ModelCall | None]:
        """Open a call in the ledger. A store that fails does not keep it from being made: its end will be recorded."""
        if call is None:
            return None
        try:
            yield StoreOperation(create(call))
        except StoreError as error:
            _log.warning("could not open the call of %s: %s", call.model, error)
            return None
        return call

    def settle(self, reserved: Reservation, usage: Usage, ending: Ending = "answered") -> Flow[None]:
        """Record the usage of a call and correct its reservation. A failed write is logged: the call itself has ended."""
        try:
            yield from self._end(self._ended(reserved, usage, ending), reserved)
        except StoreError as error:
            _log.warning("could not record the usage of %s: %s", reserved.model, error)

    def settlement(self, reserved: Reservation, usage: Usage, ending: Ending = "answered") -> list[WriteOperation[Any]]:
        """The writes that record a call's usage and correct its reservation, for a transaction with others."""
        call = self._ended(reserved, usage, ending)
        return [*_ending(call, reserved), *self._own_writes(call)]

    def book(self, name: str, usage: Usage, ending: Ending = "answered") -> Flow[None]:
        """Record a call that was not made through these models, under the name of its model."""
        if usage.cost is None:
            with suppress(BadModelAddress):
                price = self.settings.price_of(self.settings.resolve(name))
                usage = usage if price is None else replace(usage, cost=price.of(usage))
        yield from self.settle(Reservation(name, self.account, self.clock(), usage), usage, ending)

    def settle_lost(self, *, subject: str | None = None) -> Flow[int]:
        """End calls that were never ended, because their process was killed, with their estimates; returns their number.

        All calls for a subject, whose work must have ended; or those of the application that are open for longer than a call can last.
        """
        overdue = self.clock() - timedelta(seconds=self.settings.total_seconds + _LOST_AFTER_SECONDS)
        mine = ModelCall.unfinished().where(ModelCall.opened_at < overdue).filter(ModelCall.application == self.account.application)
        question: Operation[Page[ModelCall]] = page(mine, limit=_AT_ONCE)
        if subject is not None:
            key = replace(self.account, subject=subject).ledger_subject("")
            question = page(ModelCall.of_subject(subject=key), limit=_AT_ONCE, consistent=True)
        calls: Page[ModelCall] = yield StoreOperation(question)
        own = (self.account.application, self.account.record is not None)
        lost = [call for call in calls if call.status == "open" and (call.application, call.summed) == own]
        for call in lost:
            account = Account(call.application, call.tenant)
            reserved = Reservation(call.model, account, call.opened_at, _usage_of(call, call.reserved), tuple(call.scopes), call)
            ended = call.model_copy(update={"status": "unknown", "estimated": True, "cost": call.reserved, "ended_at": self.clock()})
            try:
                yield from self._end(ended, reserved)
            except StoreError as error:
                _log.warning("could not record the lost call of %s: %s", call.model, error)
        return len(lost)

    def _row(self, reserved: Reservation, usage: Usage, status: Any) -> ModelCall:
        """The row of a new call in the ledger."""
        day = _day(reserved.day)
        return ModelCall(
            subject=reserved.account.ledger_subject(day),
            call_id=str(time_uuid()),
            day=day,
            application=reserved.account.application,
            tenant=reserved.account.tenant,
            model=reserved.model,
            purpose=reserved.account.purpose,
            labels=dict(labels() if callable(labels := reserved.account.labels) else labels),
            status=status,
            summed=reserved.account.record is not None,
            **_numbers(usage),
            scopes=list(reserved.scopes),
            reserved=reserved.forecast.cost,
            opened_at=reserved.day,
            expires_at=reserved.day + _CALL_RETENTION,
        )

    def _ended(self, reserved: Reservation, usage: Usage, ending: Ending) -> ModelCall:
        """The row of a call that has ended."""
        row = reserved.call if reserved.call is not None else self._row(reserved, usage, ending)
        estimated = usage.estimated or ending == "unknown"
        return row.model_copy(update={**_numbers(usage), "status": ending, "estimated": estimated, "ended_at": self.clock()})

    def _own_writes(self, call: ModelCall) -> Sequence[WriteOperation[Any]]:
        return () if self.account.record is None else self.account.record(call)

    def _end(self, call: ModelCall, reserved: Reservation) -> Flow[None]:
        """Write the end of a call with all its sums, unless it has ended already. Sums of things that are gone are left out."""
        writes, own = _ending(call, reserved), list(self._own_writes(call))
        while True:
            try:
                yield StoreOperation(transact([*writes, *own], token=uuid4().hex))
            except TransactionCanceled as error:
                # Anything else, such as a conflict that lasts, must not lose a sum.
                gone = [isinstance(reason, ConditionFailed | NotFound) for reason in error.reasons]
                if reserved.call is not None and gone[0]:
                    return
                kept = [write for write, missing in zip(own, gone[len(writes) :], strict=True) if not missing]
                if len(kept) == len(own):
                    raise
                own = kept
            else:
                return

    def leave(self, reserved: Reservation, usage: Usage) -> None:
        """Keep a cancelled call for `settle_left`, because no more steps can run now."""
        self.left.append((reserved, usage, "unknown"))

    def settle_left(self) -> Flow[None]:
        """Record the calls that were cancelled."""
        while self.left:
            yield from self.settle(*self.left.popleft())

    def _caps(self) -> list[tuple[str, Decimal]]:
        caps = self.settings.caps
        caps_in_force = [
            (_scope("application", self.account.application), caps.of_application(self.account.application)),
            (_scope("tenant", self.account.tenant), caps.of_tenant(self.account.tenant)),
        ]
        return [(scope, cap) for scope, cap in caps_in_force if cap is not None]

    def _refusal(self, scope: str, cap: Decimal, cost: Decimal, now: datetime, fix: str | None = None) -> SpendCapReached:
        kind, _, name = unquote(scope).partition("/")
        midnight = datetime(now.year, now.month, now.day, tzinfo=UTC) + timedelta(days=1)
        return SpendCapReached(
            f"The {kind} {name!r} may spend {cap} a day on models, and this call, at up to {cost:.4f}, would exceed that.",
            retry_after=(midnight - now).total_seconds(),
            fix=fix,
        )


def _scope(kind: str, name: str | None) -> str:
    return f"{kind}/{quote(name or '', safe='')}"


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"


def _reserving(scope: str, cap: Decimal, cost: Decimal, day: datetime) -> WriteOperation[Spend]:
    within = Spend.committed.missing() | (Spend.committed <= cap - cost)
    return upsert(Spend, Spend.committed.add(cost), Spend.expires_at.set(day + _RETENTION), condition=within, scope=scope, day=_day(day))


def _adding(scope: str, day: datetime, cost: Decimal) -> WriteOperation[Spend]:
    return upsert(Spend, Spend.committed.add(cost), Spend.expires_at.set(day + _RETENTION), scope=scope, day=_day(day))


def _ending(call: ModelCall, reserved: Reservation) -> list[WriteOperation[Any]]:
    """The writes that end a call: its row first, then the sums of its day and the corrections of its reservations."""
    if reserved.call is None:
        writes: list[WriteOperation[Any]] = [create(call)]
    else:
        names = (*_numbers(NOTHING), "estimated", "ended_at")
        changes = [getattr(ModelCall, name).set(getattr(call, name)) for name in names]
        still_open = ModelCall.status == "open"
        writes = [patch(reserved.call, ModelCall.status.set(call.status), *changes, condition=still_open, returning="none")]
    if call.status != "refused":
        writes.append(_recording(call))
    if reserved.scopes and reserved.forecast.cost is not None and call.cost is not None:
        more = call.cost - reserved.forecast.cost
        writes += [_adding(scope, reserved.day, more) for scope in reserved.scopes]
    return writes


def _numbers(usage: Usage) -> dict[str, Any]:
    """The attributes of a call that say what it used."""
    names = ("input", "output", "cached", "requests", "images", "seconds", "cost")
    return {name: getattr(usage, name) for name in names}


def _usage_of(call: ModelCall, cost: Decimal | None) -> Usage:
    return Usage(**{**{name: getattr(call, name) for name in _numbers(NOTHING)}, "cost": cost})


def _recording(call: ModelCall) -> WriteOperation[Any]:
    """The addition of a call to the usage of its day."""
    unpriced = call.cost is None and call.status != "failed"
    counts: dict[Any, int | Decimal] = {
        UsageDay.calls: 1,
        UsageDay.failed: int(call.status == "failed"),
        UsageDay.unpriced: int(unpriced),
        UsageDay.estimated: int(call.estimated),
        UsageDay.input: call.input,
        UsageDay.output: call.output,
        UsageDay.cached: call.cached,
        UsageDay.requests: call.requests,
        UsageDay.images: call.images,
        UsageDay.seconds: call.seconds,
        UsageDay.cost: call.cost or Decimal(0),
    }
    return upsert(
        UsageDay,
        UsageDay.application.set(call.application),
        *([] if call.tenant is None else [UsageDay.tenant.set(call.tenant)]),
        UsageDay.model.set(call.model),
        UsageDay.expires_at.set(call.opened_at + _RETENTION),
        *(attribute.add(amount) for attribute, amount in counts.items()),
        day=call.day,
        slot=orjson.dumps([call.application, call.tenant, call.model]).decode(),
    )
