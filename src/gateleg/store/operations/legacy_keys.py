"""Legacy keys: items under an older form of their key are read from there, and moved to the current key by the first write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.model import spec_of
from gateleg.model.expressions import Placeholders, all_of, equals, exists, missing
from gateleg.store.backoff import settled
from gateleg.store.flow import Request
from gateleg.store.operations.entity_reads import read_older
from gateleg.store.operations.legacy_forms import with_present_key
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from gateleg.model import Condition, Item, Ref, Spec
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["migrate_to_current_key", "unchanged", "with_present_key"]

#: A condition has at most 300 operators, the words between its parts among them.
_COMPARED = 149


def migrate_to_current_key(ref: Ref[Any], setup: Setup) -> Flow[bool]:
    """Move an item that still lies under an older key to the one it has today; whether there was one.

    Every write does this first, so that the older item is never left beside a new one.
    """
    spec, moved = spec_of(ref.entity), False
    for key in ref.legacy():
        payload = {"TableName": setup.name_of(spec.table), "Key": key, "ConsistentRead": True}
        reply = yield Request("GetItem", payload, f"{spec.name}.move")
        while "Item" in reply and (found := (yield from read_older(reply["Item"], ref, setup))) is not None:
            if (yield from _moved(spec, reply["Item"], found, setup)):
                moved = True
                break
            reply = yield Request("GetItem", payload, f"{spec.name}.move")
    return moved


def _moved(spec: Spec[Any], older: Item, found: Any, setup: Setup) -> Flow[bool]:
    """Write the item under its present key and delete the older one, together; False if the older one was changed meanwhile."""
    name = setup.name_of(spec.table)
    put = {"TableName": name, "Item": spec.encode(found), **_condition(missing(spec.table.hash))}
    delete = {"TableName": name, "Key": {part: older[part] for part in spec.table.attributes}, **_condition(unchanged(spec, older))}
    payload = {"TransactItems": [{"Put": put}, {"Delete": delete}], "ClientRequestToken": setup.token()}
    try:
        yield from settled(Request("TransactWriteItems", payload, f"{spec.name}.move"), setup)
        return True
    except ServiceError as error:
        codes = [reason.get("Code") for reason in error.extra.get("CancellationReasons", ())]
        if "ConditionalCheckFailed" not in codes:
            raise
    if codes[0] != "ConditionalCheckFailed":
        return False
    # There is an item under the present key: it is the newer one, and the older must not come back when that is deleted.
    try:
        yield from settled(Request("DeleteItem", delete, f"{spec.name}.move"), setup)
        return True
    except ServiceError as error:
        if error.code != "ConditionalCheckFailedException":
            raise
        return False


def unchanged(spec: Spec[Any], item: Item) -> Condition:
    """That an item is still the one that was read: all of it is as it was, and nothing that the entity knows of has come.

    Its version alone would not tell: not every write of an item moves it, and an older program may write without one.
    """
    known = {attribute.wire for attribute in spec.attributes.values()} | spec.derived_names
    # Counts change most often, so they are among what is compared however many attributes there are.
    wires = sorted(item, key=lambda wire: wire not in spec.counted_wires)
    same = [equals(wire, item[wire]) for wire in wires if wire not in spec.table.attributes]
    absent = [missing(wire) for wire in sorted(known - item.keys())]
    condition = all_of(exists(spec.table.hash), *[*same, *absent][:_COMPARED])
    assert condition is not None
    return condition


def _condition(condition: Any) -> dict[str, Any]:
    out = Placeholders()
    return {"ConditionExpression": condition.render(out), **out.parameters()}
