"""Collections: several entities of one partition, read by one query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model.errors import DeclarationError, UnknownArgument
from gateleg.model.expressions.nodes import Placeholders
from gateleg.model.key_text import HIGH
from gateleg.model.keys import KeyPlan, key_components, missing_components, spec_of
from gateleg.model.patterns import render_key_condition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gateleg.model.expressions.nodes import Condition
    from gateleg.model.spec import Spec
    from gateleg.model.tables import Table
    from gateleg.model.wire import Item

E = TypeVar("E", bound=BaseModel)


class Collection:
    """Entities that share a partition and are read by one query: `Collection(Project, Scene, title="A project and its scenes")`.

    Call it with the components of the hash to select a partition. If the sort keys of all entities begin with the same components, those
    can be passed too: with TEAM#{team} and TEAM#{team}#MEMBER#{member}, `team=` selects one team and its members. Raises `DeclarationError`
    if the entities do not have the same table and the same hash template.
    """

    def __init__(self, *entities: type[BaseModel], title: str, index: str = "") -> None:
        if not entities:
            raise DeclarationError(
                "A collection needs at least one entity.", fix='Name those that share a partition: Collection(Project, Scene, title="...").'
            )
        self.entities = entities
        self.title = title
        self.plans = [spec_of(entity).plan(index) for entity in entities]
        first = self.plans[0].hash
        self.table: Table = spec_of(entities[0]).table
        for entity, plan in zip(entities, self.plans, strict=True):
            if spec_of(entity).table is not self.table or [_form(entry) for entry in plan.hash] != [_form(entry) for entry in first]:
                raise DeclarationError(
                    f"{entity.__name__} does not share its partition with {entities[0].__name__}.",
                    fix="Give all entities of a collection the same table and the same hash template.",
                )
        #: the components with which the sort keys of all entities begin
        self.leading = _shared([_sort_names(plan) for plan in self.plans])

    def __call__(self, *conditions: Condition, **arguments: Any) -> CollectionQuery:
        """Make the query of one partition: `project_with_scenes(project_id=p)` or `project_with_scenes(Project.project_id == p)`."""
        spec, plan = spec_of(self.entities[0]), self.plans[0]
        names = {name for entry in plan.hash for name in entry.names}
        known = spec.arguments_of((*names, *self.leading))
        components = key_components(self.entities[0], conditions, arguments, known)
        unknown = components.keys() - known
        if unknown:
            raise UnknownArgument(
                f"{', '.join(sorted(unknown))} is not part of the partition.", fix=f"It has {', '.join((*sorted(names), *self.leading))}."
            )
        values = spec.arguments(components, names)
        leading = [name for name in self.leading if values.get(name) is not None]
        missing = sorted(name for name in names if values.get(name) is None) or [
            name for name in self.leading[: len(leading)] if name not in leading
        ]
        if missing:
            raise missing_components("The partition", spec.name, missing)
        return CollectionQuery(self, {name: values[name] for name in (*names, *leading)})


def _sort_names(plan: KeyPlan) -> tuple[str, ...]:
    """The components of a sort key that consists of one text; empty for other sort keys."""
    return plan.range[0].names if len(plan.range) == 1 and plan.range[0].text is not None else ()


def _shared(sequences: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The longest common prefix of the sequences."""
    count = 0
    while all(len(names) > count for names in sequences) and len({names[count] for names in sequences}) == 1:
        count += 1
    return sequences[0][:count]


def _form(entry: Any) -> Any:
    return (entry.attribute, entry.text.template.text if entry.text is not None else entry.names)


@dataclass(frozen=True)
class CollectionQuery:
    """The query of one partition of a collection."""

    collection: Collection
    values: dict[str, Any]

    def requests(
        self, *, table_name: str | None = None, limit: int | None = None, consistent: bool = False, start: Item | None = None
    ) -> tuple[dict[str, Any], ...]:
        """The Query requests, one for each shard."""
        plan = self.collection.plans[0]
        shards: Sequence[int | None] = range(plan.shards) if plan.shards > 1 else (None,)
        return tuple(self._request(table_name, limit, consistent, start, shard) for shard in shards)

    def _request(
        self, table_name: str | None, limit: int | None, consistent: bool, start: Item | None, shard: int | None
    ) -> dict[str, Any]:
        first, out = self.collection.plans[0], Placeholders()
        plan = KeyPlan(first.index, first.hash, (), shards=first.shards)
        request: dict[str, Any] = {"TableName": table_name or self.collection.table.name}
        if plan.index.name:
            request["IndexName"] = plan.index.name
        request["KeyConditionExpression"] = render_key_condition(plan, self.values, None, out, shard) + self._narrowed(out)
        request |= out.parameters()
        optional = {"Limit": limit, "ConsistentRead": consistent or None, "ExclusiveStartKey": start}
        return request | {member: value for member, value in optional.items() if value is not None}

    def _narrowed(self, out: Placeholders) -> str:
        """The key condition for the leading sort components: one range that covers all entities."""
        if not self._leading:
            return ""
        first = self.collection.plans[0].range[0]
        low, high = [], []
        for plan in self.collection.plans:
            assert plan.range[0].text is not None
            text, count = plan.range[0].text.build_prefix(self.values)
            low.append(text)
            high.append(text if count == len(plan.range[0].names) else text + HIGH)
        return f" AND {out.name(first.attribute)} BETWEEN {out.value({'S': min(low)})} AND {out.value({'S': max(high)})}"

    @property
    def _leading(self) -> dict[str, Any]:
        return {name: self.values[name] for name in self.collection.leading if name in self.values}

    def sort(self, items: Iterable[Item], read: Callable[[Spec[Any], Item], Any] | None = None) -> Collected:
        """Decode wire items and group them by entity. Items of other entities are left out, and items for which `read` returns None."""
        found: dict[type[BaseModel], list[Any]] = {entity: [] for entity in self.collection.entities}
        for item in items:
            spec = self.collection.table.spec_for(item)
            if spec is None or spec.entity not in found:
                continue
            instance = spec.decode(item) if read is None else read(spec, item)
            # The range may contain other texts: "a b" sorts between "a" and "a#".
            if instance is not None and all(getattr(instance, name) == value for name, value in self._leading.items()):
                found[spec.entity].append(instance)
        return Collected(found)


@dataclass(frozen=True)
class Collected:
    """The result of a collection's query: instances by entity."""

    found: dict[type[BaseModel], list[Any]]
    #: items that could not be decoded, as the store reports them
    unreadable: tuple[Any, ...] = ()

    def of(self, entity: type[E]) -> list[E]:
        """The items of one entity, in the order of their keys."""
        return self._found(entity)

    def one(self, entity: type[E]) -> E | None:
        """The first item of an entity, or None: for entities with one item per partition."""
        items = self._found(entity)
        return items[0] if items else None

    def _found(self, entity: type[E]) -> list[E]:
        try:
            return self.found[entity]
        except KeyError:
            names = ", ".join(one.__name__ for one in self.found)
            raise UnknownArgument(f"{entity.__name__} is not part of the collection.", fix=f"It has {names}.") from None
