"""`/api/tables`: the declared tables, queries by their access patterns, and items."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from gateleg.host.actions import ActionCall
from gateleg.host.actions.items import ItemReply, ItemTarget, WrittenItem, stored_item
from gateleg.host.errors import Unknown
from gateleg.host.host import Host
from gateleg.host.items import check_readable, find_table
from gateleg.model import Access, Table
from gateleg.model.inspection import describe
from gateleg.ops import explain
from gateleg.ops.transfer import browse_flow
from gateleg.web.api.calls import ApiCall, Viewing
from gateleg.web.api.etags import tagged
from gateleg.web.api.pages import Cursor, Limit, Listing, page_by_key

router = APIRouter(prefix="/api/tables", tags=["Tables"])
Name = Annotated[str, Path(max_length=255)]
ItemKeyText = Annotated[str, Path(min_length=2, max_length=4000)]
#: Attributes that are never returned: they grant access, or let their holder write in another's name.
_HIDDEN = {"lease_token", "digest"}


class TableView(BaseModel):
    """A declared table in a list."""

    name: str
    physical: str = Field(description="Its name in the store.")
    state: str = Field(description="ACTIVE, or why it cannot be used.")
    entities: list[str]
    indexes: list[str]
    patterns: int


class TableDetail(BaseModel):
    """A declared table: its keys, indexes, entities and access patterns."""

    physical: str
    declaration: dict[str, Any]


class PatternView(BaseModel):
    """An access pattern of a table."""

    name: str
    title: str
    description: str
    index: str = Field(description="The index; empty for the table itself.")
    required: list[str]
    optional: list[str]
    order: str
    remarks: list[str]

    @classmethod
    def of(cls, access: Access[Any]) -> "PatternView":
        """A pattern, explained."""
        explanation = explain(access)
        return cls(
            name=explanation.pattern,
            title=explanation.title,
            description=explanation.description,
            index=explanation.index,
            required=list(explanation.required),
            optional=list(explanation.optional),
            order=explanation.order,
            remarks=list(explanation.remarks),
        )


class Ask(BaseModel):
    """A query: the arguments of a pattern, and the number of results."""

    model_config = ConfigDict(extra="forbid")

    arguments: dict[str, Any] = {}
    limit: int = Field(default=50, ge=1, le=200)
    cursor: str | None = Field(default=None, max_length=4000)
    newest_first: bool | None = Field(default=None, description="Reverses the order of the sort key; by default the order of the pattern.")


def _table(call: ApiCall, name: str) -> Table:
    found = next((table for table in call.host.tables_for(call.principal) if table.name == name), None)
    if found is None:
        raise Unknown(f"There is no table {name!r}.", fix="GET /api/tables lists them.")
    return found


def _physical(host: Host, table: Table) -> str:
    return host.store.setup.name_of(table)


@router.get("")
async def list_tables(call: Viewing, limit: Limit = 50, cursor: Cursor = None) -> Listing[TableView]:
    """The declared tables that the caller may read, by name."""
    tables = call.host.tables_for(call.principal)
    page = page_by_key(tables, lambda table: table.name, secret=call.host.secret, query="/api/tables", limit=limit, cursor=cursor)
    states = await call.host.store.table_states(*page)
    views = [
        TableView(
            name=table.name,
            physical=_physical(call.host, table),
            state=str(states.get(_physical(call.host, table)) or states.get(table.name) or "MISSING"),
            entities=[spec.name for spec in table.specs],
            indexes=[index.name for index in table.indexes],
            patterns=sum(len(spec.patterns) for spec in table.specs),
        )
        for table in page
    ]
    return Listing(items=views, next=page.next)


@router.get("/{table}", response_model=TableDetail)
async def get_table(call: Viewing, request: Request, table: Name) -> Response:
    """One table as it is declared."""
    found = _table(call, table)
    return tagged(request, TableDetail(physical=_physical(call.host, found), declaration=describe(found)))


@router.get("/{table}/patterns")
async def list_patterns(call: Viewing, table: Name, limit: Limit = 50, cursor: Cursor = None) -> Listing[PatternView]:
    """The access patterns of a table, by name."""
    patterns = [access for spec in _table(call, table).specs for access in spec.patterns.values()]
    query = f"/api/tables/{table}/patterns"
    page = page_by_key(patterns, lambda access: access.name, secret=call.host.secret, query=query, limit=limit, cursor=cursor)
    return Listing(items=[PatternView.of(access) for access in page], next=page.next)


@router.post("/{table}/patterns/{pattern}")
async def ask_pattern(call: Viewing, table: Name, pattern: Name, ask: Ask) -> Listing[dict[str, Any]]:
    """Run an access pattern, such as `Job.in_status`. Arguments are parsed as the attributes that they name."""
    found = [access for spec in _table(call, table).specs for access in spec.patterns.values() if access.name == pattern]
    if not found:
        raise Unknown(f"{table} has no pattern {pattern!r}.", fix=f"GET /api/tables/{table}/patterns lists them.")
    access = found[0]
    page = await call.host.store.page(
        access(**ask.arguments),
        limit=ask.limit,
        cursor=ask.cursor,
        newest_first=ask.newest_first,
        hydrate=access.plan.index.project != "all",
    )
    return Listing(items=[item.model_dump(mode="json", exclude_none=True, exclude=_HIDDEN) for item in page], next=page.next)


#: Browsing must not slow down the users of a table.
_MAX_UNITS_PER_SECOND = 100.0
_MAX_EXAMINED = 2_000


@router.get("/{table}/items")
async def list_items(
    call: Viewing,
    table: Name,
    entity: Annotated[str | None, Query(max_length=200, description="Only items of this entity.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[ItemReply]:
    """The stored items of a table, declared or not, in no particular order. A page reads at most 2,000 items, and may be short."""
    check_readable(call.principal, table)
    found = await find_table(call.host.store, call.host.tables, table)
    check_readable(call.principal, found.name)
    spec = next((spec for spec in found.specs if spec.name == entity), None)
    if entity is not None and spec is None:
        raise Unknown(f"{table} has no entity {entity!r}.", fix=f"GET /api/tables/{table} names its entities.")
    store = call.host.store
    flow = browse_flow(
        store.setup, found, spec=spec, limit=limit, cursor=cursor, examine=_MAX_EXAMINED, units_per_second=_MAX_UNITS_PER_SECOND
    )
    page = await store.drive(flow)
    return Listing(items=[ItemReply.of(WrittenItem(found, item)) for item in page.items], next=page.cursor)


@router.get("/{table}/items/{key:path}", response_model=ItemReply)
async def get_item(call: Viewing, table: Name, key: ItemKeyText) -> Response:
    """One item, with the ETag that a change takes as `If-Match`. The key is a JSON object, percent-encoded."""
    stored = await stored_item(ActionCall(call.host, call.principal, call.request_id), ItemTarget(table=table, key=key))
    reply = ItemReply.of(stored)
    return Response(reply.model_dump_json(), media_type="application/json", headers={"ETag": reply.etag, "Cache-Control": "no-store"})
