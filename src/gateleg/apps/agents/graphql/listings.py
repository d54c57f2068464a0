"""Pages of lists: by page number, as in the public engine, and by cursor, which reads no row twice."""

from typing import Any

import strawberry

from gateleg.apps.agents.graphql.calls import Call
from gateleg.apps.agents.graphql.fields import resolver_field
from gateleg.apps.agents.listing import DEFAULT_LIMIT, Listing, Paging

__all__ = ["DEFAULT_LIMIT", "Listing", "PageType", "list_rows"]


@strawberry.type
class PageType:
    """Fields of all lists."""

    @resolver_field(int)
    def page_size(root: strawberry.Parent[Listing[Any]]) -> int:
        """The maximum number of rows: `limit`, by default 100."""
        return root.paging.limit

    @resolver_field(int)
    def page_number(root: strawberry.Parent[Listing[Any]]) -> int:
        """The number of the page, from 1; always 1 for pages by cursor."""
        return root.paging.page_number

    @resolver_field(str | None)
    def next_cursor(root: strawberry.Parent[Listing[Any]]) -> str | None:
        """The cursor to send as `after` for the next page; null on the last one."""
        return root.next

    @resolver_field(int)
    async def total(root: strawberry.Parent[Listing[Any]]) -> int:
        """The number of rows of all pages. If there are further pages, they are counted when this field is selected."""
        alone = root.next is None and root.paging.cursor is None and root.paging.page_number == 1
        return len(root.items) if alone else await root.total()


async def list_rows(call: Call, read: Any, given: dict[str, Any]) -> Listing[Any]:
    """A page of a service function's list in the partition of the call; null arguments are left out."""
    paging, asked = _paged(given)
    found: Listing[Any] = await read(call.store, call.context, paging, **asked)
    return found


def _paged(given: dict[str, Any]) -> tuple[Paging, dict[str, Any]]:
    asked = {name: value for name, value in given.items() if value is not None}
    paging = Paging(asked.pop("limit", DEFAULT_LIMIT), asked.pop("after", None), asked.pop("page_number", 1))
    # The public engine misspells this argument.
    statuses = [*asked.pop("statues", []), *asked.pop("statuses", [])]
    return paging, asked | ({"statuses": statuses} if statuses else {})
