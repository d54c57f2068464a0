"""Find declarations that work but are probably mistakes."""

from __future__ import annotations

from collections import Counter
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, get_origin

from gateleg.model.codec.shapes import TimeShape
from gateleg.model.inspection.findings import Finding
from gateleg.model.inspection.lint_attributes import attribute_findings
from gateleg.model.keys.components import DateComponent
from gateleg.model.planning.queries import tag_condition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.model.keys.plans import KeyField, KeyPlan
    from gateleg.model.patterns import Access
    from gateleg.model.spec import Spec, Table

__all__ = ["Finding", "few_partitions", "lint"]


def lint(table: Table) -> list[Finding]:
    """All findings about a table and its entities."""
    findings = [finding for spec in table.specs for finding in (*attribute_findings(spec), *_indexes(spec), *_patterns(spec))]
    return list(dict.fromkeys((*findings, *_table(table))))


def _indexes(spec: Spec[Any]) -> Iterator[Finding]:
    primary = set(spec.arguments_of(name for entry in spec.key.hash for name in entry.names))
    for plan in spec.indexes.values():
        where = f"{spec.table.name} {plan.index.name}"
        if plan.index.local and all(name in primary for entry in plan.range for name in entry.names):
            yield Finding(
                "constant-local-index",
                where,
                "Its sort key is part of the table's hash, so it is the same for all items of a partition and selects nothing.",
                "Remove the index, or use a global index on the attribute.",
            )
        if not plan.index.local and plan.shards == 1 and few_partitions(spec, plan):
            yield Finding(
                "hot-partition",
                where,
                f"All items with the same {', '.join(plan.hash[0].names)} share one partition, and it has few values.",
                "Spread the index with shards=, or keep items out of it with when=.",
            )
        if plan.shards == 1 and _only_times(spec, plan):
            yield Finding(
                "time-partition",
                where,
                f"Its partition is a time: {', '.join(name for entry in plan.hash for name in entry.names)}.",
                "Begin the hash with an attribute that has many values, and sort by the time.",
            )
        tag = spec.table.tag
        if tag is not None and len(spec.table.specs) > 1 and plan.index.project != "all" and tag not in plan.index.project:
            yield Finding(
                "tag-not-projected",
                where,
                f"{tag} is not projected, so queries cannot tell entities apart.",
                f"Include {tag} in the projection.",
            )


def _patterns(spec: Spec[Any]) -> Iterator[Finding]:
    for access in spec.patterns.values():
        index = access.plan.index
        if index.project != "all":
            yield Finding(
                "partial-index",
                access.name,
                f"{index.name} does not project all attributes, so each item is read from the table again.",
                "Project all attributes, or query with project=[...] for attributes that the index projects.",
            )
        for name in _days_with_times(spec, access.plan):
            yield Finding(
                "coarse-partition",
                access.name,
                f"The partition contains the day of {name}, and the sort key the whole time: a query finds the items of one instant, "
                "not of a day.",
                "Store the day in a separate attribute, and use that in the partition.",
            )
        unseen = _unseen_forms(spec, access)
        if unseen:
            yield Finding(
                "legacy-not-indexed",
                access.name,
                f"Items under a legacy key ({', '.join(unseen)}) are not found unless they have the key attributes of {index.name}.",
                "Add the attributes of their partition with within=, or declare legacy_indexed=True if the items have them.",
            )
        if tag_condition(spec, access.plan) is not None:
            yield Finding(
                "filtered-pattern",
                access.name,
                f"Its partition also contains other entities, which are read and then filtered out by {spec.table.tag}.",
                "Begin the sort key of each entity with a different text, such as SCENE#.",
            )


def _days_with_times(spec: Spec[Any], plan: KeyPlan) -> list[str]:
    """The times of which the hash contains only the day and the sort key more."""
    days = {name for entry in plan.hash for name in _rendered(entry, as_day=True) if isinstance(spec.sources[name].shape, TimeShape)}
    return sorted(days & {name for entry in plan.range for name in _rendered(entry, as_day=False)})


def _rendered(entry: KeyField, *, as_day: bool) -> list[str]:
    """The components of a key attribute that are written as days, or (`as_day=False`) the others."""
    if entry.text is None:
        return [] if as_day else list(entry.names)
    pairs = zip(entry.names, entry.text.components, strict=True)
    return [name for name, component in pairs if isinstance(component, DateComponent) is as_day]


def _unseen_forms(spec: Spec[Any], access: Access[Any]) -> list[str]:
    """The hash components of legacy keys that the arguments of an index pattern do not determine."""
    if access.pattern.legacy_indexed or not access.plan.index.name:
        return []
    known = spec.arguments_of(access.required)
    forms = [tuple(name for entry in plan.hash for name in entry.names) for plan in spec.key.legacy]
    return [" and ".join(form) for form in forms if not set(form) <= known]


def _table(table: Table) -> Iterator[Finding]:
    queried = Counter(access.plan.index.name for spec in table.specs for access in spec.patterns.values())
    written = {name for spec in table.specs for name in spec.indexes}
    seen: dict[Any, str] = {}
    for index in table.indexes:
        where = f"{table.name} {index.name}"
        if table.specs and index.name not in written:
            yield Finding("unwritten-index", where, "No entity has a key in it.", "Remove the index, or declare Key(..., index=...).")
        elif table.specs and not queried[index.name]:
            yield Finding("unused-index", where, "No access pattern uses it.", "Declare the pattern that it is for, or remove it.")
        twin = seen.setdefault((index.hash, index.range), index.name)
        if twin != index.name:
            yield Finding("twin-index", where, f"It has the same key as {twin}.", "Keep one, with the union of both projections.")


def few_partitions(spec: Spec[Any], plan: KeyPlan) -> bool:
    """Whether the hash of an index has few values: all its components are booleans, enumerations or literals."""
    names = [name for entry in plan.hash for name in entry.names]
    return not plan.when and all(spec.sources[name].member is None and _is_choice(spec, name) for name in names) and bool(names)


def _is_choice(spec: Spec[Any], name: str) -> bool:
    kind = spec.attributes[spec.sources[name].attribute].declared.type
    return kind is bool or get_origin(kind) is Literal or (isinstance(kind, type) and issubclass(kind, Enum))


def _only_times(spec: Spec[Any], plan: KeyPlan) -> bool:
    kinds = [spec.sources[name].declared.type for entry in plan.hash for name in entry.names]
    return bool(kinds) and all(isinstance(kind, type) and issubclass(kind, date) for kind in kinds)
