"""Items in an older form, which are brought into the current one before they are written.

- Under a legacy key: items are found under it, and the first write moves an item to its current key (`place`). In the first release of a
  changed key (`writes="legacy"`), items stay where they are, because the release before knows the legacy key only.
- In an older schema: an item is rewritten in the current one before an update or condition is applied to it (`upgrade_item`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.model import spec_of
from gateleg.model.expressions import Placeholders, all_of, equals, exists, missing
from gateleg.model.stored_forms import schema_of
from gateleg.store.errors import AlreadyExists
from gateleg.store.flow import Request
from gateleg.store.operations.reads import read_older, upcast_item, with_current_key
from gateleg.store.setup import retry_conflicts
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model import Condition, Item, Ref, Spec
    from gateleg.store.flow import Flow, Response
    from gateleg.store.setup import Setup

__all__ = ["migrate_to_current_key", "replace_unchanged", "unchanged"]

#: DynamoDB allows 300 operators in a condition, including AND.
_MAX_COMPARISONS = 149


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a write sends the item of an entity with legacy keys, and the other keys of the item, which must have no item then."""

    key: Item
    empty: tuple[Item, ...] = ()


def place(ref: Ref[Any], setup: Setup, *, creates: bool) -> Flow[Placement]:
    """Where to write an item: under its current key, to which it is moved first, or in the first release of a changed key where it is.

    `creates` says whether the write stores an item if there is none.
    """
    if spec_of(ref.entity).key.writes_legacy:
        return (yield from _place_in_first_release(ref, setup, creates=creates))
    keys = yield from _emptied(ref, setup)
    # A write of an existing item cannot add a second copy.
    return Placement(ref.key, tuple(key for key, _ in keys) if creates else ())


def _place_in_first_release(ref: Ref[Any], setup: Setup, *, creates: bool) -> Flow[Placement]:
    spec = spec_of(ref.entity)
    if (yield from _stored(spec, ref.key, setup)) is not None:
        return Placement(ref.key)
    free: list[Item] = []
    for key in ref.legacy():
        item = yield from _stored(spec, key, setup)
        if item is None:
            free.append(key)
        elif (yield from read_older(item, ref, setup)) is not None:
            return Placement(key, (ref.key,))
    first = ref.legacy()[0]
    if first in free:
        return Placement(first, (ref.key, *(key for key in free if key != first)))
    if not creates:
        return Placement(ref.key)
    raise AlreadyExists(
        f"Another {spec.name} is stored under the legacy key of {ref}.",
        fix='Both can exist once writes="legacy" is removed from the key; until then, choose another key.',
    )


def migrate_to_current_key(ref: Ref[Any], setup: Setup) -> Flow[bool]:
    """Move an item from a legacy key to its current key; return whether it was moved."""
    return any(moved for _, moved in (yield from _emptied(ref, setup)))


def _emptied(ref: Ref[Any], setup: Setup) -> Flow[list[tuple[Item, bool]]]:
    """Move an item from its legacy keys to its current one. Returns the legacy keys without an item, and whether it was moved from there.

    Every write does this first, so that an item never exists under both keys.
    """
    spec = spec_of(ref.entity)
    empty: list[tuple[Item, bool]] = []
    for key in ref.legacy():
        while True:
            item = yield from _stored(spec, key, setup)
            if item is None:
                empty.append((key, False))
                break
            current = yield from read_older(item, ref, setup)
            if current is None:
                break
            if (yield from _moved(spec, item, current, setup)):
                empty.append((key, True))
                break
    return empty


def _moved(spec: Spec[Any], older: Item, entity: Any, setup: Setup) -> Flow[bool]:
    """Write the item under its current key and delete the old one, in one transaction; return False if the old one changed meanwhile."""
    name = setup.name_of(spec.table)
    put = {"TableName": name, "Item": spec.encode(entity), **_condition(missing(spec.table.hash))}
    delete = {"TableName": name, "Key": {part: older[part] for part in spec.table.attributes}, **_condition(unchanged(spec, older))}
    payload = {"TransactItems": [{"Put": put}, {"Delete": delete}], "ClientRequestToken": setup.token()}
    try:
        yield from retry_conflicts(Request("TransactWriteItems", payload, f"{spec.name}.move"), setup)
        return True
    except ServiceError as error:
        codes = [reason.get("Code") for reason in error.extra.get("CancellationReasons", ())]
        if "ConditionalCheckFailed" not in codes:
            raise
    if codes[0] != "ConditionalCheckFailed":
        return False
    # The current key already has an item, which is newer. Delete the old one, so that it does not reappear when the newer is deleted.
    try:
        yield from retry_conflicts(Request("DeleteItem", delete, f"{spec.name}.move"), setup)
        return True
    except ServiceError as error:
        if error.code != "ConditionalCheckFailedException":
            raise
        return False


def _stored(spec: Spec[Any], key: Item, setup: Setup) -> Flow[Item | None]:
    payload = {"TableName": setup.name_of(spec.table), "Key": key, "ConsistentRead": True}
    response = yield Request("GetItem", payload, f"{spec.name}.move")
    item: Item | None = response.get("Item")
    return item


def upgrade_item(spec: Spec[Any], write: Mapping[str, Any], item: Item | None, setup: Setup) -> Flow[bool]:
    """Rewrite an item in its current schema, if that may be why a write was refused; return True if the write should be retried.

    `write` are the parameters of the refused write, `item` is the stored item. Nothing is done unless the write requires the current schema
    and the item has an older one.
    """
    if not item or spec.table.schema not in write.get("ExpressionAttributeNames", {}).values() or schema_of(item, spec) >= spec.schema:
        return False
    current = yield from upcast_item(spec, item, setup)
    # If the item was changed meanwhile, nothing is replaced, and the write is retried on the changed item.
    yield from replace_unchanged(spec, item, current, setup, f"{spec.name}.upgrade")
    return True


def replace_unchanged(
    spec: Spec[Any], item: Item, current: Item, setup: Setup, pattern: str, options: dict[str, Any] | None = None
) -> Flow[Response | None]:
    """Re-encode an item and put it, on condition that it has not changed since it was read; return None if it has.

    `current` is the item in its current schema. `options` are further parameters of the request.
    """
    out = Placeholders()
    condition = unchanged(spec, item).render(out)
    instance = spec.decode(current if not spec.key.legacy or spec.key.fits(current) else with_current_key(current, spec))
    # In the first release of a changed key, the item stays under its legacy one.
    key = {name: item[name] for name in spec.table.attributes}
    payload: dict[str, Any] = {"TableName": setup.name_of(spec.table), "Item": spec.encode(instance) | key}
    payload |= {"ConditionExpression": condition, **out.parameters(), **(options or {})}
    try:
        response: Response = yield from retry_conflicts(Request("PutItem", payload, pattern), setup)
    except ServiceError as error:
        if error.code != "ConditionalCheckFailedException":
            raise
        return None
    return response


def empty_key_check(table: str, key: Item) -> dict[str, Any]:
    """The parameters of a ConditionCheck that no item has the key."""
    return {"TableName": table, "Key": key, **_condition(missing(next(iter(key))))}


def unchanged(spec: Spec[Any], item: Item) -> Condition:
    """The condition that an item has not changed since it was read: its attributes are equal, and no declared attribute was added.

    Checking the version is not enough: not every write increments it, and an older program may write without one.
    """
    known = {attribute.wire for attribute in spec.attributes.values()} | spec.derived_names
    # Counts change most often, so they come first, in case the number of comparisons exceeds the limit.
    wires = sorted(item, key=lambda wire: wire not in spec.counted_wires)
    same = [equals(wire, item[wire]) for wire in wires if wire not in spec.table.attributes]
    absent = [missing(wire) for wire in sorted(known - item.keys())]
    condition = all_of(exists(spec.table.hash), *[*same, *absent][:_MAX_COMPARISONS])
    assert condition is not None
    return condition


def _condition(condition: Any) -> dict[str, Any]:
    out = Placeholders()
    return {"ConditionExpression": condition.render(out), **out.parameters()}
