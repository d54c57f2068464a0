"""Explain an access pattern: its index, its request, its cost, and remarks on it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.model import spec_of
from gateleg.model.inspection import few_partitions
from gateleg.model.planning import tag_condition
from gateleg.ops.cost import PARTITION_UNITS, ReadCost, query_cost
from gateleg.ops.samples import sample_arguments
from gateleg.store.setup import Setup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateleg.model import Access, Query
    from gateleg.model.keys import KeyPlan

__all__ = ["key_forms"]


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
