"""Explain an access pattern: its index, its request, its cost, and remarks on it.

Estimate the cost of queries by DynamoDB's rules.

Sample arguments of an access pattern, to show its request without real values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin
from uuid import UUID

from gateleg.model import KeyPart, spec_of
from gateleg.model.inspection import few_partitions
from gateleg.model.planning import tag_condition
from gateleg.model.types import is_special
from gateleg.store.setup import Setup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateleg.model import Access, Query
    from gateleg.model.keys import KeyPlan
    from gateleg.model.types import Declared

__all__ = ["key_forms"]


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


@dataclass(frozen=True)
class Explanation:
    """The explanation of an access pattern."""

    pattern: str
    title: str
    description: str
    table: str
    #: the index; empty if the pattern reads the table itself
    index: str
    #: "table", "global index" or "local index"
    kind: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    #: the template of each key attribute
    keys: Mapping[str, str]
    condition: str
    order: str
    consistent: bool
    #: one request, or one for each shard
    requests: tuple[dict[str, Any], ...]
    #: whether the request uses sample arguments
    sampled: bool
    items: int
    item_bytes: int
    cost: ReadCost
    remarks: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """The explanation as JSON data."""
        return {**self.__dict__, "keys": dict(self.keys), "cost": dict(self.cost.__dict__)}


def explain(
    access: Access[Any],
    arguments: Mapping[str, Any] | None = None,
    *,
    items: int = 100,
    item_bytes: int = 1024,
    prefix: str = "",
    table_names: Mapping[str, str] | None = None,
) -> Explanation:
    """Explain a pattern: its request for the arguments (or samples), and its cost for `items` items of `item_bytes` bytes.

    `prefix` and `table_names` are the store's, for the table name in the request.
    """
    query: Query[Any] = access(**(arguments or sample_arguments(access)))
    spec, plan = spec_of(access.entity), access.plan
    index, table = plan.index, Setup(prefix=prefix, table_names=table_names or {}).name_of(spec.table)
    consistent = index.local or not index.name
    requests = query.requests(table_name=table)
    cost = query_cost(items, item_bytes, shards=plan.shards, consistent=consistent, partial=index.project != "all")
    return Explanation(
        access.name,
        access.pattern.title,
        access.pattern.description,
        table,
        index.name,
        "table" if not index.name else "local index" if index.local else "global index",
        access.required,
        access.optional,
        key_forms(plan),
        readable_condition(requests[0]),
        _order(query),
        consistent,
        requests,
        not arguments,
        items,
        item_bytes,
        cost,
        tuple(_remarks(access, cost, f"{items:,} items of {item_bytes:,} bytes")),
    )


def key_forms(plan: KeyPlan) -> dict[str, str]:
    """Each key attribute in the notation of its template."""
    return {entry.attribute: entry.text.template.text if entry.text is not None else f"{{{entry.names[0]}}}" for entry in plan.fields}


def readable_condition(request: Mapping[str, Any], member: str = "KeyConditionExpression") -> str:
    """An expression of a request, with its names and values substituted."""
    names: Mapping[str, str] = request.get("ExpressionAttributeNames", {})
    values = {name: _shown(value) for name, value in request.get("ExpressionAttributeValues", {}).items()}
    return re.sub(r"[#:]\w+", lambda match: names.get(match[0]) or values.get(match[0]) or match[0], request[member])


def _shown(value: Mapping[str, Any]) -> str:
    ((tag, content),) = value.items()
    return f'"{content}"' if tag == "S" else str(content)


def _order(query: Query[Any]) -> str:
    """The components by which the result is sorted: the parts of the sort key that the arguments leave open."""
    parts = []
    for entry in query.plan.range:
        components = entry.text.components if entry.text is not None else (None,)
        for name, component in zip(entry.names, components, strict=True) if entry.names else ():
            down = query.descending != (component is not None and component.descending)
            if name not in query.values:
                parts.append(f"{name} {'descending' if down else 'ascending'}")
    return ", ".join(dict.fromkeys(parts)) or "none: the arguments leave no part of the sort key open"


def _remarks(access: Access[Any], cost: ReadCost, found: str) -> Iterator[str]:
    spec, plan = spec_of(access.entity), access.plan
    index = plan.index
    if few_partitions(spec, plan) and plan.shards == 1:
        yield (
            f"Hot partition: {', '.join(plan.hash[0].names)} has few values, and one partition serves {PARTITION_UNITS:,} read units a "
            f"second: with {found}, it can run this query {_rate(cost.per_second)}. Spread the items with shards=."
        )
    else:
        yield f"With {found}, one partition can run this query {_rate(cost.per_second)}."
    if plan.shards > 1:
        yield f"Spread over {plan.shards} shards: one request for each, merged by the sort key."
    if plan.when:
        conditions = "; ".join(f"{name} is {' or '.join(map(str, values))}" for name, values in plan.when.items())
        yield f"Sparse: only items where {conditions}."
    optional = [name for name in plan.names if spec.attributes[spec.sources[name].attribute].optional]
    if optional:
        yield f"Sparse: items without {', '.join(optional)} are not in the index."
    if index.project != "all":
        held = "the keys" if index.project == "keys" else ", ".join(index.project)
        yield f"The index holds only {held}. To get whole items, use hydrate=True, which reads each from the table."
    if tag_condition(spec, plan) is not None:
        yield f"The query also reads, and pays for, items of other entities in the partition, which it filters out by {spec.table.tag}."
    if index.name and not index.local:
        yield "A global index is eventually consistent: it may miss the latest writes."
    if index.local:
        yield "In a table with a local index, all items with the same hash key may have at most 10 GB together."
    if spec.ttl is not None:
        yield f"Expired items ({spec.ttl.wire}) stay visible until DynamoDB deletes them, within a few days."


def _rate(per_second: float) -> str:
    return f"about {per_second:,.0f} times a second" if per_second >= 1 else "less than once a second"


_MOMENT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
_UUID = UUID("00000000-0000-4000-8000-000000000000")


def sample_arguments(access: Access[Any]) -> dict[str, Any]:
    """A sample value for each required argument of a pattern."""
    spec = spec_of(access.entity)
    return {name: _sample(name, spec.sources[name].declared) for name in access.required}


def _sample(name: str, declared: Declared) -> Any:
    kind = declared.type
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if not isinstance(kind, type):
        return f"<{name}>"
    if issubclass(kind, Enum):
        return next(iter(kind))
    if issubclass(kind, KeyPart):
        return kind(**{member: _sample(member, inner) for member, inner in kind.__members__().items()})
    if issubclass(kind, str):
        return f"folder/{name}" if is_special(declared.metadata, "s3-key") else f"<{name}>"
    for known, value in _VALUES:
        if issubclass(kind, known):
            return value
    return f"<{name}>"


_VALUES: tuple[tuple[type, Any], ...] = (
    (bool, True),
    (int, 1),
    (float, 1.0),
    (Decimal, Decimal(1)),
    (datetime, _MOMENT),
    (date, _MOMENT.date()),
    (UUID, _UUID),
    (bytes, b"\x00"),
)
