"""`collect`: read several entities of one partition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gateleg.model import Collection, Query, spec_of
from gateleg.model.errors import ConsistentOnGlobal, MissingComponent, NotAQuery
from gateleg.model.keys.key_arguments import Presets
from gateleg.model.planning import Collected, CollectionQuery
from gateleg.store.errors import KeyGivenTwice
from gateleg.store.flow import Request
from gateleg.store.operations.entity_reads import current_items
from gateleg.store.operations.legacy_forms import has_legacy_key
from gateleg.store.operations.legacy_partitions import current_identity, legacy_items, legacy_partitions, without_replaced
from gateleg.store.operations.operation import Operation, by_position
from gateleg.store.operations.queries import send_all
from gateleg.store.operations.unreadable import ListReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic import BaseModel

    from gateleg.model import Condition, Item
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.store.flow import Flow, Payload
    from gateleg.store.operations.legacy_forms import LegacyItem
    from gateleg.store.operations.legacy_partitions import LegacyPartition
    from gateleg.store.setup import Setup


__all__ = ["Collect"]


@dataclass(frozen=True, slots=True)
class Collect(Operation[Collected]):
    """Read several entities of one partition."""

    query: CollectionQuery
    consistent: bool = False

    def flow(self, setup: Setup) -> Flow[Collected]:
        """One query over all entities, page by page, after one for each partition that may contain items under legacy keys."""
        collection = self.query.collection
        index = collection.plans[0].index
        if self.consistent and index.name and not index.local:
            raise ConsistentOnGlobal(f"{index.name} is a global index.")
        requests = self.query.requests(table_name=setup.name_of(collection.table), consistent=self.consistent)
        return self._read(requests, self._legacy_partitions(setup), ListReader(setup))

    def _legacy_partitions(self, setup: Setup) -> list[LegacyPartition]:
        """The partitions that may contain items of the entities under legacy keys."""
        collection, values = self.query.collection, self.query.values
        found: list[LegacyPartition] = []
        for entity, plan in zip(collection.entities, collection.plans, strict=True):
            if spec_of(entity).key.legacy:
                query = Query(entity, collection.title, plan, {name: values[name] for name in plan.names if name in values})
                found += legacy_partitions(query, setup, self.consistent)
        return found

    def _read(self, requests: Sequence[Payload], older: list[LegacyPartition], reader: ListReader) -> Flow[Collected]:
        title = self.query.collection.title
        legacy: dict[Any, LegacyItem] = {}
        for partition in older:
            items = yield from _all_pages([partition.payload], title)
            found = yield from legacy_items(partition, items, reader)
            kept = yield from without_replaced(partition, found, reader, self.consistent)
            legacy |= {current_identity(partition.query, item): item for item in kept}
        items = yield from _all_pages(requests, title)
        if older:
            items = self._joined(items, legacy, older)
        for entity in self.query.collection.entities:
            items = yield from self._upcast(items, entity, reader)
        return replace(self.query.sort(items, reader.one), unreadable=tuple(reader.unreadable))

    def _joined(self, items: list[Item], legacy: dict[Any, LegacyItem], older: list[LegacyPartition]) -> list[Item]:
        """All items without duplicates, in the order of the partition."""
        table, query = self.query.collection.table, older[0].query
        present = [
            item
            for item in items
            if not any(item[table.hash] == one.hash and has_legacy_key(item, spec_of(one.query.entity), one.plan) for one in older)
        ]
        moved = {current_identity(query, item) for item in present}
        left: list[Item] = [item for place, item in legacy.items() if place not in moved]
        return sorted([*present, *left], key=query.sort_value) if left else present

    def _upcast(self, items: list[Item], entity: type[BaseModel], reader: ListReader) -> Flow[list[Item]]:
        spec = spec_of(entity)
        if not spec.lookups:
            return items
        # One by one, to keep the order: an item that cannot be upcast is reported and left out.
        found: list[Item] = []
        for item in items:
            found += (yield from current_items(spec, [item], reader)) if spec.table.spec_for(item) is spec else [item]
        return found

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The partition, for each entity."""
        collection = self.query.collection
        for entity, plan in zip(collection.entities, collection.plans, strict=True):
            yield entity, plan, self.query.values


def _all_pages(requests: Sequence[Payload], title: str) -> Flow[list[Item]]:
    """All items of several Query requests, which are sent concurrently."""
    items: list[Item] = []
    pending = list(requests)
    while pending:
        responses = yield from send_all([Request("Query", payload, title) for payload in pending])
        for response in responses:
            items += response["Items"]
        pending = [
            payload | {"ExclusiveStartKey": response["LastEvaluatedKey"]}
            for payload, response in zip(pending, responses, strict=True)
            if "LastEvaluatedKey" in response
        ]
    return items


def collect(
    target: CollectionQuery | Collection, /, *conditions: Condition, consistent: bool = False, **arguments: Any
) -> Operation[Collected]:
    """Read several entities of one partition by one query: `collect(project_with_scenes, project_id=p)`.

    Takes a `Collection` and its arguments, or a query made from one. The result has the instances of each entity: `.of(Scene)`,
    `.one(Project)`; `unreadable` lists items that could not be decoded.
    """
    if isinstance(target, Collection):
        try:
            return Collect(target(*conditions, **arguments), consistent)
        except MissingComponent as error:
            raise by_position(error) from None
    if not isinstance(target, CollectionQuery):
        raise NotAQuery(
            f"collect takes a Collection, and was given {type(target).__name__}.",
            fix="Use query for an access pattern of one entity, or declare Collection(Project, Scene, title=...).",
        )
    if arguments or any(not isinstance(one, Presets) for one in conditions):
        raise KeyGivenTwice("Key components were passed together with a query, which already has them.")
    return Collect(target, consistent)
