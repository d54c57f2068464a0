"""Declarations that work but are probably not what was meant."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.model.keys import KeyPlan
    from gateleg.model.spec import Spec
    from gateleg.model.tables import Table


@dataclass(frozen=True)
class Finding:
    """One remark: a stable code, where, what, and what to do."""

    code: str
    where: str
    message: str
    fix: str


def lint(table: Table) -> list[Finding]:
    """All remarks about a table and its entities."""
    return [finding for spec in table.specs for finding in (*_attributes(spec), *_indexes(spec))]


def _attributes(spec: Spec[Any]) -> Iterator[Finding]:
    for attribute in spec.attributes.values():
        if attribute.declared.type is str and not attribute.marked("s3-key") and attribute.name.endswith(("_s3_key", "_s3_keys")):
            yield Finding(
                "s3-key-as-text",
                f"{spec.name}.{attribute.name}",
                "It is named like an object key but accepts any text, also URLs.",
                "Declare it as S3Key.",
            )


def _indexes(spec: Spec[Any]) -> Iterator[Finding]:
    primary = set(spec.arguments_of(name for entry in spec.key.hash for name in entry.names))
    for plan in spec.indexes.values():
        where = f"{spec.table.name} {plan.index.name}"
        if plan.index.local and all(name in primary for entry in plan.range for name in entry.names):
            yield Finding(
                "constant-local-index",
                where,
                "Its sort key is part of the table's hash, so it is the same for all items of a partition and selects nothing.",
                "Drop the index, or use a global index on the attribute.",
            )
        if not plan.index.local and plan.shards == 1 and _few_values(spec, plan):
            yield Finding(
                "hot-partition",
                where,
                f"All items with the same {', '.join(plan.hash[0].names)} share one partition, and there are few values.",
                "Spread it with shards=, or keep items out of it with when=.",
            )
        tag = spec.table.tag
        if tag is not None and len(spec.table.specs) > 1 and plan.index.project != "all" and tag not in plan.index.project:
            yield Finding(
                "tag-not-projected",
                where,
                f"{tag} is not projected, so queries cannot tell entities apart.",
                f"Include {tag} in the projection.",
            )


def _few_values(spec: Spec[Any], plan: KeyPlan) -> bool:
    names = [name for entry in plan.hash for name in entry.names]
    return not plan.when and all(spec.sources[name].member is None and _is_choice(spec, name) for name in names) and bool(names)


def _is_choice(spec: Spec[Any], name: str) -> bool:
    kind = spec.attributes[spec.sources[name].attribute].declared.type
    return kind is bool or (isinstance(kind, type) and issubclass(kind, Enum))
