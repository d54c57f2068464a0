"""Read or write any number of items in batches: concurrent BatchGetItem or BatchWriteItem requests, and retries of unprocessed entries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gateleg.net import is_throttled
from gateleg.store.errors import Throttled
from gateleg.store.flow import Pause, Request, Together
from gateleg.store.operations.operation import ItemKey, item_key
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.model import Item, Table
    from gateleg.store.flow import Flow
    from gateleg.store.setup import RateLimiter, Setup

__all__ = ["GET_LIMIT", "batch_write_flow", "rounds"]

GET_LIMIT = 100
WRITE_LIMIT = 25


def batch_get_flow(keys: Sequence[tuple[Table, Item]], setup: Setup, consistent: bool, pattern: str) -> Flow[list[Item | None]]:
    """Read the items of some keys, in their order, with None for each item that does not exist. Keys may repeat."""
    places = [item_key(setup.name_of(table), key) for table, key in keys]
    attributes = {setup.name_of(table): table.attributes for table, _ in keys}
    items_by_place: dict[ItemKey, Item] = {}

    def build(chunk: dict[ItemKey, Item]) -> Request:
        tables: dict[str, dict[str, Any]] = {}
        for (name, _), key in chunk.items():
            tables.setdefault(name, {"ConsistentRead": True, "Keys": []} if consistent else {"Keys": []})["Keys"].append(key)
        return Request("BatchGetItem", {"RequestItems": tables}, pattern)

    def read(response: dict[str, Any]) -> list[ItemKey]:
        for name, items in response.get("Responses", {}).items():
            items_by_place.update({item_key(name, {part: item[part] for part in attributes[name]}): item for item in items})
        return [item_key(name, key) for name, entry in response.get("UnprocessedKeys", {}).items() for key in entry["Keys"]]

    yield from rounds(dict(zip(places, (key for _, key in keys), strict=True)), GET_LIMIT, build, read, setup)
    return [items_by_place.get(place) for place in places]


def batch_write_flow(entries: dict[ItemKey, dict[str, Any]], setup: Setup, pattern: str, rate: RateLimiter | None = None) -> Flow[int]:
    """Execute PutRequests and DeleteRequests; return their number."""
    attributes: dict[str, tuple[str, ...]] = {}
    for name, parts in entries:
        attributes[name] = tuple(part[0] for part in parts)

    def build(chunk: dict[ItemKey, dict[str, Any]]) -> Request:
        tables: dict[str, list[dict[str, Any]]] = {}
        for (name, _), entry in chunk.items():
            tables.setdefault(name, []).append(entry)
        payload: dict[str, Any] = {"RequestItems": tables}
        if rate is not None:
            payload["ReturnConsumedCapacity"] = "TOTAL"
        return Request("BatchWriteItem", payload, pattern)

    def read(response: dict[str, Any]) -> list[ItemKey]:
        return [
            item_key(name, _entry_key(entry, attributes[name]))
            for name, undone in response.get("UnprocessedItems", {}).items()
            for entry in undone
        ]

    yield from rounds(entries, WRITE_LIMIT, build, read, setup, rate)
    return len(entries)


def _entry_key(entry: dict[str, Any], attributes: tuple[str, ...]) -> Item:
    item = entry["DeleteRequest"]["Key"] if "DeleteRequest" in entry else entry["PutRequest"]["Item"]
    return {name: item[name] for name in attributes}


def rounds(
    work: dict[ItemKey, Any],
    size: int,
    build: Callable[[dict[ItemKey, Any]], Request],
    read: Callable[[dict[str, Any]], list[ItemKey]],
    setup: Setup,
    rate: RateLimiter | None = None,
) -> Flow[None]:
    """Process all entries of `work` in concurrent requests of up to `size` entries, until none is left.

    `build` makes the request of a chunk; `read` handles its response and returns the entries that were not processed. Those are retried in
    the next round, after a delay with full jitter. Raises `Throttled` after too many rounds without progress.
    """
    delays, pending, number = setup.delays(), dict(work), 0
    while pending:
        places = list(pending)
        left: dict[ItemKey, Any] = {}
        for first in range(0, len(places), size * setup.concurrency):
            chunks = [
                {place: pending[place] for place in places[start : start + size]}
                for start in range(first, min(first + size * setup.concurrency, len(places)), size)
            ]
            requests = [replace(build(chunk), retries=number) for chunk in chunks]
            for chunk, response in zip(chunks, (yield Together(requests)), strict=True):
                if isinstance(response, ServiceError) and is_throttled(response.code, response.status):
                    left |= chunk
                elif isinstance(response, Exception):
                    raise response
                else:
                    left |= {place: chunk[place] for place in read(response)}
                    if rate is not None:
                        yield from rate.charge(response)
        if left:
            delay = next(delays, None)
            if delay is None:
                raise Throttled(f"{len(left)} of {len(work)} items of the batch were not processed.", unprocessed=len(left))
            yield Pause(delay)
        if len(left) < len(pending):
            # Progress resets the retries.
            delays = setup.delays()
        pending, number = left, number + 1
