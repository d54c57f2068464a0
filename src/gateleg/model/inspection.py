"""Inspect declared tables and what is stored in them.

`lint(table)` lists declarations that work but are probably mistakes, `describe(table)` returns plain data for documents, the console and
tools, and `refused_object_keys(item)` names the attributes in which another program has stored something else than an object key.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from pydantic import BaseModel

from gateleg.model.errors import S3KeyRefused
from gateleg.model.fields import States
from gateleg.model.key_text import DateComponent
from gateleg.model.keys import spec_of
from gateleg.model.patterns import tag_condition
from gateleg.model.shapes import TimeShape, attr_type
from gateleg.model.types import check_s3_key, is_special, read_annotation, union_members

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.model.attr import Attribute
    from gateleg.model.keys import KeyField, KeyPlan
    from gateleg.model.patterns import Access
    from gateleg.model.spec import Spec
    from gateleg.model.tables import Table

__all__ = ["Finding", "describe", "few_partitions", "is_refused", "lint", "refused_object_keys"]

#: Names of attributes that suggest an expiry time, a time, or a number.
_EXPIRY = re.compile(r"(.*_)?(expires?|expiry|expiration|ttl|time_to_live|delete_after|purge)(_at|_on|_date|_time|_seconds)?")
_TIME = re.compile(r"(.*_)?(at|date|time|timestamp|datetime)")
_NUMBER = re.compile(r"(.*_)?(sequence|seq|number|no|index|position|rank|order|priority|count|page|version)")
_GROWING = (list, set, frozenset)


def lint(table: Table) -> list[Finding]:
    """All findings about a table and its entities."""
    findings = [finding for spec in table.specs for finding in (*attribute_findings(spec), *_indexes(spec), *_patterns(spec))]
    return list(dict.fromkeys((*findings, *_table(table))))


@dataclass(frozen=True)
class Finding:
    """A finding of the linter: the rule's stable `code`, `where` it applies, the problem (`message`) and the `fix`."""

    code: str
    where: str
    message: str
    fix: str

    @property
    def why(self) -> str:
        """The reason for the rule."""
        return WHY[self.code]


def describe(table: Table) -> dict[str, Any]:
    """The keys, indexes, entities, attributes, states and access patterns of a table, as data that can be written as JSON."""
    return {
        "table": table.name,
        "hash": table.hash,
        "range": table.range,
        "ttl": table.ttl(),
        "tag": table.tag,
        "indexes": [
            {"name": i.name, "hash": list(i.hash), "range": list(i.range), "local": i.local, "project": i.project} for i in table.indexes
        ],
        "entities": [_entity(spec) for spec in table.specs],
    }


def refused_object_keys(item: BaseModel) -> tuple[str, ...]:
    """The names in the table of an item's attributes that hold an invalid object key.

    Such a key cannot be written, but another program may have stored it: so it is read as it is. Repair the attribute with a patch.
    """
    spec = spec_of(type(item))
    return tuple(
        attribute.wire
        for attribute in spec.attributes.values()
        if any(is_refused(key) for key in _keys_in(attribute.annotation, vars(item)[attribute.name]))
    )


def is_refused(key: str) -> bool:
    """Whether an object key is invalid."""
    try:
        check_s3_key(key)
    except S3KeyRefused:
        return True
    return False


def few_partitions(spec: Spec[Any], plan: KeyPlan) -> bool:
    """Whether the hash of an index has few values: all its components are booleans, enumerations or literals."""
    names = [name for entry in plan.hash for name in entry.names]
    return not plan.when and all(spec.sources[name].member is None and _is_choice(spec, name) for name in names) and bool(names)


#: Why each rule exists, by code.
WHY = {
    "coarse-partition": "An argument of a pattern applies to every part of the key that contains it, so it fixes the sort key "
    "along with the partition.",
    "constant-local-index": "A local index orders the items of one partition. If they all have the same sort key, the index orders "
    "nothing, but every write to it costs write units.",
    "expired-still-counted": "Only writes of programs update counters and markers. DynamoDB deletes expired items without updating them.",
    "expiry-not-ttl": "DynamoDB deletes expired items only by a number of epoch seconds and silently ignores other types.",
    "filtered-pattern": "A filter drops items after they were read and paid for, so pages contain fewer items than their limit.",
    "hot-partition": "One partition serves at most 3,000 read and 1,000 write units a second, however large the table is.",
    "legacy-not-indexed": "An index contains only items that have its key attributes. Items that are older than the index are in the table "
    "only.",
    "number-as-text": "Text sorts character by character: 10 comes before 9.",
    "partial-index": "Attributes that an index does not project are read from the table, item by item, which costs more than the query.",
    "s3-key-as-text": "A presigned URL that is stored as a key expires, and is a secret until then.",
    "tag-not-projected": "If an index does not project the tag, the entities of its items cannot be told apart.",
    "time-as-text": "Times sort as text only if all have the same format, width and time zone.",
    "time-not-sorted": "Text sorts character by character: 02.01.2024 comes before 31.12.2023.",
    "time-partition": "All new items go to one partition, which serves at most 1,000 write units a second.",
    "twin-index": "Two indexes with the same key contain the same items in the same order, and each write pays for both.",
    "unbounded-list": "An item can have at most 400 KB, and every change of a list rewrites and pays for the whole item.",
    "unused-index": "Each write to an index costs write units, whether or not the index is queried.",
    "unwritten-index": "Every query of an index without items returns nothing.",
}


def attribute_findings(spec: Spec[Any]) -> Iterator[Finding]:
    """All findings about the attributes of an entity."""
    for attribute in spec.attributes.values():
        yield from _object_keys(spec, attribute)
        yield from _expiry(spec, attribute)
        yield from _lists(f"{spec.name}.{attribute.name}", attribute.annotation, _bounded(attribute.info.metadata), frozenset())
    yield from _sort_texts(spec)
    yield from _unsorted_times(spec)
    if spec.ttl is not None:
        for name in (*spec.counters, *spec.uniques):
            yield Finding(
                "expired-still-counted",
                f"{spec.name}.{name}",
                "Its items expire, but when DynamoDB deletes them, it neither updates counters nor releases unique values.",
                "Delete the items before they expire: declare a Purge, and include purge_jobs in your jobs.",
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


def _is_choice(spec: Spec[Any], name: str) -> bool:
    kind = spec.attributes[spec.sources[name].attribute].declared.type
    return kind is bool or get_origin(kind) is Literal or (isinstance(kind, type) and issubclass(kind, Enum))


def _only_times(spec: Spec[Any], plan: KeyPlan) -> bool:
    kinds = [spec.sources[name].declared.type for entry in plan.hash for name in entry.names]
    return bool(kinds) and all(isinstance(kind, type) and issubclass(kind, date) for kind in kinds)


def _unsorted_times(spec: Spec[Any]) -> Iterator[Finding]:
    for plan in (spec.key, *spec.indexes.values()):
        for entry in plan.range:
            for name in entry.names:
                source = spec.sources[name]
                natural = entry.text is None and source.shape.tag == "N"
                if isinstance(source.shape, TimeShape) and not natural and not _sorts(entry, name, source.shape):
                    yield Finding(
                        "time-not-sorted",
                        f"{spec.name}.{name}",
                        f"It sorts {_place(spec, plan)}, but its format ({source.shape.format.directives or 'a number'} "
                        "as text) does not sort chronologically.",
                        "Write the time from the year down with fixed widths, or as a number in a separate key attribute.",
                    )


def _sorts(entry: KeyField, name: str, shape: TimeShape) -> bool:
    return entry.text.components[entry.names.index(name)].ordered if entry.text is not None else shape.format.ordered


def _object_keys(spec: Spec[Any], attribute: Attribute) -> Iterator[Finding]:
    kind, marked = attribute.declared.type, attribute.is_special("s3-key")
    if get_origin(kind) in _GROWING:
        element = read_annotation(get_args(kind)[0])
        kind, marked = element.type, is_special(element.metadata, "s3-key")
    if kind is str and not marked and attribute.name.endswith(("s3_key", "s3_keys")):
        yield Finding(
            "s3-key-as-text",
            f"{spec.name}.{attribute.name}",
            "It is named like an object key but accepts any text, including URLs.",
            "Declare it as S3Key.",
        )


def _expiry(spec: Spec[Any], attribute: Attribute) -> Iterator[Finding]:
    timely = attribute.declared.type in (datetime, date, int, float)
    if timely and not attribute.is_special("ttl") and _EXPIRY.fullmatch(attribute.name):
        yield Finding(
            "expiry-not-ttl",
            f"{spec.name}.{attribute.name}",
            "It is named like an expiry time, but items do not expire at it.",
            "Declare it as TTL, or give it another name.",
        )


def _lists(where: str, annotation: Any, bounded: bool, inside: frozenset[type]) -> Iterator[Finding]:
    """Lists without a maximum length, also in nested models. Lists of numbers are exempt: they are usually vectors of a fixed length."""
    declared = read_annotation(annotation)
    kind = declared.type
    if is_special(declared.metadata, "compressed"):
        return
    if get_origin(kind) in _GROWING:
        element = read_annotation(get_args(kind)[0]).type
        if not bounded and not _bounded(declared.metadata) and not (isinstance(element, type) and issubclass(element, int | float)):
            yield Finding(
                "unbounded-list",
                where,
                "It may grow without limit.",
                "Give it a max_length, store each entry as a separate item, or store the list in an object.",
            )
    for model in union_members(kind) or (kind,):
        if isinstance(model, type) and issubclass(model, BaseModel) and model not in inside:
            for name, info in model.model_fields.items():
                yield from _lists(f"{where}.{name}", attr_type(info.annotation), _bounded(info.metadata), inside | {model})


def _bounded(metadata: Any) -> bool:
    """Whether metadata declares a maximum length, also in a `Field` inside the annotation."""
    return any(getattr(entry, "max_length", None) is not None or _bounded(getattr(entry, "metadata", ())) for entry in metadata)


def _sort_texts(spec: Spec[Any]) -> Iterator[Finding]:
    """Plain text in a sort key whose name suggests a time or a number."""
    seen: set[str] = set()
    for plan in (spec.key, *spec.indexes.values()):
        for name in (name for entry in plan.range for name in entry.names):
            if name in seen or spec.sources[name].declared.type is not str:
                continue
            seen.add(name)
            if _TIME.fullmatch(name):
                fix = "Declare it as datetime."
                yield Finding("time-as-text", f"{spec.name}.{name}", f"{_place(spec, plan)} sorts by it, but it is plain text.", fix)
            elif _NUMBER.fullmatch(name):
                fix = "Declare it as int, with a width if it is part of a template: {sequence:03d}."
                yield Finding("number-as-text", f"{spec.name}.{name}", f"{_place(spec, plan)} sorts by it, but it is plain text.", fix)


def _place(spec: Spec[Any], plan: KeyPlan) -> str:
    return plan.index.name or spec.table.name


def _keys_in(annotation: Any, value: Any) -> Iterator[str]:
    """The object keys in a value: itself, in a collection, in the values of a mapping, or in a record."""
    declared = read_annotation(annotation)
    if is_special(declared.metadata, "s3-key"):
        if isinstance(value, str):
            yield value
    elif isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            yield from _keys_in(attr_type(field.annotation), getattr(value, name))
    elif isinstance(value, Mapping | list | tuple | set | frozenset):
        for inner in get_args(declared.type)[-1:]:
            for entry in value.values() if isinstance(value, Mapping) else value:
                yield from _keys_in(inner, entry)


def _entity(spec: Spec[Any]) -> dict[str, Any]:
    return {
        "name": spec.name,
        "doc": spec.doc,
        "tag": spec.tag,
        "schema": spec.schema,
        "key": _key(spec.key),
        "index_keys": {name: _key(plan) for name, plan in spec.indexes.items()},
        "attributes": [_attribute(attribute) for attribute in spec.attributes.values()],
        "patterns": [_pattern(access) for access in spec.patterns.values()],
        "uniques": {name: list(unique.by) for name, unique in spec.uniques.items()},
        "counters": {name: repr(counter.attribute) for name, counter in spec.counters.items()},
    }


def _key(plan: KeyPlan) -> dict[str, Any]:
    forms = {entry.attribute: entry.text.template.text if entry.text is not None else f"{{{entry.names[0]}}}" for entry in plan.fields}
    when = {name: [str(value) for value in values] for name, values in plan.when.items()}
    return {"forms": forms, "when": when, "shards": plan.shards}


def _attribute(attribute: Attribute) -> dict[str, Any]:
    kind = attribute.declared.type
    states = {state.value: sorted(state.successors) for state in kind} if isinstance(kind, type) and issubclass(kind, States) else {}
    return {
        "name": attribute.name,
        "wire": attribute.wire,
        "type": getattr(kind, "__name__", None) or str(kind),
        "wire_type": attribute.shape.tag or "any",
        "required": attribute.info.is_required(),
        "optional": attribute.optional,
        "description": attribute.info.description or "",
        "states": states,
    }


def _pattern(access: Access[Any]) -> dict[str, Any]:
    pattern = access.pattern
    return {
        "name": access.name,
        "title": pattern.title,
        "description": pattern.description,
        "index": access.plan.index.name,
        "required": list(access.required),
        "optional": list(access.optional),
        "order": pattern.order,
    }
