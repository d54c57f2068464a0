"""Estimate the cost of queries by DynamoDB's rules."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

#: bytes per read unit; half as many for a consistent read
UNIT_BYTES = 4096
#: maximum bytes per Query request
PAGE_BYTES = 1024 * 1024
#: limits of one partition per second
PARTITION_UNITS = 3000


@dataclass(frozen=True)
class ReadCost:
    """The cost of one query of a pattern."""

    #: number of Query requests, over all pages and shards
    requests: int
    #: read units if eventually consistent
    units: float
    #: read units if strongly consistent; None if not supported
    consistent: float | None
    #: additional read units for fetching items from the table, if the index does not project them
    hydrate: float
    #: how many times per second one partition can serve the query
    per_second: float


def query_cost(items: int, item_bytes: int, *, shards: int = 1, consistent: bool = True, partial: bool = False) -> ReadCost:
    """The cost of a query that returns `items` items of `item_bytes` bytes, evenly distributed over its shards."""
    pages, blocks = 0, 0
    for shard in range(shards):
        found = items // shards + (shard < items % shards)
        shard_pages, shard_blocks = _pages(found, item_bytes)
        pages, blocks = pages + shard_pages, blocks + shard_blocks
    units = blocks / 2
    hydrate = items * ceil(item_bytes / UNIT_BYTES) / 2 if partial else 0.0
    return ReadCost(pages, units, float(blocks) if consistent else None, hydrate, PARTITION_UNITS * shards / units)


def _pages(items: int, item_bytes: int) -> tuple[int, int]:
    """Requests and blocks of 4 KB; an empty result costs one of each."""
    on_a_page = max(1, PAGE_BYTES // item_bytes)
    full, rest = divmod(items, on_a_page)
    blocks = full * ceil(on_a_page * item_bytes / UNIT_BYTES) + ceil(rest * item_bytes / UNIT_BYTES)
    return max(1, full + (rest > 0)), max(1, blocks)
