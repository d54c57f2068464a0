"""Asking: a page of what a pattern finds, or of whatever is in a table, with the requests that were sent and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.model import spec_of
from gateleg.ops.scan_pages import browse_flow
from gateleg.store.flow import Request
from gateleg.web.console.tables.meters import Meter, MeteredRequest

if TYPE_CHECKING:
    from gateleg.model import Item, Query, Spec, Table
    from gateleg.store import AsyncStore
    from gateleg.store.flow import Flow

#: Looking around must not slow the users of a table down.
UNITS_A_SECOND = 100.0
#: How many items are looked at for one page, when only those of one entity are wanted.
EXAMINE = 2_000


@dataclass(frozen=True)
class Answer:
    """Some items as they are on the wire, and the way on."""

    items: list[Item]
    sent: list[MeteredRequest]
    next: str | None = None
    previous: str | None = None
    #: what to know about it, such as an item that its entity cannot read
    note: str = ""


async def answer(store: AsyncStore, query: Query[Any], *, limit: int, cursor: str | None = None) -> Answer:
    """A page of what a question finds. Whole items, also where the index holds only a part.

    Those that their entity cannot read come last, as the database has them, with a note on what is wrong.
    """
    meter = Meter(store.transport)
    spec: Spec[Any] = spec_of(query.entity)
    partial = query.plan.index.project != "all"
    page = await store.using(meter).page(query, limit=limit, cursor=cursor, hydrate=partial)
    items = [*(spec.encode(entry) for entry in page.items), *(bad.item for bad in page.unreadable)]
    note = " ".join(bad.error.message for bad in page.unreadable)
    return Answer(items, meter.sent, page.next, page.previous, note)


async def glimpse(
    store: AsyncStore, table: Table, *, spec: Spec[Any] | None = None, limit: int, cursor: str | None = None, examine: int = EXAMINE
) -> Answer:
    """Some items of a table, or of one entity in it, in no order that means anything. Reads no faster than `UNITS_A_SECOND`."""
    meter = Meter(store.transport)
    flow = browse_flow(store.setup, table, spec=spec, limit=limit, cursor=cursor, examine=examine, units_per_second=UNITS_A_SECOND)
    found = await store.using(meter).drive(flow)
    return Answer(found.items, meter.sent, found.cursor)


async def read_item(store: AsyncStore, table: Table, key: Item) -> Item | None:
    """One item as it is stored now."""
    payload = {"TableName": store.setup.name_of(table), "Key": key, "ConsistentRead": True}
    return await store.drive(_get(payload, f"{table.name} item"))


def _get(payload: dict[str, Any], label: str) -> Flow[Item | None]:
    reply = yield Request("GetItem", payload, label)
    item: Item | None = reply.get("Item")
    return item
