"""Lint rules about attributes: misleading types, unsortable sort keys and unbounded lists."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, get_args, get_origin

from pydantic import BaseModel

from gateleg.model.attributes.annotations import read_annotation, union_members
from gateleg.model.attributes.special_types import find_mark
from gateleg.model.codec.nested import attr_type
from gateleg.model.codec.shapes import TimeShape
from gateleg.model.inspection.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.model.attributes.attribute import Attribute
    from gateleg.model.keys.plans import KeyField
    from gateleg.model.spec import Spec

_EXPIRY = re.compile(r"(.*_)?(expires?|expiry|expiration|ttl|time_to_live|delete_after|purge)(_at|_on|_date|_time|_seconds)?")
_TIME = re.compile(r"(.*_)?(at|date|time|timestamp|datetime)")
_NUMBER = re.compile(r"(.*_)?(sequence|seq|number|no|index|position|rank|order|priority|count|page|version)")
_GROWING = (list, set, frozenset)


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
                        f"It sorts {plan.index.name or spec.table.name}, but its format ({source.shape.format.directives or 'a number'} "
                        "as text) does not sort chronologically.",
                        "Write the time from the year down with fixed widths, or as a number in a separate key attribute.",
                    )


def _sorts(entry: KeyField, name: str, shape: TimeShape) -> bool:
    return entry.text.components[entry.names.index(name)].ordered if entry.text is not None else shape.format.ordered


def _object_keys(spec: Spec[Any], attribute: Attribute) -> Iterator[Finding]:
    kind, marked = attribute.declared.type, attribute.marked("s3-key")
    if get_origin(kind) in _GROWING:
        element = read_annotation(get_args(kind)[0])
        kind, marked = element.type, find_mark(element.metadata, "s3-key")
    if kind is str and not marked and attribute.name.endswith(("s3_key", "s3_keys")):
        yield Finding(
            "s3-key-as-text",
            f"{spec.name}.{attribute.name}",
            "It is named like an object key but accepts any text, including URLs.",
            "Declare it as S3Key.",
        )


def _expiry(spec: Spec[Any], attribute: Attribute) -> Iterator[Finding]:
    timely = attribute.declared.type in (datetime, date, int, float)
    if timely and not attribute.marked("ttl") and _EXPIRY.fullmatch(attribute.name):
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
    if find_mark(declared.metadata, "compressed"):
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


def _place(spec: Spec[Any], plan: Any) -> str:
    return plan.index.name or spec.table.name
