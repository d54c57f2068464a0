"""What a page has asked the database, and what that has cost: a transport that looks on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.store.observing.hooks import item_count
from gateleg.store.rates import used

if TYPE_CHECKING:
    from gateleg.store.transports import AsyncTransport

_METERED = frozenset({"GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan", "BatchGetItem", "TransactWriteItems"})


@dataclass(frozen=True)
class MeteredRequest:
    """One request, without the wish to be told its cost, and what its answer says."""

    operation: str
    request: dict[str, Any]
    units: float
    items: int
    #: how many items were looked at to find them
    examined: int


@dataclass
class Meter:
    """Passes requests on and keeps account of them: `store.using(Meter(store.transport))`."""

    transport: AsyncTransport
    sent: list[MeteredRequest] = field(default_factory=list)

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """The answer of the transport behind it."""
        metered = request | {"ReturnConsumedCapacity": "TOTAL"} if operation in _METERED else request
        reply = await self.transport.call(operation, metered, timeout=timeout)
        count = item_count(reply)
        shown = {member: value for member, value in request.items() if member != "ReturnConsumedCapacity"}
        self.sent.append(MeteredRequest(operation, shown, used(reply), count, int(reply.get("ScannedCount", count))))
        return reply

    async def close(self) -> None:
        """Nothing: the transport belongs to the store."""

    @property
    def units(self) -> float:
        """Capacity units of all requests."""
        return sum(entry.units for entry in self.sent)

    @property
    def examined(self) -> int:
        """Items that were looked at."""
        return sum(entry.examined for entry in self.sent)


def cost_text(sent: list[MeteredRequest]) -> str:
    """What requests have cost, in a sentence."""
    units = sum(entry.units for entry in sent)
    items = sum(entry.items for entry in sent)
    examined = sum(entry.examined for entry in sent)
    requests = "1 request" if len(sent) == 1 else f"{len(sent)} requests"
    cost = f"{units:,.10g} {'unit' if units == 1 else 'units'} of capacity in {requests}"
    return cost if examined <= items else f"{cost}; {examined:,} items were looked at for {items:,}"
