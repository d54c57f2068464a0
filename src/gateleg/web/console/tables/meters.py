"""A transport that records the requests of a page and their cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.store.observing import item_count
from gateleg.store.setup import used

if TYPE_CHECKING:
    from gateleg.store.transports import AsyncTransport

_METERED = frozenset({"GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan", "BatchGetItem", "TransactWriteItems"})


@dataclass(frozen=True)
class MeteredRequest:
    """A request without its cost options, and figures of its response."""

    operation: str
    request: dict[str, Any]
    units: float
    items: int
    #: how many items were read to find them
    examined: int


@dataclass
class MeteringTransport:
    """Passes requests on and records them: `store.using(Meter(store.transport))`."""

    transport: AsyncTransport
    sent: list[MeteredRequest] = field(default_factory=list)

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """The response of the wrapped transport."""
        metered = request | {"ReturnConsumedCapacity": "TOTAL"} if operation in _METERED else request
        response = await self.transport.call(operation, metered, timeout=timeout)
        count = item_count(response)
        shown = {member: value for member, value in request.items() if member != "ReturnConsumedCapacity"}
        self.sent.append(MeteredRequest(operation, shown, used(response), count, int(response.get("ScannedCount", count))))
        return response

    async def close(self) -> None:
        """Do nothing: the transport belongs to the store."""

    @property
    def units(self) -> float:
        """Capacity units of all requests."""
        return sum(entry.units for entry in self.sent)

    @property
    def examined(self) -> int:
        """The number of items read."""
        return sum(entry.examined for entry in self.sent)


def cost_text(sent: list[MeteredRequest]) -> str:
    """The cost of requests, in a sentence."""
    units = sum(entry.units for entry in sent)
    items = sum(entry.items for entry in sent)
    examined = sum(entry.examined for entry in sent)
    requests = "1 request" if len(sent) == 1 else f"{len(sent)} requests"
    cost = f"{units:,.10g} {'unit' if units == 1 else 'units'} of capacity in {requests}"
    return cost if examined <= items else f"{cost}; {examined:,} items were read to find {items:,}"
