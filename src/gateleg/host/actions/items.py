"""What may be done to items: create, change and delete, on the condition that nobody else has changed them meanwhile.

An item of a declared entity is validated by it, and written with its derived keys, unique values and counters. An item that no entity
declares is written as it is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self
from urllib.parse import quote

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from gateleg.host import item_writes
from gateleg.host.actions.action import Action, BulkAction, BulkReply, BulkResult, RefusedTargetReply
from gateleg.host.errors import Refusal, Unknown
from gateleg.host.item_keys import key_of, key_text, key_words, valid_key
from gateleg.host.item_writes import WriteConflict
from gateleg.host.items import (
    check_changeable,
    check_document,
    check_readable,
    etag_of,
    find_table,
    read_item,
    readable,
    same,
    visible,
    with_values,
)
from gateleg.host.principal import Role
from gateleg.model.tables import is_marker
from gateleg.store import AlreadyExists

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.host.actions.action import ActionCall
    from gateleg.model import Item, Spec, Table

__all__ = [
    "ITEM_ACTIONS",
    "ChangeItem",
    "CreateItem",
    "InvalidItem",
    "ItemKey",
    "ItemReply",
    "ItemTarget",
    "ItemToDelete",
    "ItemsToDelete",
    "WrittenItem",
    "change_item",
    "create_item",
    "delete_item",
    "delete_items",
    "stored_item",
]

#: The most items that one bulk deletes.
MAX_ITEMS = 1000


def _object(value: Any) -> Any:
    """The JSON object of an option on the command line."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _text(value: Any) -> Any:
    """A key as text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if isinstance(value, dict) else value


JsonObject = Annotated[dict[str, Any], BeforeValidator(_object)]
Key = Annotated[str, BeforeValidator(_text, json_schema_input_type=str | dict[str, Any]), Field(min_length=2, max_length=4000)]
Etag = Annotated[str, Field(max_length=100)]


class TableItems(BaseModel):
    """The items of a table."""

    model_config = ConfigDict(extra="forbid")

    table: str = Field(min_length=1, max_length=255, description="The table's name.")


class ItemTarget(TableItems):
    """An item of a table."""

    key: str = Field(
        min_length=2, max_length=4000, description='Its key attributes as a JSON object: {"pk": {"S": "A"}}, or short {"pk": "A"}.'
    )


class CreateItem(TableItems):
    """A new item: the attributes of an entity, or DynamoDB JSON."""

    entity: str | None = Field(default=None, max_length=200, description="Its entity, if the table has several.")
    values: JsonObject | None = Field(default=None, description="The attributes of its entity by their names, as a JSON object.")
    item: JsonObject | None = Field(default=None, description="The whole item in DynamoDB JSON, instead of `values`.")

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        _check_one_form(self.values, self.item)
        return self


class ChangeItem(ItemTarget):
    """Changes of an item: some attributes of its entity, or all of it in DynamoDB JSON."""

    values: JsonObject | None = Field(default=None, description="The changed attributes by their names; null removes one.")
    item: JsonObject | None = Field(default=None, description="The whole changed item in DynamoDB JSON, instead of `values`.")
    etag: Etag | None = Field(default=None, description="The ETag of the item as it was read: refused if it has changed since.")

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        _check_one_form(self.values, self.item)
        return self


class ItemToDelete(ItemTarget):
    """An item to delete."""

    etag: Etag | None = Field(default=None, description="The ETag of the item as it was read: refused if it has changed since.")


class ItemKey(BaseModel):
    """The key of an item, and its ETag if it is to be as it was read."""

    model_config = ConfigDict(extra="forbid")

    key: Key = Field(description='The key attributes: {"pk": {"S": "A"}}, or short {"pk": "A"}.')
    etag: Etag | None = None


class ItemsToDelete(TableItems):
    """Items to delete, by their keys."""

    items: list[Annotated[ItemKey, BeforeValidator(lambda value: {"key": value} if isinstance(value, str) else value)]] = Field(
        min_length=1, max_length=MAX_ITEMS, description="The keys of the items."
    )


def _check_one_form(values: object, item: object) -> None:
    if (values is None) == (item is None):
        raise ValueError("send either `values` or `item`")


class InvalidItem(Refusal):
    """An item does not fit its table. `details["problems"]` has the reasons by attribute; under the empty name that of the whole item."""

    code = "invalid-item"
    status = 422
    fix = "Correct these attributes."

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        sentences = [f"{name}: {text}" if name else text for name, text in problems.items()]
        super().__init__(" ".join(sentences), details={"problems": self.problems})


@dataclass(frozen=True)
class WrittenItem:
    """An item that was created, changed or deleted."""

    table: Table
    item: Item
    spec: Spec[Any] | None = None
    #: the names of what was changed
    attributes: tuple[str, ...] = ()

    def words(self, what: str) -> str:
        """What was done to it."""
        return f"The item {key_words(self.table, self.item)} of {self.table.name} is {what}"


class ItemReply(BaseModel):
    """An item as it is stored, without hidden attributes."""

    table: str
    key: dict[str, Any] = Field(description="Its key, in DynamoDB JSON.")
    entity: str | None = Field(description="Its entity; null if no entity of the table has such a key.")
    values: dict[str, Any] | None = Field(description="Its attributes by their names; null if its entity cannot read it.")
    item: dict[str, Any] = Field(description="It in DynamoDB JSON.")
    etag: str = Field(description="Send it as `If-Match` to change or delete the item only as it is now.")

    @classmethod
    def of(cls, written: WrittenItem) -> ItemReply:
        """An item that was read or written."""
        table, item = written.table, written.item
        spec = table.spec_for(item)
        instance = None if spec is None else readable(spec, item)
        return cls(
            table=table.name,
            key=key_of(table, item),
            entity=None if spec is None else spec.name,
            values=None if instance is None else instance.model_dump(mode="json", exclude_none=True),
            item=visible(table, item),
            etag=etag_of(table, item),
        )


class DeletedItems(BulkReply):
    """The keys of the items that were deleted, and those for which it was refused."""

    deleted: list[dict[str, Any]]

    @classmethod
    def of(cls, result: BulkResult[Any]) -> DeletedItems:
        """The result of a bulk."""
        return cls(
            deleted=[key_of(written.table, written.item) for written in result.done],
            refused=[RefusedTargetReply.of(refused) for refused in result.refused],
        )


async def stored_item(call: ActionCall, given: ItemTarget) -> WrittenItem:
    """An item as it is stored, for callers who may view it. Raises `Unknown` if there is none."""
    check_readable(call.principal, given.table)
    table = await find_table(call.host.store, call.host.tables, given.table)
    check_readable(call.principal, table.name)
    return WrittenItem(table, await _stored(call, table, given.key))


async def _stored(call: ActionCall, table: Table, text: str) -> Item:
    key = valid_key(table, text)
    item = await read_item(call.host.store, table, key)
    if item is None or is_marker(table, item):
        raise Unknown(f"{table.name} has no item {key_words(table, key)}.", fix="It may have been deleted, or the key may be incomplete.")
    return item


async def _changeable(call: ActionCall, given: TableItems) -> Table:
    check_changeable(call.principal, given.table)
    table = await find_table(call.host.store, call.host.tables, given.table)
    check_changeable(call.principal, table.name)
    return table


async def _as_it_was_read(call: ActionCall, given: ChangeItem | ItemToDelete) -> WrittenItem:
    """The stored item, if it still has the ETag with which it was read. One that was deleted since is a conflict too."""
    table = await _changeable(call, given)
    try:
        item = await _stored(call, table, given.key)
    except Unknown:
        if given.etag is None:
            raise
        raise WriteConflict(table, None) from None
    if given.etag not in (None, "*", etag_of(table, item)):
        raise WriteConflict(table, item)
    return WrittenItem(table, item)


def _entity_of(table: Table, name: str | None) -> Spec[Any]:
    spec = next((spec for spec in table.specs if name in (None, spec.name)), None)
    if spec is None or (name is None and len(table.specs) > 1):
        declared = ", ".join(spec.name for spec in table.specs)
        problem = f"{table.name} declares {declared}; say which one." if declared else f"{table.name} declares no entity; send `item`."
        raise InvalidItem({"entity" if declared else "": problem})
    return spec


def _written(table: Table, content: dict[str, Any], before: Item | None = None) -> tuple[Item, Any, Spec[Any] | None]:
    document = check_document(table, content, before)
    if document.problem:
        raise InvalidItem({"": document.problem})
    if is_marker(table, document.item):
        raise InvalidItem({"": "Such a key marks a unique value, and is written with the item that has the value."})
    return document.item, document.instance, document.spec


async def _create(call: ActionCall, given: CreateItem) -> WrittenItem:
    store, table = call.host.store, await _changeable(call, given)
    if given.item is not None:
        item, instance, spec = _written(table, given.item)
    else:
        spec = _entity_of(table, given.entity)
        result = with_values(spec, given.values or {})
        if result.problems:
            raise InvalidItem(result.problems)
        item, instance = {}, result.instance
    if spec is not None:
        key = spec.ref(await store.create(instance)).key
    else:
        key = key_of(table, item)
        try:
            await item_writes.create_raw(store, table, item)
        except WriteConflict:
            raise AlreadyExists(f"{table.name} has an item {key_words(table, key)} already.") from None
    return WrittenItem(table, await read_item(store, table, key) or item or key, spec)


create_item = Action(
    name="item.create",
    title="Create",
    help="Create an item: the attributes of an entity, which validates them, or DynamoDB JSON. Refused if an item has its key.",
    role=Role.OPERATOR,
    input=CreateItem,
    run=_create,
    http="POST /api/tables/{table}/items",
    command="tables items create",
    target=lambda given, written: f"{written.table.name} {key_text(written.table, written.item)}",
    details=lambda given, written: {"entity": None if written.spec is None else written.spec.name},
    reply=ItemReply.of,
    reply_type=ItemReply,
    made=lambda written: f"/api/tables/{quote(written.table.name)}/items/{quote(key_text(written.table, written.item), safe='')}",
    done=lambda written: written.words("created"),
)


async def _change(call: ActionCall, given: ChangeItem) -> WrittenItem:
    store, stored = call.host.store, await _as_it_was_read(call, given)
    table, before = stored.table, stored.item
    if given.item is not None:
        attributes = await _replace(call, table, before, given.item)
    else:
        attributes = await _save(call, table, before, given.values or {})
    return WrittenItem(table, await read_item(store, table, key_of(table, before)) or before, table.spec_for(before), attributes)


async def _save(call: ActionCall, table: Table, item: Item, values: dict[str, Any]) -> tuple[str, ...]:
    """Change some attributes. Returns their names."""
    spec = table.spec_for(item)
    before = None if spec is None else readable(spec, item)
    if spec is None or before is None:
        raise InvalidItem({"": f"No entity of {table.name} can read this item: send the whole `item`."})
    result = with_values(spec, values, before)
    if result.problems:
        raise InvalidItem(result.problems)
    await item_writes.save(call.host.store, spec, item, before, result.instance)
    return tuple(name for name in spec.attributes if before.__dict__[name] != result.instance.__dict__[name])


async def _replace(call: ActionCall, table: Table, before: Item, content: dict[str, Any]) -> tuple[str, ...]:
    """Replace an item as a whole. Returns the names of the attributes that differ."""
    item, instance, spec = _written(table, content, before)
    names = tuple(sorted(name for name in before.keys() | item.keys() if not same(before.get(name), item.get(name))))
    if not names:
        return ()
    old = None if spec is None else readable(spec, before)
    if spec is not None and old is not None:
        await item_writes.replace(call.host.store, spec, before, old, instance)
    else:
        # The markers and counters of an item that cannot be decoded are unknown, so it is written as it is.
        await item_writes.change_raw(call.host.store, table, before, item)
    return names


change_item = Action(
    name="item.change",
    title="Save",
    help="Change some attributes of an item, or all of it. Refused if somebody else has changed it since it was read.",
    role=Role.OPERATOR,
    input=ChangeItem,
    run=_change,
    http="PATCH /api/tables/{table}/items/{key:path}",
    if_match="etag",
    command="tables items change",
    target=lambda given, written: f"{written.table.name} {key_text(written.table, written.item)}",
    details=lambda given, written: {"attributes": list(written.attributes)},
    changed=lambda written: bool(written.attributes),
    reply=ItemReply.of,
    reply_type=ItemReply,
    done=lambda written: written.words("changed") if written.attributes else written.words("as before"),
)


async def _delete(call: ActionCall, given: ItemToDelete) -> WrittenItem:
    stored = await _as_it_was_read(call, given)
    table, item = stored.table, stored.item
    spec = table.spec_for(item)
    instance = None if spec is None else readable(spec, item)
    if spec is not None and instance is not None:
        await item_writes.remove(call.host.store, spec, item, instance)
    else:
        # One that its entity cannot decode is deleted as it is.
        await item_writes.remove_raw(call.host.store, table, item)
    return stored


delete_item = Action(
    name="item.delete",
    title="Delete",
    help="Delete an item. Refused if somebody else has changed it since it was read. Only a backup can restore it.",
    role=Role.OPERATOR,
    input=ItemToDelete,
    run=_delete,
    http="DELETE /api/tables/{table}/items/{key:path}",
    if_match="etag",
    command="tables items delete",
    target=lambda given, written: f"{written.table.name} {key_text(written.table, written.item)}",
    done=lambda written: written.words("deleted"),
    asks="It is deleted with all its attributes. Only a backup can restore it.",
    dangerous=True,
)


async def _chosen(call: ActionCall, given: ItemsToDelete) -> list[ItemToDelete]:
    """The items of a bulk, each once. A key that is not valid refuses all of them."""
    table = await _changeable(call, given)
    chosen = {key_text(table, valid_key(table, entry.key)): entry.etag for entry in given.items}
    return [ItemToDelete(table=given.table, key=key, etag=etag) for key, etag in chosen.items()]


delete_items = BulkAction(
    of=delete_item,
    title="Delete",
    help="Delete the items with these keys. One that somebody else has changed since it was read is refused; the others are deleted.",
    input=ItemsToDelete,
    select=_chosen,
    http="POST /api/tables/{table}/items/delete",
    command="tables items delete",
    verb="deleted",
    name_of=lambda given: given.key,
    choices=("items",),
    reply=DeletedItems.of,
    reply_type=DeletedItems,
    asks="They are deleted with all their attributes. Only a backup can restore them.",
).action

ITEM_ACTIONS = (create_item, change_item, delete_item, delete_items)
