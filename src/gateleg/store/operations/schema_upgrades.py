"""Schema upgrades: an item of an older schema is rewritten in the current one before an update or condition is applied to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.model.codec.upcasters import schema_of
from gateleg.model.expressions import Placeholders
from gateleg.store.backoff import retry_conflicts
from gateleg.store.flow import Request
from gateleg.store.operations.entity_reads import upcast_item
from gateleg.store.operations.legacy_keys import unchanged, with_current_key
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model import Item, Spec
    from gateleg.store.flow import Flow, Response
    from gateleg.store.setup import Setup

__all__ = ["replace_unchanged", "upgrade_item"]


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
