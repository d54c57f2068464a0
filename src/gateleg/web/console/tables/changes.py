"""Changes of items on behalf of the caller: permission, conditional write, audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.host.errors import NotAllowed
from gateleg.host.item_keys import key_text
from gateleg.web.console.tables import item_writes
from gateleg.web.console.tables.documents import readable, same, why_not_change

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gateleg.model import Item, Spec, Table
    from gateleg.web.console.frame import View
    from gateleg.web.console.tables.documents import ParsedDocument


def _allow(view: View, table: Table) -> None:
    why = why_not_change(view.principal, table.name)
    if why:
        raise NotAllowed(why)


async def _note(view: View, action: str, table: Table, item: Item, **details: Any) -> None:
    await view.host.audit.note(view.principal, action, f"{table.name} {key_text(table, item)}", **details)


async def save_item(view: View, spec: Spec[Any], item: Item, before: BaseModel, after: BaseModel) -> Any:
    """Write the changed fields of an item, and return the instance."""
    _allow(view, spec.table)
    stored = await item_writes.save(view.host.store, spec, item, before, after)
    changed = [name for name in spec.attributes if before.__dict__[name] != after.__dict__[name]]
    await _note(view, "item.change", spec.table, item, attributes=changed)
    return stored


async def save_document(view: View, table: Table, item: Item, written: ParsedDocument) -> None:
    """Write an item that was edited as DynamoDB JSON."""
    _allow(view, table)
    before = readable(written.spec, item) if written.spec is not None else None
    if written.spec is not None and before is not None:
        await item_writes.replace(view.host.store, written.spec, item, before, written.instance)
    else:
        # The markers and counters of an item that cannot be decoded are unknown, so it is written as it is.
        await item_writes.change_raw(view.host.store, table, item, written.item)
    names = sorted(name for name in item.keys() | written.item.keys() if not same(item.get(name), written.item.get(name)))
    await _note(view, "item.change", table, item, attributes=names)


async def create_item(view: View, spec: Spec[Any], instance: BaseModel) -> Any:
    """Create an item, and return the instance."""
    _allow(view, spec.table)
    stored = await view.host.store.create(instance)
    await _note(view, "item.create", spec.table, spec.ref(stored).key, entity=spec.name)
    return stored


async def create_document(view: View, table: Table, written: ParsedDocument) -> Item:
    """Create an item from DynamoDB JSON."""
    if written.spec is not None:
        stored = await create_item(view, written.spec, written.instance)
        return written.spec.encode(stored)
    _allow(view, table)
    await item_writes.create_raw(view.host.store, table, written.item)
    await _note(view, "item.create", table, written.item)
    return written.item


async def delete_item(view: View, table: Table, item: Item) -> None:
    """Delete an item if it is unchanged. One that its entity cannot decode is deleted as it is."""
    _allow(view, table)
    spec = table.spec_for(item)
    instance = readable(spec, item) if spec is not None else None
    if spec is not None and instance is not None:
        await item_writes.remove(view.host.store, spec, item, instance)
    else:
        await item_writes.remove_raw(view.host.store, table, item)
    await _note(view, "item.delete", table, item)
