"""Reads a page of a query or a scan, with the requests and their cost.

A transport that records the requests of a page and their cost.

References between items, inferred from the declarations: an attribute that is part of another entity's key. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.host.item_keys import item_address, key_text
from gateleg.jobs import Job
from gateleg.model import ModelError, spec_of
from gateleg.ops.transfer import browse_flow
from gateleg.store.observing import item_count
from gateleg.store.setup import used

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.model import Item, Query, Spec, Table
    from gateleg.store import AsyncStore
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


#: Browsing must not slow down the users of a table.
MAX_UNITS_PER_SECOND = 100.0
#: The maximum number of items read for one page of one entity.
MAX_EXAMINED = 2_000


@dataclass(frozen=True)
class QueryResult:
    """A page of items in wire format, and the next cursor."""

    items: list[Item]
    sent: list[MeteredRequest]
    next: str | None = None
    previous: str | None = None
    #: notes, such as items that their entity cannot decode
    note: str = ""


async def query_page(store: AsyncStore, query: Query[Any], *, limit: int, cursor: str | None = None) -> QueryResult:
    """A page of a query. Whole items, even if the index projects only a part.

    Items that their entity cannot decode come last, as they are stored, with a note on the problem.
    """
    meter = MeteringTransport(store.transport)
    spec: Spec[Any] = spec_of(query.entity)
    partial = query.plan.index.project != "all"
    page = await store.using(meter).page(query, limit=limit, cursor=cursor, hydrate=partial)
    items = [*(spec.encode(entry) for entry in page.items), *(bad.item for bad in page.unreadable)]
    note = " ".join(bad.error.message for bad in page.unreadable)
    return QueryResult(items, meter.sent, page.next, page.previous, note)


async def scan_page(
    store: AsyncStore, table: Table, *, spec: Spec[Any] | None = None, limit: int, cursor: str | None = None, examine: int = MAX_EXAMINED
) -> QueryResult:
    """A page of a scan of a table, or of one entity in it. Reads at most `MAX_UNITS_PER_SECOND`."""
    meter = MeteringTransport(store.transport)
    flow = browse_flow(store.setup, table, spec=spec, limit=limit, cursor=cursor, examine=examine, units_per_second=MAX_UNITS_PER_SECOND)
    found = await store.using(meter).drive(flow)
    return QueryResult(found.items, meter.sent, found.cursor)


def references(spec: Spec[Any], tables: Iterable[Table]) -> dict[str, Spec[Any]]:
    """The attributes of an entity that refer to another entity.

    `Loan.book_id` refers to `Book` if the key of `Book` consists of `book_id`, or of several attributes that `Loan` also has, with
    `book_id` as the last. If several entities match, the one that the attribute is named after is chosen, or none.
    """
    found: dict[str, list[Spec[Any]]] = {}
    for target in (other for table in tables for other in table.specs if other is not spec):
        names = target.key.names
        if names and names[-1].endswith("_id") and all(_same(spec, target, name) for name in names):
            found.setdefault(names[-1], []).append(target)
    chosen = {name: _target_of(name, targets) for name, targets in found.items()}
    return {name: target for name, target in chosen.items() if target is not None}


def _same(spec: Spec[Any], target: Spec[Any], name: str) -> bool:
    own = spec.sources.get(name)
    return own is not None and own.declared.type is target.sources[name].declared.type


def _target_of(name: str, targets: list[Spec[Any]]) -> Spec[Any] | None:
    named = [target for target in targets if f"{target.name.lower()}_id" == name.replace("_", "").removesuffix("id") + "_id"]
    # Jobs have one page, whatever table they are in.
    if len(named) == 1 or (named and all(issubclass(target.entity, Job) for target in named)):
        return named[0]
    return targets[0] if len(targets) == 1 else None


def addresses(spec: Spec[Any], item: Item, known: Mapping[str, Spec[Any]]) -> dict[str, str]:
    """The addresses of an item's references, by attribute; none for an item that cannot be decoded."""
    if not known:
        return {}
    try:
        values = spec.values(spec.decode(item))
    except ModelError:
        return {}
    return {
        name: _address(target, values) for name, target in known.items() if all(values.get(part) is not None for part in target.key.names)
    }


def _address(target: Spec[Any], values: Mapping[str, Any]) -> str:
    if issubclass(target.entity, Job):
        return f"/jobs/{values['job_id']}"
    return item_address(target.table.name, key_text(target.table, target.key.require(values, target.name)))
