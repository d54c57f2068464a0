"""Legacy keys: items are found under them, and the first write moves an item to its current key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.model import spec_of
from gateleg.model.expressions import Placeholders, all_of, equals, exists, missing
from gateleg.store.backoff import retry_conflicts
from gateleg.store.flow import Request
from gateleg.store.operations.entity_reads import read_older
from gateleg.store.operations.legacy_forms import with_current_key
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from gateleg.model import Condition, Item, Ref, Spec
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["migrate_to_current_key", "unchanged", "with_current_key"]

#: DynamoDB allows 300 operators in a condition, including AND.
_MAX_COMPARISONS = 149


def migrate_to_current_key(ref: Ref[Any], setup: Setup) -> Flow[bool]:
    """Move an item from a legacy key to its current key; return whether it was moved.

    Every write does this first, so that an item never exists under both keys.
    """
    spec, moved = spec_of(ref.entity), False
    for key in ref.legacy():
        payload = {"TableName": setup.name_of(spec.table), "Key": key, "ConsistentRead": True}
        response = yield Request("GetItem", payload, f"{spec.name}.move")
        while "Item" in response and (found := (yield from read_older(response["Item"], ref, setup))) is not None:
            if (yield from _moved(spec, response["Item"], found, setup)):
                moved = True
                break
            response = yield Request("GetItem", payload, f"{spec.name}.move")
    return moved


def _moved(spec: Spec[Any], older: Item, found: Any, setup: Setup) -> Flow[bool]:
    """Write the item under its current key and delete the old one, in one transaction; return False if the old one changed meanwhile."""
    name = setup.name_of(spec.table)
    put = {"TableName": name, "Item": spec.encode(found), **_condition(missing(spec.table.hash))}
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
