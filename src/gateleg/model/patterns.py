"""Access patterns: the named queries of an entity, each served by one index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from gateleg.model.entity_lookup import read_spec
from gateleg.model.errors import BadOption, UnknownArgument, UnservedPattern
from gateleg.model.keys.key_arguments import missing_components, read_components
from gateleg.model.layout import layout_of
from gateleg.model.planning.queries import Query
from gateleg.model.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.model.expressions.nodes import Condition
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.model.layout import EntityLayout

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
        access: Access[E] = read_spec(owner).patterns[self.name]
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
        spec, narrowed = layout_of(self.entity), None
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


def resolve_pattern(spec: EntityLayout[E], pattern: Pattern) -> Access[E]:
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


def _check_within(spec: EntityLayout[Any], pattern: Pattern, plan: KeyPlan) -> None:
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


def _served(spec: EntityLayout[Any], plan: KeyPlan, pattern: Pattern) -> tuple[str, ...] | None:
    """The required arguments if the key serves the pattern, else None."""
    hash_names = tuple(dict.fromkeys(name for entry in plan.hash for name in entry.names))
    range_names = [name for entry in plan.range for name in entry.names]
    given = set(spec.arguments_of(pattern.by)) if pattern.by else set(hash_names)
    if not set(hash_names) <= given:
        return None
    lead = 0
    while lead < len(range_names) and range_names[lead] in given:
        lead += 1
    if given - set(hash_names) - set(range_names[:lead]) - set(spec.arguments_of(hash_names)):
        return None
    if pattern.sorted_by is not None and (lead >= len(range_names) or range_names[lead] != pattern.sorted_by):
        return None
    return tuple(dict.fromkeys((*hash_names, *range_names[:lead])))
