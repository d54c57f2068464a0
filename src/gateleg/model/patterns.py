"""Access patterns: the named queries of an entity, each served by one index; queries as values, and the requests that they make.

A collection is read like a pattern, and finds several entities of one partition with one query.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Self, TypeVar

from pydantic import BaseModel

from gateleg.model.attr import Attr
from gateleg.model.errors import (
    BadOption,
    ConsistentOnGlobal,
    DeclarationError,
    KeyInFilter,
    NotAKeyCondition,
    QueryError,
    UnknownArgument,
    UnservedPattern,
)
from gateleg.model.expressions.evaluation import check_about, compares, is_satisfied, orderable
from gateleg.model.expressions.nodes import Between, BooleanCall, Comparison, Condition, Constant, Placeholders, all_of, equals
from gateleg.model.key_text import HIGH
from gateleg.model.keys import KeyField, KeyPlan, key_components, missing_components, read_components, sharded, spec_of
from gateleg.model.shapes import TimeShape
from gateleg.model.types import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gateleg.model.spec import Spec
    from gateleg.model.tables import Table
    from gateleg.model.wire import Item, Value

__all__ = ["render_key_condition"]

E = TypeVar("E", bound=BaseModel)


class Pattern:
    """Declare an access pattern of an entity, in its class: `waiting = Pattern("StatusCreatedIndex", title="Jobs in a status")`.

    Query it with `store.query(Job.waiting, status="PENDING")`. Without `index`, the pattern queries the table. `by` lists the required
    arguments if there are more than those of the hash; with `by` but without `index`, the index that serves them is chosen. `sorted_by` is
    then the sort component that must follow. A pattern that no index can serve raises `UnservedPattern` at import.

    `within` lists further required arguments, by which the items are filtered. If the entity's key has `legacy` templates, they also locate
    the partitions of the table in which items may lack the index's attributes: `Pattern("CollectionIndex", within="repository_id", ...)`
    for documents whose older key was `{repository_id}`. With `legacy_indexed=True`, items under legacy keys have the index's attributes, so
    only the index is read.
    """

    def __init__(
        self,
        index: str | None = None,
        *,
        title: str,
        by: Sequence[str] = (),
        sorted_by: str | None = None,
        order: Literal["asc", "desc"] = "asc",
        description: str = "",
        within: Sequence[str] = (),
        legacy_indexed: bool = False,
    ) -> None:
        self.index = index
        self.within = (within,) if isinstance(within, str) else tuple(within)
        self.legacy_indexed = legacy_indexed
        self.title = title
        self.by = (by,) if isinstance(by, str) else tuple(by)
        self.sorted_by = sorted_by
        if order not in ("asc", "desc"):
            raise BadOption(f"order={order!r} is not an order.", fix='Use order="asc" or order="desc".')
        self.order = order
        self.description = description
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        """Remember the name of the class attribute."""
        self.name = name

    def __get__(self, instance: E | None, owner: type[E]) -> Access[E]:
        """The pattern for the entity, to call with arguments."""
        access: Access[E] = spec_of(owner).patterns[self.name]
        return access


class Access(Generic[E]):
    """An access pattern of an entity, such as `Job.waiting`, with the index that serves it. Call it with arguments to get a `Query`."""

    def __init__(self, entity: type[E], pattern: Pattern, plan: KeyPlan, required: tuple[str, ...]) -> None:
        self.entity = entity
        self.pattern = pattern
        self.plan = plan
        #: the names of the required arguments
        self.required = required

    @property
    def name(self) -> str:
        """The name for messages and metrics, such as `Job.waiting`."""
        return f"{self.entity.__name__}.{self.pattern.name}"

    @property
    def optional(self) -> tuple[str, ...]:
        """The names of the optional arguments: further sort components, of which each needs those before it."""
        return tuple(name for entry in self.plan.range for name in entry.names if name not in self.required)

    def __call__(self, *conditions: Condition[E], **arguments: Any) -> Query[E]:
        """Make a query: `Album.on_label(label="Philips")` or `Album.on_label(Album.label == "Philips", Album.year >= 1960)`.

        Values are validated like the entity's attributes. One of the conditions may be a range of the next sort component, as in
        `Query.where`. Raises `UnknownArgument`, `MissingComponent` or another `ModelError` for arguments that do not fit.
        """
        spec, narrowed = spec_of(self.entity), None
        allowed = spec.reachable(self.plan) | set(self.pattern.within)
        if conditions:
            arguments, narrowed = read_components(self.entity, conditions, arguments, allowed)
        for name in arguments:
            if name not in allowed:
                takes = (*self.required, *self.optional)
                raise UnknownArgument(
                    f"{self.name} has no argument {name}.",
                    fix=did_you_mean(name, takes, otherwise=f"It takes {', '.join(takes)}; other attributes belong in .filter(...)."),
                )
        values = spec.arguments(arguments, self.plan.names)
        missing = [name for name in self.required if values.get(name) is None]
        if missing:
            raise missing_components(self.name, self.entity.__name__, missing)
        known = {name: values[name] for name in self.plan.names if values.get(name) is not None}
        within = {name: values[name] for name in self.pattern.within}
        query = Query(
            self.entity,
            self.name,
            self.plan,
            known,
            descending=self.pattern.order == "desc",
            within=within,
            legacy_indexed=self.pattern.legacy_indexed,
        )
        return query if narrowed is None else query.where(narrowed)


def resolve_pattern(spec: Spec[E], pattern: Pattern) -> Access[E]:
    """Find the key that serves a pattern; raise `UnservedPattern` if there is none."""
    if pattern.index is not None or not pattern.by:
        if pattern.index and pattern.index not in spec.indexes:
            spec.table.index(pattern.index)
            raise UnservedPattern(
                f"{spec.name}.{pattern.name} uses the index {pattern.index}, but {spec.name} has no key there.",
                fix=f"Declare Key(..., index={pattern.index!r}) on {spec.name}.",
            )
        plans = [spec.plan(pattern.index or "")]
    else:
        plans = [spec.key, *spec.indexes.values()]
    for plan in plans:
        required = _served(spec, plan, pattern)
        if required is not None:
            _check_within(spec, pattern, plan)
            return Access(spec.entity, pattern, plan, (*required, *pattern.within))
    nearest = "; ".join(f"{plan.index.name or 'the table'} by {', '.join(plan.names)}" for plan in plans)
    order = f", sorted by {pattern.sorted_by}" if pattern.sorted_by else ""
    raise UnservedPattern(
        f"No key serves {spec.name}.{pattern.name} (by {', '.join(pattern.by)}{order}).",
        fix=f"The keys are {nearest}. Add an index, or declare the pattern by the first components of a key.",
    )


def _check_within(spec: Spec[Any], pattern: Pattern, plan: KeyPlan) -> None:
    """Raise an error for `within` arguments by which the index cannot filter."""
    where = f"{spec.name}.{pattern.name}"
    if pattern.legacy_indexed and not plan.index.name:
        raise BadOption(f"{where} has legacy_indexed, but queries the table.", fix="Remove it: it applies to patterns of an index only.")
    for name in pattern.within:
        if name not in spec.sources:
            raise UnknownArgument(f"{where} has within={name!r}, which is not an attribute.", fix=did_you_mean(name, spec.sources))
        source, index = spec.sources[name], plan.index
        if name in plan.names or source.wire in index.attributes:
            raise BadOption(f"{where} has within={name!r}, which is part of its key.", fix="Use by= instead.")
        held = index.project == "all" or source.wire in (*index.project, *spec.table.attributes)
        if spec.stored(name) is not source or not held:
            place = index.name or spec.table.name
            raise BadOption(f"{where} has within={name!r}, which {place} does not contain.", fix=f"Project {source.wire} into the index.")


def _served(spec: Spec[Any], plan: KeyPlan, pattern: Pattern) -> tuple[str, ...] | None:
    """The required arguments if the key serves the pattern, else None."""
    hash_names = tuple(dict.fromkeys(name for entry in plan.hash for name in entry.names))
    range_names = [name for entry in plan.range for name in entry.names]
    arguments = set(spec.arguments_of(pattern.by)) if pattern.by else set(hash_names)
    if not set(hash_names) <= arguments:
        return None
    lead = 0
    while lead < len(range_names) and range_names[lead] in arguments:
        lead += 1
    if arguments - set(hash_names) - set(range_names[:lead]) - set(spec.arguments_of(hash_names)):
        return None
    if pattern.sorted_by is not None and (lead >= len(range_names) or range_names[lead] != pattern.sorted_by):
        return None
    return tuple(dict.fromkeys((*hash_names, *range_names[:lead])))


class Bound(NamedTuple):
    """A restriction of one sort component: its name, an operator and values."""

    name: str
    operator: str
    values: tuple[Any, ...]


def read_bound(condition: Condition) -> Bound:
    """Convert a condition to a bound; raise `NotAKeyCondition` if it cannot restrict a sort key."""
    operand: Any = None
    bound = Bound("", "", ())
    if isinstance(condition, Comparison) and isinstance(condition.right, Constant) and condition.operator != "<>":
        operand, bound = condition.left, Bound("", condition.operator, (condition.right.value,))
    elif isinstance(condition, Between) and isinstance(condition.low, Constant) and isinstance(condition.high, Constant):
        operand, bound = condition.operand, Bound("", "BETWEEN", (condition.low.value, condition.high.value))
    elif isinstance(condition, BooleanCall) and condition.function == "begins_with" and isinstance(condition.arguments[1], Constant):
        operand, bound = condition.arguments[0], Bound("", "begins_with", (condition.arguments[1].value,))
    if not isinstance(operand, Attr) or len(operand.path) != 1:
        raise NotAKeyCondition("A key can only be restricted by a single comparison of a sort attribute with a value.")
    return Bound(operand.name, bound.operator, bound.values)


def next_components(plan: KeyPlan, values: Mapping[str, Any]) -> list[str]:
    """The sort components without a value, in order."""
    return [name for entry in plan.range for name in entry.names if values.get(name) is None]


def check_order(plan: KeyPlan, values: Mapping[str, Any], bound: Bound | None) -> None:
    """Raise an error if a sort component has a value or bound but one before it does not: keys can only be searched from the left."""
    rest = next_components(plan, values)
    names = [name for entry in plan.range for name in entry.names]
    if rest:
        late = [name for name in names[names.index(rest[0]) :] if values.get(name) is not None]
        if late:
            raise QueryError(
                f"{', '.join(late)} passed without {rest[0]}.", fix=f"Pass {rest[0]} too: the sort key is ordered by {', '.join(names)}."
            )
    if bound is None:
        return
    if not rest or bound.name != rest[0]:
        place = f"The next sort component is {rest[0]}." if rest else "The key is already complete."
        raise NotAKeyCondition(f"A condition on {bound.name} cannot restrict the key here. {place}")
    entry = next(entry for entry in plan.range if bound.name in entry.names)
    shape = entry.source.shape if entry.source is not None else None
    if isinstance(shape, TimeShape) and shape.kind == "S" and not shape.format.ordered and bound.operator != "=":
        raise NotAKeyCondition(
            f"{bound.name} is stored as {shape.format.directives!r}, whose texts do not sort chronologically.", fix="Compare with ==."
        )
    if entry.text is not None and bound.operator not in ("=", "begins_with"):
        at = entry.names.index(bound.name)
        component = entry.text.components[at]
        last = at + 1 == len(entry.names) and not entry.text.template.literals[at + 1]
        if not component.ordered or (component.width is None and not last):
            raise NotAKeyCondition(
                f"{bound.name} has no fixed width in {entry.text.template.text!r}, so keys do not sort by it.",
                fix="Compare with ==, or give the component a width.",
            )


def render_key_condition(plan: KeyPlan, values: Mapping[str, Any], bound: Bound | None, out: Placeholders, shard: int | None = None) -> str:
    """The key condition expression."""
    clauses: list[str] = []
    for entry in plan.hash:
        value = entry.value(values)
        if value is None:
            raise QueryError(f"The hash of {plan.index.name or 'the table'} needs {', '.join(entry.names)}.", fix="Pass all of them.")
        if shard is not None and entry is plan.hash[0]:
            value = {"S": sharded(value["S"], shard)}
        clauses.append(f"{out.name(entry.attribute)} = {out.value(value)}")
    for entry in plan.range:
        operator, *operands = _range_clause(entry, values, bound)
        if operands:
            clauses.append(_clause(out, entry.attribute, operator, operands))
        if operator != "=" or not operands:
            break
    return " AND ".join(clauses)


def in_key_range(plan: KeyPlan, values: Mapping[str, Any], bound: Bound | None, item: Item) -> bool:
    """Whether the sort key of a wire item satisfies the key condition of these values and this bound."""
    for entry in plan.range:
        operator, *operands = _range_clause(entry, values, bound)
        value = item.get(entry.attribute)
        if value is None or (operands and not compares(value, operator, *operands)):
            return False
        if operator != "=" or not operands:
            break
    return True


def _range_clause(entry: KeyField, values: Mapping[str, Any], bound: Bound | None) -> list[Any]:
    """The operator and wire operands for one range attribute; no operands if it is not restricted."""
    if entry.text is None:
        assert entry.source is not None
        if values.get(entry.source.name) is not None:
            return ["=", entry.source.pack(values[entry.source.name])]
        if bound is None or bound.name != entry.source.name:
            return [""]
        if bound.operator == "begins_with":
            return ["begins_with", {"S": bound.values[0]}]
        return [bound.operator, *(entry.source.pack(value) for value in bound.values)]
    lead, count = entry.text.build_prefix(values)
    if count == len(entry.names):
        return ["=", {"S": lead}]
    if bound is not None and bound.name == entry.names[count]:
        operator, *texts = entry.text.range_of(lead, count, bound.operator, bound.values)
        return [operator, *({"S": text} for text in texts)]
    return ["begins_with", {"S": lead}] if lead else [""]


def _clause(out: Placeholders, attribute: str, operator: str, operands: list[Value]) -> str:
    name = out.name(attribute)
    values = [out.value(operand) for operand in operands]
    if operator == "BETWEEN":
        return f"{name} BETWEEN {values[0]} AND {values[1]}"
    if operator == "begins_with":
        return f"begins_with({name}, {values[0]})"
    return f"{name} {operator} {values[0]}"


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
        sources = spec_of(self.entity).sources
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
        spec, out = spec_of(self.entity), Placeholders()
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
        table = spec_of(self.entity).table
        return {name: item[name] for name in (*table.attributes, *self.plan.index.attributes)}

    def sort_value(self, item: Item) -> tuple[Any, ...]:
        """The sort value for merging the answers of shards: the range of the index, then the primary key."""
        table = spec_of(self.entity).table
        return tuple(orderable(item[name]) for name in (*self.plan.index.range, *table.attributes))


def tag_condition(spec: Spec[Any], plan: KeyPlan) -> Condition | None:
    """A filter by entity tag; None if the key alone excludes the other entities of the table."""
    table = spec.table
    if spec.tag is None or table.tag is None:
        return None
    others = [other for other in table.specs if other is not spec and shares_key(plan, other)]
    return equals(table.tag, {"S": spec.tag}) if others else None


def shares_key(plan: KeyPlan, other: Spec[Any]) -> bool:
    """Whether a query of one entity in this index could find items of the other."""
    theirs = other.key if not plan.index.name else other.indexes.get(plan.index.name)
    if theirs is None:
        return False
    pairs = list(zip(plan.fields, theirs.fields, strict=False))
    return all(_compatible(mine.prefix, their.prefix) for mine, their in pairs)


def _compatible(mine: str, theirs: str) -> bool:
    return mine.startswith(theirs) or theirs.startswith(mine)


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
        instances: dict[type[BaseModel], list[Any]] = {entity: [] for entity in self.collection.entities}
        for item in items:
            spec = self.collection.table.spec_for(item)
            if spec is None or spec.entity not in instances:
                continue
            instance = spec.decode(item) if read is None else read(spec, item)
            # The range may contain other texts: "a b" sorts between "a" and "a#".
            if instance is not None and all(getattr(instance, name) == value for name, value in self._leading.items()):
                instances[spec.entity].append(instance)
        return Collected(instances)


@dataclass(frozen=True)
class Collected:
    """The result of a collection's query: instances by entity."""

    found: dict[type[BaseModel], list[Any]]
    #: items that could not be decoded, as the store reports them
    unreadable: tuple[Any, ...] = ()

    def of(self, entity: type[E]) -> list[E]:
        """The items of one entity, in the order of their keys."""
        return self._instances_of(entity)

    def one(self, entity: type[E]) -> E | None:
        """The first item of an entity, or None: for entities with one item per partition."""
        items = self._instances_of(entity)
        return items[0] if items else None

    def _instances_of(self, entity: type[E]) -> list[E]:
        try:
            return self.found[entity]
        except KeyError:
            names = ", ".join(known.__name__ for known in self.found)
            raise UnknownArgument(f"{entity.__name__} is not part of the collection.", fix=f"It has {names}.") from None
