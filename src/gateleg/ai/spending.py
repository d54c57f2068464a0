"""The cost of calls: recorded by day, application, tenant and model, and limited by caps.

A call under a cap reserves its estimated cost before it is made, and afterwards corrects that to the actual cost. Both are additions to one
number, `committed`, and a reservation is conditional on the sum staying within the cap. So, at any moment, `committed` = the cost of
finished calls + the estimates of running calls, and

    cost of the day <= cap + the amount by which running calls exceed their estimates

With `max_tokens` an estimate is rarely too low. A process that is killed leaves its reservations until the end of the day (UTC): the cap is
then reached too early, never too late. A call with an unknown end (cancelled, timed out, broken off) counts with its estimate.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, unquote
from uuid import uuid4

import orjson

from gateleg.ai.errors import PriceUnknown, SpendCapReached
from gateleg.ai.steps import StoreOperation
from gateleg.ai.tables import Spend, UsageDay
from gateleg.store import ConditionFailed, StoreError, TransactionCanceled, upsert
from gateleg.store.operations import transact

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.ai.addresses import ModelAddress
    from gateleg.ai.replies import Usage
    from gateleg.ai.settings import ModelSettings
    from gateleg.ai.steps import Flow
    from gateleg.store import WriteOperation

#: How long the usage of a day is kept.
_RETENTION = timedelta(days=800)
_log = logging.getLogger(__name__)
#: How a call ended: with a reply; without one, at no cost; with unknown cost; or it was not made.
Ending = Literal["answered", "failed", "unknown", "refused"]


@dataclass(frozen=True, slots=True)
class Account:
    """Whom calls of models are recorded for."""

    application: str
    tenant: str | None = None


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


@dataclass
class Spending:
    """Records the usage of an account, and refuses calls that exceed a cap."""

    account: Account
    settings: ModelSettings
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    #: cancelled calls that are not settled yet, with their usage
    left: deque[tuple[Reservation, Usage, Ending]] = field(default_factory=deque)

    def reserve(self, address: ModelAddress, forecast: Usage) -> Flow[Reservation]:
        """Reserve the estimated cost of a call. Raises `SpendCapReached` or `PriceUnknown` if it must not be made."""
        price = self.settings.price_of(address)
        forecast = replace(forecast, cost=None if price is None else price.of(forecast))
        caps = self._caps()
        reserved = Reservation(str(address), self.account, self.clock(), forecast, tuple(scope for scope, _ in caps))
        if not caps or forecast.cost == 0:
            return replace(reserved, scopes=())
        if forecast.cost is None:
            raise PriceUnknown(f"There is a spend cap, but no known price for {address}.")
        for scope, cap in caps:
            if forecast.cost > cap:
                smaller = "Use a smaller max_tokens, or raise the cap in [models.caps] of the host's settings."
                raise self._refusal(scope, cap, forecast.cost, reserved.day, smaller)
        try:
            yield StoreOperation(transact([_reserving(scope, cap, forecast.cost, reserved.day) for scope, cap in caps]))
        except TransactionCanceled as error:
            refused = [caps[number] for number, reason in enumerate(error.reasons) if isinstance(reason, ConditionFailed)]
            if not refused:
                raise
            raise self._refusal(*refused[0], forecast.cost, reserved.day) from None
        return reserved

    def settle(self, reserved: Reservation, usage: Usage, ending: Ending = "answered") -> Flow[None]:
        """Record the usage of a call and correct its reservation. A failed write is logged: the call itself has ended."""
        writes = self.settlement(reserved, usage, ending)
        if not writes:
            return
        try:
            yield StoreOperation(transact(writes, token=uuid4().hex))
        except StoreError as error:
            _log.warning("could not record the usage of %s: %s", reserved.model, error)

    def settlement(self, reserved: Reservation, usage: Usage, ending: Ending = "answered") -> list[WriteOperation[Any]]:
        """The writes that record a call's usage and correct its reservation, for a transaction with others."""
        writes: list[WriteOperation[Any]] = [] if ending == "refused" else [_recording(reserved, usage, ending)]
        if reserved.scopes and reserved.forecast.cost is not None and usage.cost is not None:
            more = usage.cost - reserved.forecast.cost
            writes += [_adding(scope, reserved.day, more) for scope in reserved.scopes]
        return writes

    def leave(self, reserved: Reservation, usage: Usage) -> None:
        """Keep a cancelled call for `settle_left`, because no more steps can run now."""
        self.left.append((reserved, usage, "unknown"))

    def settle_left(self) -> Flow[None]:
        """Record the calls that were cancelled."""
        while self.left:
            yield from self.settle(*self.left.popleft())

    def _caps(self) -> list[tuple[str, Decimal]]:
        caps = self.settings.caps
        found = [
            (_scope("application", self.account.application), caps.of_application(self.account.application)),
            (_scope("tenant", self.account.tenant), caps.of_tenant(self.account.tenant)),
        ]
        return [(scope, cap) for scope, cap in found if cap is not None]

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


def _recording(reserved: Reservation, usage: Usage, ending: Ending) -> WriteOperation[UsageDay]:
    application, tenant = reserved.account.application, reserved.account.tenant
    unpriced = usage.cost is None and ending != "failed"
    counts: dict[Any, int | Decimal] = {
        UsageDay.calls: 1,
        UsageDay.failed: int(ending == "failed"),
        UsageDay.unpriced: int(unpriced),
        UsageDay.estimated: int(ending == "unknown" or usage.estimated),
        UsageDay.input: usage.input,
        UsageDay.output: usage.output,
        UsageDay.cached: usage.cached,
        UsageDay.requests: usage.requests,
        UsageDay.images: usage.images,
        UsageDay.seconds: usage.seconds,
        UsageDay.cost: usage.cost or Decimal(0),
    }
    return upsert(
        UsageDay,
        UsageDay.application.set(application),
        *([] if tenant is None else [UsageDay.tenant.set(tenant)]),
        UsageDay.model.set(reserved.model),
        UsageDay.expires_at.set(reserved.day + _RETENTION),
        *(attribute.add(amount) for attribute, amount in counts.items()),
        day=_day(reserved.day),
        slot=orjson.dumps([application, tenant, reserved.model]).decode(),
    )
