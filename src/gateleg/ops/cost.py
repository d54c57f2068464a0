"""Estimate the cost of queries with DynamoDB's own arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

#: one read unit reads so many bytes, half of them consistently
UNIT_BYTES = 4096
#: one Query reads at most so many bytes
PAGE_BYTES = 1024 * 1024
#: what one partition serves in a second
PARTITION_UNITS = 3000


@dataclass(frozen=True)
class ReadCost:
    """What one run of a pattern costs."""

    #: Query requests, with all pages and shards
    requests: int
    #: read units of an eventually consistent run
    units: float
    #: read units of a consistent one; None where that is not possible
    consistent: float | None
    #: read units for reading the items from the table besides, when the index does not hold them
    hydrate: float
    #: how often a second one partition can serve it
    per_second: float


def query_cost(items: int, item_bytes: int, *, shards: int = 1, consistent: bool = True, partial: bool = False) -> ReadCost:
    """The cost of a query that finds so many items of this size, spread evenly over its shards."""
    pages, blocks = 0, 0
    for shard in range(shards):
        found = items // shards + (shard < items % shards)
        shard_pages, shard_blocks = _pages(found, item_bytes)
        pages, blocks = pages + shard_pages, blocks + shard_blocks
    units = blocks / 2
    hydrate = items * ceil(item_bytes / UNIT_BYTES) / 2 if partial else 0.0
    return ReadCost(pages, units, float(blocks) if consistent else None, hydrate, PARTITION_UNITS * shards / units)


def _pages(items: int, item_bytes: int) -> tuple[int, int]:
    """Requests and blocks of 4 KB; an empty answer costs one of each."""
    on_a_page = max(1, PAGE_BYTES // item_bytes)
    full, rest = divmod(items, on_a_page)
    blocks = full * ceil(on_a_page * item_bytes / UNIT_BYTES) + ceil(rest * item_bytes / UNIT_BYTES)
    return max(1, full + (rest > 0)), max(1, blocks)
