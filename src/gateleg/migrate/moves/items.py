"""Reading and writing single wire items of a move.

Digests of items: equal for equal items, regardless of the order of attributes and set members and of number formats.
"""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from gateleg.migrate.moves.tables import FENCES, Fence
from gateleg.model.expressions import missing
from gateleg.store import TransactionCanceled
from gateleg.store.flow import Request
from gateleg.store.operations.older_items import unchanged
from gateleg.store.operations.operation import item_key
from gateleg.store.operations.reads import upcast_item
from gateleg.store.operations.transaction_flow import combine_entries, transaction_flow
from gateleg.store.operations.write_operation import ConditionCheck, Delete, Put
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from gateleg.migrate.moves.control import StageView
    from gateleg.model import Condition, Item, Spec
    from gateleg.model.planning import Write
    from gateleg.store.flow import Flow
    from gateleg.store.operations.operation import ItemKey
    from gateleg.store.operations.write_operation import WriteOperation
    from gateleg.store.setup import Setup


def read_item(spec: Spec[Any], key: Item, setup: Setup) -> Flow[Item | None]:
    """Read an item consistently."""
    payload = {"TableName": setup.name_of(spec.table), "Key": key, "ConsistentRead": True}
    response = yield Request("GetItem", payload, f"{spec.name}.move")
    item: Item | None = response.get("Item")
    return item


def key_of(spec: Spec[Any], item: Item) -> Item:
    """The key of a stored item."""
    return {name: item[name] for name in spec.table.attributes}


def place_of(spec: Spec[Any], key: Item, setup: Setup) -> ItemKey:
    """The table and key of an item, hashable."""
    return item_key(setup.name_of(spec.table), {name: key[name] for name in spec.table.attributes})


def as_read(spec: Spec[Any], item: Item | None) -> Condition:
    """The condition that an item is unchanged since it was read, or still absent."""
    return missing(spec.table.hash) if item is None else unchanged(spec, item)


def decoded(spec: Spec[Any], item: Item, setup: Setup) -> Flow[Any]:
    """Decode a stored item; reads the items that its upcasters need."""
    return spec.decode((yield from upcast_item(spec, item, setup)))


def in_present_schema(spec: Spec[Any], item: Item, setup: Setup) -> Flow[Item]:
    """A stored item in its current schema; unchanged if its entity never had another."""
    if not spec.upcasters:
        return item
    wire: Item = spec.encode((yield from decoded(spec, item, setup)))
    return wire


def copy_over(spec: Spec[Any], wanted: Item, existing: Item | None, setup: Setup) -> Flow[Put[Any]]:
    """The write that turns an item into the wanted one, with its markers and counters, if it is unchanged since it was read."""
    replaced = None if existing is None else (yield from decoded(spec, existing, setup))
    return Put(spec.decode(wanted), create=existing is None, replaces=replaced, condition=as_read(spec, existing), exact=True)


def remove(spec: Spec[Any], existing: Item, setup: Setup) -> Flow[Delete[Any]]:
    """The write that deletes an item with its markers and counters, if it is unchanged since it was read."""
    return Delete((yield from decoded(spec, existing, setup)), condition=as_read(spec, existing), check_version=False)


def fence_check(view: StageView, setup: Setup) -> ConditionCheck:
    """The check that a stage is still in the epoch that the writer knows."""
    number = setup.random.randrange(FENCES)
    return ConditionCheck(Fence.key(move=view.move, stage=view.stage, number=number), Fence.epoch == view.epoch)


class TransactionRefused(Exception):
    """A refused transaction: the items that have changed since they were read, by position, and the error."""

    def __init__(self, stale: frozenset[ItemKey], error: TransactionCanceled) -> None:
        super().__init__(str(error))
        self.stale = stale
        self.error = error


def write_together(
    operations: Sequence[WriteOperation[Any]],
    writes: Sequence[Write[Any]],
    seen: Mapping[ItemKey, Item | None],
    now: datetime,
    setup: Setup,
    token: str | None = None,
) -> Flow[None]:
    """Send one transaction; `TransactionRefused` tells which of the `seen` items have changed, or that none has."""
    try:
        yield from transaction_flow(operations, setup, writes=writes, token=token)
        return
    except TransactionCanceled as error:
        canceled, cause = error, error.__cause__
    if not isinstance(cause, ServiceError):
        raise canceled
    entries = combine_entries(operations, writes, setup, now)
    stale: set[ItemKey] = set()
    for entry, reason in zip(entries, cause.extra.get("CancellationReasons", ()), strict=False):
        code = reason.get("Code", "None")
        if code == "None" or entry.place not in seen:
            continue
        if code != "ConditionalCheckFailed":
            stale.add(entry.place)
            continue
        current = reason.get("Item") or None
        if current is None:
            # Not every service returns the item that failed the condition.
            key = entry.write.parameters.get("Key") or key_of_write(entry.write)
            payload = {"TableName": entry.place[0], "Key": key, "ConsistentRead": True}
            current = (yield Request("GetItem", payload, "move")).get("Item")
        if current != seen[entry.place]:
            stale.add(entry.place)
    raise TransactionRefused(frozenset(stale), canceled)


def key_of_write(write: Write[Any]) -> Item:
    """The key of the item that a put writes."""
    return {name: write.parameters["Item"][name] for name in write.table.attributes}


def canonical(value: Any) -> Any:
    """A wire value in canonical form."""
    ((tag, content),) = value.items()
    if tag == "N":
        return ["N", _number(content)]
    if tag == "NS":
        return ["NS", sorted(map(_number, content))]
    if tag in ("SS", "BS"):
        return [tag, sorted(map(str, content))]
    if tag == "M":
        return ["M", {name: canonical(content[name]) for name in sorted(content)}]
    if tag == "L":
        return ["L", [canonical(one) for one in content]]
    return [tag, content if isinstance(content, bool | str | type(None)) else str(content)]


def digest(item: Item, without: frozenset[str] = frozenset()) -> int:
    """A 128-bit digest of an item; sums of digests do not depend on the order."""
    text = json.dumps({name: canonical(item[name]) for name in sorted(item) if name not in without}, sort_keys=True)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big")


def key_digest(key: Item) -> str:
    """A short digest of a key."""
    return f"{digest(key):032x}"


def _number(text: str) -> str:
    number = Decimal(text)
    return "0" if number == 0 else str(number.normalize())
