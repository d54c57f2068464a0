"""Describe a table and its entities as plain data, for documents, the console and tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.model.attributes.states import States

if TYPE_CHECKING:
    from gateleg.model.attributes.attribute import Attribute
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.model.patterns import Access
    from gateleg.model.spec import Spec, Table


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
