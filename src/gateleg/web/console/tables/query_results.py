"""Reads a page of a query or a scan, with the requests and their cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.model import spec_of
from gateleg.ops.scan_pages import browse_flow
from gateleg.store.flow import Request
from gateleg.web.console.tables.meters import MeteredRequest, MeteringTransport

if TYPE_CHECKING:
    from gateleg.model import Item, Query, Spec, Table
    from gateleg.store import AsyncStore
    from gateleg.store.flow import Flow

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


async def read_item(store: AsyncStore, table: Table, key: Item) -> Item | None:
    """One item as it is stored now."""
    payload = {"TableName": store.setup.name_of(table), "Key": key, "ConsistentRead": True}
    return await store.drive(_get(payload, f"{table.name} item"))


def _get(payload: dict[str, Any], label: str) -> Flow[Item | None]:
    response = yield Request("GetItem", payload, label)
    item: Item | None = response.get("Item")
    return item
