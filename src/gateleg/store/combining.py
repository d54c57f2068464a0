"""The entries of one transaction: every write with its markers and counters, each item once.

DynamoDB refuses two writes of one item in a transaction. Counters of a parent are therefore added up, and when the transaction writes
the parent itself they become part of that write.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from gateleg.store.errors import DuplicateTarget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.model import Item, Write
    from gateleg.store.setup import Setup

Identity = tuple[str, tuple[tuple[str, str, Any], ...]]
_PLACEHOLDER = re.compile(r"#\w+")


@dataclass
class Entry:
    """One entry of TransactWriteItems, and the operations it belongs to by their number."""

    item: dict[str, Any]
    owners: list[int]
    write: Write[Any]
    role: Literal["write", "marker", "counter"] = "write"
    counts: dict[str, int] = field(default_factory=dict)


def identity(table: str, key: Item) -> Identity:
    """What makes two keys the same item: numbers count by value."""
    parts = []
    for name in sorted(key):
        ((tag, content),) = key[name].items()
        parts.append((name, tag, Decimal(content).normalize() if tag == "N" else content))
    return table, tuple(parts)


def combined(writes: Sequence[Write[Any]], setup: Setup) -> list[Entry]:
    """All entries in call order: the writes, then what goes along with them."""
    entries: dict[Identity, Entry] = {}
    for number, write in enumerate(writes):
        place = _place(write, setup)
        if place in entries:
            raise DuplicateTarget(f"Operation {number + 1} writes an item that operation {entries[place].owners[0] + 1} writes too.")
        entries[place] = Entry({str(write.kind): write.request(setup.name_of)}, [number], write)
    for number, write in enumerate(writes):
        for companion in write.companions:
            _join(entries, _place(companion, setup), companion, number, setup)
    return list(entries.values())


def _place(write: Write[Any], setup: Setup) -> Identity:
    parameters = write.parameters
    key = parameters.get("Key") or {name: parameters["Item"][name] for name in write.table.attributes}
    return identity(setup.name_of(write.table), key)


def _join(entries: dict[Identity, Entry], place: Identity, companion: Write[Any], number: int, setup: Setup) -> None:
    """Add a marker or counter, or make it part of the entry that writes its item."""
    counts = _counts(companion)
    entry = entries.get(place)
    if entry is None:
        item = {str(companion.kind): companion.request(setup.name_of)}
        entries[place] = Entry(item, [number], companion, "counter" if counts else "marker", counts)
        return
    if not counts or not _count_into(entry, counts):
        raise DuplicateTarget(f"Operation {number + 1} must {companion.purpose}, and operation {entry.owners[0] + 1} writes that item too.")
    entry.owners.append(number)


def marked_values(marker: Write[Any]) -> str:
    """The values that a marker holds, for messages."""
    text: str = marker.parameters["Item"][marker.table.hash]["S"]
    return ", ".join(unquote(part) for part in text.split("#")[3:])


def _counts(write: Write[Any]) -> dict[str, int]:
    """What a companion adds to which attributes; nothing when it is a marker."""
    if write.kind != "Update":
        return {}
    names, values = write.parameters["ExpressionAttributeNames"], write.parameters["ExpressionAttributeValues"]
    clauses = [clause.split() for clause in write.parameters["UpdateExpression"].removeprefix("ADD ").split(", ")]
    return {names[name]: int(values[value]["N"]) for name, value in clauses}


def _count_into(entry: Entry, counts: dict[str, int]) -> bool:
    """Add counters to an entry; whether that was possible."""
    ((kind, request),) = entry.item.items()
    if kind == "Put":
        item = dict(request["Item"])
        for name, delta in counts.items():
            item[name] = {"N": str(int(item.get(name, {"N": "0"})["N"]) + delta)}
        entry.item = {kind: request | {"Item": item}}
        return True
    if kind != "Update":
        return False
    if entry.role == "counter":
        # Two changes of one counter are one change by their sum.
        counts = {name: entry.counts.get(name, 0) + counts.get(name, 0) for name in entry.counts | counts}
        entry.counts = counts
        used = set(_PLACEHOLDER.findall(request["ConditionExpression"]))
        names = {placeholder: name for placeholder, name in request["ExpressionAttributeNames"].items() if placeholder in used}
        request = request | {"UpdateExpression": "", "ExpressionAttributeNames": names, "ExpressionAttributeValues": {}}
    entry.item = {kind: _with_counts(request, counts)}
    return True


def _with_counts(request: dict[str, Any], counts: dict[str, int]) -> dict[str, Any]:
    """An update that also adds to counters."""
    names, values = dict(request.get("ExpressionAttributeNames", {})), dict(request.get("ExpressionAttributeValues", {}))
    clauses = []
    for number, (name, delta) in enumerate(counts.items()):
        names[f"#count_{number}"], values[f":count_{number}"] = name, {"N": str(delta)}
        clauses.append(f"#count_{number} :count_{number}")
    expression, addition = request["UpdateExpression"], ", ".join(clauses)
    if " ADD " in f" {expression}":
        before, after = f" {expression}".split(" ADD ", 1)
        expression = f"{before} ADD {addition}, {after}".strip()
    else:
        expression = f"{expression} ADD {addition}".strip()
    return request | {"UpdateExpression": expression, "ExpressionAttributeNames": names, "ExpressionAttributeValues": values}
