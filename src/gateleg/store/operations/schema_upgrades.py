"""Schema upgrades: an item of an older schema is stored in the present one before anything is written to it or asked of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.model.codec.upcasters import schema_of
from gateleg.model.expressions import Placeholders
from gateleg.store.backoff import settled
from gateleg.store.flow import Request
from gateleg.store.operations.entity_reads import brought_up_item
from gateleg.store.operations.legacy_keys import unchanged
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model import Item, Spec
    from gateleg.store.flow import Flow, Reply
    from gateleg.store.setup import Setup

__all__ = ["replace_unchanged", "upgrade_item"]


def upgrade_item(spec: Spec[Any], write: Mapping[str, Any], item: Item | None, setup: Setup) -> Flow[bool]:
    """Store the item that a refused write met in its present schema; whether that was in the write's way, so that it may succeed now.

    `write` are the parameters of the write. Only one that asks for the present schema has it in its way.
    """
    if not item or spec.table.schema not in write.get("ExpressionAttributeNames", {}).values() or schema_of(item, spec) >= spec.schema:
        return False
    current = yield from brought_up_item(spec, item, setup)
    # If the item was changed meanwhile, the write meets it as it is then.
    yield from replace_unchanged(spec, item, current, setup, f"{spec.name}.upgrade")
    return True


def replace_unchanged(
    spec: Spec[Any], item: Item, current: Item, setup: Setup, pattern: str, options: dict[str, Any] | None = None
) -> Flow[Reply | None]:
    """Put an item as it is written today, if it is still what was read; None when it is not. `current` is the item in its present schema.

    `options` are further members of the request.
    """
    out = Placeholders()
    condition = unchanged(spec, item).render(out)
    payload: dict[str, Any] = {"TableName": setup.name_of(spec.table), "Item": spec.encode(spec.decode(current))}
    payload |= {"ConditionExpression": condition, **out.parameters(), **(options or {})}
    try:
        reply: Reply = yield from settled(Request("PutItem", payload, pattern), setup)
    except ServiceError as error:
        if error.code != "ConditionalCheckFailedException":
            raise
        return None
    return reply
