"""Items of tables, declared or not: who may see and change them, their forms, and what a hand-written change may contain.

An item is DynamoDB JSON, or the attributes of its entity by their names.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from gateleg.ai.tables import cache_table
from gateleg.host.errors import NotAllowed, Unknown
from gateleg.host.principal import Role
from gateleg.host.tables import TABLES
from gateleg.model import DecodeError, Index, Table
from gateleg.model.shapes import UNKNOWN
from gateleg.model.tables import RECOUNT
from gateleg.ops.transfer import BadLine, LineReader
from gateleg.store.flow import Request
from gateleg.store.operations.tables import describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import BaseModel

    from gateleg.host.principal import Principal
    from gateleg.model import Item, Spec
    from gateleg.model.attr import Attribute
    from gateleg.store import AsyncStore
    from gateleg.store.flow import Flow

__all__ = [
    "FormResult",
    "ParsedDocument",
    "Purpose",
    "canonical",
    "check_document",
    "check_readable",
    "etag_of",
    "find_table",
    "hidden_names",
    "instance_of",
    "key_attributes",
    "read_item",
    "readable",
    "readable_table",
    "undeclared_table",
    "why_locked",
    "why_not_change",
    "why_not_read",
]

Purpose = Literal["edit", "create"]


# -- who may

#: The host's own tables: keys, sessions and the audit log.
_OWN = tuple(table.name for table in TABLES)


def _is_hosts_own(table: str) -> bool:
    """Whether a table belongs to a host: this one, or another with the same store and a prefix."""
    return table.endswith(_OWN)


def why_not_read(principal: Principal, table: str) -> str:
    """Why a caller may not view the items of a table; empty if they may."""
    if _is_hosts_own(table) and not principal.may(Role.ADMIN):
        return "This table holds keys, sessions and the audit log; only an admin may see its items."
    if table.endswith(cache_table.name) and not principal.may(Role.ADMIN):
        return "This table holds cached replies of models for all users; only an admin may see its items."
    return ""


def why_not_change(principal: Principal, table: str) -> str:
    """Why a caller may not change the items of a table by hand; empty if they may. A change shows what is stored."""
    if _is_hosts_own(table):
        return "Keys are created and revoked in the settings, and the audit log cannot be changed."
    if not principal.may(Role.OPERATOR):
        return "Changing items needs the role operator."
    return why_not_read(principal, table)


def check_readable(principal: Principal, table: str) -> None:
    """Refuse callers who may not view the items of a table."""
    if why := why_not_read(principal, table):
        raise NotAllowed(why)


def check_changeable(principal: Principal, table: str) -> None:
    """Refuse callers who may not change the items of a table."""
    if why := why_not_change(principal, table):
        raise NotAllowed(why)


# -- tables

#: The names that a deployed table can have.
_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")


async def find_table(store: AsyncStore, declared: Iterable[Table], name: str) -> Table:
    """The declared or deployed table with a name, by which its items are decoded. Raises `Unknown` if there is none."""
    table = next((table for table in declared if name in (table.name, store.setup.name_of(table))), None)
    physical = store.setup.prefix + name if table is None else store.setup.name_of(table)
    description = await store.drive(describe(physical)) if table is not None or _NAME.fullmatch(physical) else None
    if table is None and description is None:
        raise Unknown(f"No declared or deployed table is called {name!r}.", fix="Check its name, and the prefix of the host.")
    if table is None:
        assert description is not None
        return undeclared_table(name, description)
    return readable_table(table, description)


def readable_table(declared: Table, description: dict[str, Any] | None) -> Table:
    """The table by which items are decoded: the declaration, unless the deployed table has another key."""
    if description is None:
        return declared
    keys = _keys(description)
    return declared if (*keys["HASH"], *keys["RANGE"]) == declared.attributes else undeclared_table(declared.name, description)


def undeclared_table(name: str, description: dict[str, Any]) -> Table:
    """An undeclared table, from its description: its name, keys and indexes."""
    types = {entry["AttributeName"]: entry["AttributeType"] for entry in description["AttributeDefinitions"]}
    own = _keys(description)
    indexes = [
        Index(index["IndexName"], _keys(index)["HASH"], _keys(index)["RANGE"], _projected(index["Projection"]), local)
        for member, local in (("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True))
        for index in description.get(member) or ()
    ]
    return Table(name, hash=own["HASH"][0], range=next(iter(own["RANGE"]), None), indexes=indexes, types=types)


def _keys(source: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """The key attributes by role."""
    schema = source["KeySchema"]
    return {role: tuple(entry["AttributeName"] for entry in schema if entry["KeyType"] == role) for role in ("HASH", "RANGE")}


def _projected(projection: dict[str, Any]) -> Literal["all", "keys"] | tuple[str, ...]:
    kind = projection["ProjectionType"]
    return "all" if kind == "ALL" else "keys" if kind == "KEYS_ONLY" else tuple(projection.get("NonKeyAttributes", ()))


# -- reading


async def read_item(store: AsyncStore, table: Table, key: Item) -> Item | None:
    """One item as it is stored now."""
    payload = {"TableName": store.setup.name_of(table), "Key": key, "ConsistentRead": True}
    return await store.drive(_get(payload, f"{table.name} item"))


def _get(payload: dict[str, Any], label: str) -> Flow[Item | None]:
    response = yield Request("GetItem", payload, label)
    item: Item | None = response.get("Item")
    return item


# -- forms of items


def hidden_names(spec: Spec[Any]) -> frozenset[str]:
    """The wire names of hidden attributes: secrets, and their digests."""
    return frozenset(attribute.wire for attribute in spec.attributes.values() if attribute.info.exclude)


def visible(table: Table, item: Item) -> Item:
    """An item without its hidden attributes."""
    spec = table.spec_for(item)
    hidden = hidden_names(spec) if spec is not None else frozenset[str]()
    return {name: value for name, value in item.items() if name not in hidden}


def without_counts(spec: Spec[Any] | None, item: Item) -> Item:
    """An item without the counters of its children: their writers do not conflict with a change of it."""
    return item if spec is None else {name: value for name, value in item.items() if name not in {*spec.counted_wires, RECOUNT}}


def etag_of(table: Table, item: Item) -> str:
    """The tag of an item's content, which says whether it is still as it was read."""
    content = json.dumps(canonical(without_counts(table.spec_for(item), item)), sort_keys=True, separators=(",", ":"))
    return f'"{hashlib.sha256(content.encode()).hexdigest()[:32]}"'


def readable(spec: Spec[Any], item: Item) -> Any:
    """The instance of an item; None if its entity cannot decode it."""
    try:
        return spec.decode(item)
    except DecodeError:
        return None


def same(value: Any, other: Any) -> bool:
    """Whether two values, or two items, are equal: numbers by value, sets regardless of order."""
    return bool(canonical(value) == canonical(other))


def canonical(value: Any) -> Any:
    """A value, or an item, in canonical form."""
    if isinstance(value, list):
        return [canonical(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((tag, content),) = value.items()
        if tag == "N" and isinstance(content, str):
            return {"N": _number(content)}
        if tag == "NS" and isinstance(content, list):
            return {"NS": sorted(map(_number, content))}
        if tag in ("SS", "BS") and isinstance(content, list):
            return {tag: sorted(content)}
    return {name: canonical(entry) for name, entry in value.items()}


def _number(text: str) -> str:
    number = Decimal(text).normalize()
    return format(number, "f") if -40 < number.adjusted() < 40 else str(number)


# -- whole items, written by hand


@dataclass(frozen=True)
class ParsedDocument:
    """A whole item that was written by hand, with its instance, or the problem with it."""

    item: Item = field(default_factory=dict)
    #: None for an item of an unknown entity
    instance: Any = None
    spec: Spec[Any] | None = None
    problem: str = ""
    #: as it was written: with derived attributes as they were before
    content: dict[str, Any] = field(default_factory=dict)


def check_document(table: Table, content: object, before: Item | None = None) -> ParsedDocument:
    """Check a whole item. With `before`, it must be the same item, with unchanged derived attributes and legal state transitions."""
    if not isinstance(content, dict):
        return ParsedDocument(problem="An item must be a JSON object: { ... }.")
    return replace(_parsed(table, content, before), content=content)


def _parsed(table: Table, content: dict[str, Any], before: Item | None) -> ParsedDocument:
    old = table.spec_for(before) if before is not None else None
    if before is not None and old is not None:
        content = {name: before[name] for name in hidden_names(old) if name in before} | content
    line = json.dumps({"Item": content}).encode()
    try:
        item = LineReader(table, plain=False).item(line)
    except BadLine as error:
        return ParsedDocument(problem=f"This is not a valid item of {table.name}: {error}.")
    if before is not None and any(not same(item[name], before[name]) for name in table.attributes):
        return ParsedDocument(problem=f"The key ({', '.join(table.attributes)}) cannot be changed. To use another key, duplicate the item.")
    spec = table.spec_for(item)
    if spec is None:
        return ParsedDocument(item)
    return _checked(spec, item, before)


def _checked(spec: Spec[Any], item: Item, before: Item | None) -> ParsedDocument:
    try:
        instance = spec.decode(item)
    except DecodeError as error:
        return ParsedDocument(problem=error.message)
    problem = _out_of_range(spec, instance, item, before or {})
    if before is not None and not problem:
        problem = _by_hand(spec, item, before) or next(iter(illegal_transitions(spec, readable(spec, before), instance).values()), "")
    return ParsedDocument(problem=problem) if problem else ParsedDocument(spec.encode(instance), instance, spec)


def _by_hand(spec: Spec[Any], item: Item, before: Item) -> str:
    """Changes of attributes that the model derives."""
    touched = sorted(name for name in spec.derived_names if not same(item.get(name), before.get(name)))
    if touched:
        return f"{', '.join(touched)} is derived from other attributes; change those instead."
    counted = sorted(wire for wire in spec.counted_wires if not same(item.get(wire), before.get(wire)))
    return f"{', '.join(counted)} counts other items and is updated when they are written; do not change it." if counted else ""


def _out_of_range(spec: Spec[Any], instance: Any, item: Item, before: Item) -> str:
    """Changes to values that are out of range. A stored value that was already out of range may stay."""
    for name, problem in spec.violations(instance).items():
        wire = spec.attributes[name].wire
        if not same(item.get(wire), before.get(wire)):
            return f"{name}: {problem}."
    return ""


def illegal_transitions(spec: Spec[Any], before: BaseModel | None, after: BaseModel) -> dict[str, str]:
    """Illegal state transitions, by attribute. The state of an item that could not be decoded is unknown."""
    problems: dict[str, str] = {}
    for attribute in spec.attributes.values() if before is not None else ():
        old, new = before.__dict__[attribute.name], after.__dict__[attribute.name]
        if attribute.state and old is not None and new is not None and old != new and not old.may_become(new):
            allowed = ", ".join(sorted(map(str, old.successors))) or "nothing"
            problems[attribute.name] = f"{attribute.name} cannot go from {old} to {new}: after {old} comes {allowed}."
    return problems


# -- attributes by their names


@dataclass(frozen=True)
class FormResult:
    """An instance made of attributes, or problems by attribute."""

    instance: Any = None
    #: by attribute; under the empty name those of the whole item
    problems: Mapping[str, str] = field(default_factory=dict)


def key_attributes(spec: Spec[Any]) -> set[str]:
    """The attributes that an entity's key consists of."""
    return {spec.sources[name].attribute for name in spec.key.names}


def why_locked(spec: Spec[Any], attribute: Attribute, purpose: Purpose) -> str:
    """Why an attribute cannot be set by hand; empty if it can."""
    if attribute.name in spec.counted:
        return "Counts other items. Updated when they are written."
    if attribute.is_special("version"):
        return "Incremented by every write."
    if attribute.traits.stamp is not None:
        return "Set when the item is created." if attribute.traits.stamp == "create" else "Set by every write."
    if purpose == "create":
        return ""
    if attribute.name in key_attributes(spec):
        return "Part of the key. To use another key, duplicate the item."
    return "Set when the item is created." if attribute.traits.read_only else ""


def with_values(spec: Spec[Any], values: Mapping[str, Any], before: BaseModel | None = None) -> FormResult:
    """A new instance with some attributes, or an existing one with changed attributes; the others stay exactly as they were read."""
    problems: dict[str, str] = {}
    for name in values:
        attribute = spec.attributes.get(name)
        if attribute is None:
            problems[name] = f"{spec.name} has no attribute {name}; it has {', '.join(spec.attributes)}."
        elif why := why_locked(spec, attribute, "create" if before is None else "edit"):
            problems[name] = why
    if problems:
        return FormResult(problems=problems)
    all_values = dict(before.__dict__) if before is not None else {}
    unknown = all_values.pop(UNKNOWN, None)
    result = instance_of(spec, all_values | dict(values), unknown)
    if not result.problems and (illegal := illegal_transitions(spec, before, result.instance)):
        return FormResult(problems=illegal)
    return result


def instance_of(spec: Spec[Any], values: Mapping[str, Any], unknown: Any = None) -> FormResult:
    """The instance with these values and undeclared attributes, or problems by attribute."""
    try:
        instance = spec.entity.model_validate(dict(values))
        if unknown:
            vars(instance)[UNKNOWN] = unknown
        spec.encode(instance)
    except ValidationError as error:
        return FormResult(problems=_by_attribute(spec, error))
    except Exception as error:  # an invalid key, a value that cannot be stored, or a validator of the application
        return FormResult(problems={"": getattr(error, "message", str(error))})
    return FormResult(instance)


def _by_attribute(spec: Spec[Any], error: ValidationError) -> dict[str, str]:
    problems: dict[str, str] = {}
    for problem in error.errors():
        first, *inner = problem["loc"] or ("",)
        name = str(first) if first in spec.attributes else ""
        where = ".".join(map(str, inner))
        text = problem["msg"].removeprefix("Value error, ")
        text = f"{where}: {text}" if where else text
        problems[name] = f"{problems[name]} {text}." if name in problems else f"{text}."
    return problems
