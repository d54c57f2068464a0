"""Queries as values, and the Query requests that they compile to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar

from pydantic import BaseModel

from gateleg.model.errors import ConsistentOnGlobal, KeyInFilter, NotAKeyCondition
from gateleg.model.expressions.evaluation import is_satisfied, orderable
from gateleg.model.expressions.nodes import Condition, Placeholders, all_of, equals
from gateleg.model.expressions.ownership import check_about
from gateleg.model.layout import layout_of, layouts_of
from gateleg.model.planning.key_conditions import Bound, check_order, in_key_range, read_bound, render_key_condition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.model.attributes.attr import Attr
    from gateleg.model.codec.wire import Item
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.model.layout import EntityLayout

E = TypeVar("E", bound=BaseModel)
Select = Literal["COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"]


@dataclass(frozen=True)
class Query(Generic[E]):
    """A query of an access pattern with its arguments, as a value. Pass it to `query`, `page` or `count` of a store.

    `where`, `filter` and `reversed` return changed copies.
    """

    entity: type[E]
    pattern: str
    plan: KeyPlan
    values: Mapping[str, Any]
    bound: Bound | None = None
    condition: Condition | None = None
    descending: bool = False
    #: arguments outside the key, by which items are filtered: see `within` of `Pattern`
    within: Mapping[str, Any] = field(default_factory=dict)
    #: whether items under legacy keys are in the index
    legacy_indexed: bool = False

    def __post_init__(self) -> None:
        """Raise an error for arguments with gaps, and for bounds that do not follow the arguments in the key."""
        check_order(self.plan, self.values, self.bound)

    def where(self, condition: Condition[E]) -> Self:
        """Restrict the sort key with one comparison of its next component, such as `Album.year >= 1960`.

        Raises `NotAKeyCondition` for any other condition, and if the sort key is already restricted.
        """
        check_about(condition, self.entity, ".where(...)")
        if self.bound is not None:
            raise NotAKeyCondition("The sort key is already restricted, and DynamoDB accepts only one range.")
        return replace(self, bound=read_bound(condition))

    def filter(self, condition: Condition[E]) -> Self:
        """Drop items that do not satisfy a condition; DynamoDB still charges for them. Raises `KeyInFilter` for key attributes."""
        check_about(condition, self.entity, ".filter(...)")
        keys = condition.attributes() & set(self.plan.index.attributes)
        if keys:
            raise KeyInFilter(f"{', '.join(sorted(keys))} is a key of {self.plan.index.name or 'the table'}.")
        return replace(self, condition=all_of(self.condition, condition))

    @property
    def filters(self) -> Condition | None:
        """The whole filter condition: that of `filter`, and the arguments of `within`."""
        sources = layout_of(self.entity).sources
        return all_of(self.condition, *(equals(sources[name].wire, sources[name].pack(value)) for name, value in self.within.items()))

    def finds(self, item: Item, values: Mapping[str, Any]) -> bool:
        """Whether the query would find an item with these values, encoded with the current keys."""
        if any(values.get(name) != value for name, value in (*self.values.items(), *self.within.items())) or not self.plan.holds(values):
            return False
        filters = self.filters
        return in_key_range(self.plan, self.values, self.bound, item) and (filters is None or is_satisfied(filters, item))

    def reversed(self) -> Self:
        """The same query in the opposite order."""
        return replace(self, descending=not self.descending)

    def requests(
        self,
        *,
        table_name: str | None = None,
        limit: int | None = None,
        consistent: bool = False,
        start: Item | None = None,
        select: Select | None = None,
        project: Iterable[Attr[Any]] = (),
    ) -> tuple[dict[str, Any], ...]:
        """The Query requests: one, or one for each shard. Merge the answers of shards by `sort_value`."""
        shards: Iterable[int | None] = range(self.plan.shards) if self.plan.shards > 1 else (None,)
        return tuple(self._request(table_name, limit, consistent, start, select, tuple(project), shard) for shard in shards)

    def _request(
        self,
        table_name: str | None,
        limit: int | None,
        consistent: bool,
        start: Item | None,
        select: Select | None,
        project: tuple[Attr[Any], ...],
        shard: int | None,
    ) -> dict[str, Any]:
        spec, out = layout_of(self.entity), Placeholders()
        request: dict[str, Any] = {"TableName": table_name or spec.table.name}
        index = self.plan.index
        if index.name:
            request["IndexName"] = index.name
        request["KeyConditionExpression"] = render_key_condition(self.plan, self.values, self.bound, out, shard)
        condition = all_of(self.filters, tag_condition(spec, self.plan))
        if condition is not None:
            request["FilterExpression"] = condition.render(out)
        if project:
            request["ProjectionExpression"] = ", ".join(out.path(attr.path) for attr in project)
        request |= out.parameters()
        if self.descending:
            request["ScanIndexForward"] = False
        if consistent:
            if index.name and not index.local:
                raise ConsistentOnGlobal(f"{index.name} is a global index.")
            request["ConsistentRead"] = True
        optional = {"Limit": limit, "ExclusiveStartKey": start, "Select": select}
        return request | {member: value for member, value in optional.items() if value is not None}

    def resume_key(self, item: Item) -> Item:
        """The ExclusiveStartKey that continues after an item, which need not be the last one of a page."""
        table = layout_of(self.entity).table
        return {name: item[name] for name in (*table.attributes, *self.plan.index.attributes)}

    def sort_value(self, item: Item) -> tuple[Any, ...]:
        """The sort value for merging the answers of shards: the range of the index, then the primary key."""
        table = layout_of(self.entity).table
        return tuple(orderable(item[name]) for name in (*self.plan.index.range, *table.attributes))


def tag_condition(spec: EntityLayout[Any], plan: KeyPlan) -> Condition | None:
    """A filter by entity tag; None if the key alone excludes the other entities of the table."""
    table = spec.table
    if spec.tag is None or table.tag is None:
        return None
    others = [other for other in layouts_of(table) if other is not spec and shares_key(plan, other)]
    return equals(table.tag, {"S": spec.tag}) if others else None


def shares_key(plan: KeyPlan, other: EntityLayout[Any]) -> bool:
    """Whether a query of one entity in this index could find items of the other."""
    theirs = other.key if not plan.index.name else other.indexes.get(plan.index.name)
    if theirs is None:
        return False
    pairs = list(zip(plan.fields, theirs.fields, strict=False))
    return all(_compatible(mine.prefix, their.prefix) for mine, their in pairs)


def _compatible(mine: str, theirs: str) -> bool:
    return mine.startswith(theirs) or theirs.startswith(mine)
