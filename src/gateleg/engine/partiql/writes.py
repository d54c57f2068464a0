"""Execution of INSERT, UPDATE and DELETE, which write one item by its key."""

from dataclasses import dataclass
from typing import Any, Final

import apsw

from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, condition_failed, validation
from gateleg.engine.expressions import And, Item, Node, Prepared, Test, Values, condition
from gateleg.engine.layout import Layout
from gateleg.engine.operations.item_change import ItemChange, check_item_size, check_paths
from gateleg.engine.partiql.commands import DeleteCommand, ExistsCommand, InsertCommand, UpdateCommand, Write
from gateleg.engine.partiql.select_plan import conjuncts, equality
from gateleg.engine.values import NESTED, canonicalize_item

KEY_MISMATCH: Final = "The provided key element does not match the schema"
NO_KEY: Final = "Where clause does not contain a mandatory equality on all key attributes"
_TOO_DEEP: Final = "Nesting Levels have exceeded supported limits"


@dataclass(slots=True)
class StatementWrite:
    """A write in progress: its command, its row, the key or item, and the condition on the current row."""

    command: Write
    change: ItemChange
    item: Item
    size: int
    test: Test | None
    values: Values
    return_failed: bool = False

    @property
    def row_id(self) -> tuple[int, bytes]:
        """Table id and row key."""
        return self.change.layout.table.id, self.change.key

    def refresh_layout(self, context: Context) -> None:
        """Start again if the table has been altered or created again since the statement was prepared."""
        layout = context.layout(self.command.target.table)
        if layout is not self.change.layout:
            fresh = prepare(layout, self.command, self.values)
            self.change, self.item, self.size, self.test = fresh.change, fresh.item, fresh.size, fresh.test

    def check(self, connection: apsw.Connection) -> None:
        """Read the row, check the condition and compute the new item."""
        change, command = self.change.read(connection), self.command
        if isinstance(command, InsertCommand):
            if change.old is not None:
                raise EngineError("DuplicateItemException", "Duplicate primary key exists in table")
            change.put(self.item, self.size)
            return
        if not self._row_allows_write():
            raise condition_failed(change.old if self.return_failed else None)
        if isinstance(command, UpdateCommand):
            try:
                change.update(self.item, command.update, {**self.values, **command.literals})
            except EngineError as error:
                if error.message == NESTED:
                    raise validation(_TOO_DEEP) from None
                raise

    def _row_allows_write(self) -> bool:
        """Whether the row allows the write: an UPDATE requires it to exist, a DELETE does not."""
        old = self.change.old
        if old is None and not isinstance(self.command, ExistsCommand):
            return isinstance(self.command, DeleteCommand)
        return self.test is None or self.test(old or {}, self.values)

    def store(self, context: Context, connection: apsw.Connection) -> None:
        """Write the row."""
        if not isinstance(self.command, ExistsCommand):
            self.change.store(context, connection)

    def returned(self) -> Item | None:
        """The attributes that RETURNING requests, or None."""
        command, change = self.command, self.change
        if not isinstance(command, UpdateCommand | DeleteCommand) or command.returning is None:
            return None
        image = change.old if "OLD" in command.returning else change.new
        if image is None or isinstance(command, DeleteCommand) or command.returning.startswith("ALL"):
            return image
        return command.update.written_paths(image) or None


def prepare(layout: Layout, command: Write, values: Values) -> StatementWrite:
    """Prepare a write as far as possible without the row."""
    if isinstance(command, InsertCommand):
        item, size = canonicalize_item(command.item)
        check_item_size(size)
        return StatementWrite(command, ItemChange(layout, layout.item_key(item)), item, size, None, values)
    if isinstance(command, ExistsCommand):
        key, rest = first_key(layout, command.where, values)
    else:
        key, rest = sole_key(layout, command.where, values)
    further = condition(rest[0] if len(rest) == 1 else And(tuple(rest))) if rest else None
    check_paths(layout, Prepared(values, condition=further, update=command.update if isinstance(command, UpdateCommand) else None))
    return StatementWrite(command, ItemChange(layout, layout.request_key(key)), key, 0, further.test if further else None, values)


def sole_key(layout: Layout, where: Node | None, values: Values) -> tuple[Item, list[Node]]:
    """The key that a condition names, and its other conditions; refuses two keys."""
    names = layout.table.keys.names
    key: Item = {}
    rest: list[Node] = []
    for part in conjuncts(where):
        found = equality(part, names, values)
        if found is None:
            rest.append(part)
        elif key.setdefault(found[0], found[1]) != found[1]:
            raise validation(f"Multiple conditions on same key {found[0]}. Only single item Update/Insert/Delete are supported")
    if len(key) != len(names):
        raise validation(NO_KEY)
    return key, rest


def first_key(layout: Layout, where: Node | None, values: Values) -> tuple[Item, list[Node]]:
    """The first key that a condition names, and its other conditions."""
    names = layout.table.keys.names
    key: Item = {}
    rest: list[Node] = []
    for part in conjuncts(where):
        found = equality(part, names, values)
        if found is None or key.setdefault(found[0], found[1]) != found[1]:
            rest.append(part)
    if len(key) != len(names) or not rest:
        raise validation("EXISTS() must contain a single item read with additional condition")
    return key, rest


def run(context: Context, write: StatementWrite) -> None:
    """Run one write in a transaction of its own."""
    with context.database.write() as connection:
        write.refresh_layout(context)
        write.check(connection)
        write.store(context, connection)


def response(write: StatementWrite, mode: str | None) -> dict[str, Any]:
    """The response of ExecuteStatement to a write."""
    returned = write.returned()
    response: dict[str, Any] = {"Items": [] if returned is None else [returned]}
    consumed = write.change.capacity(mode)
    if consumed is not None:
        response["ConsumedCapacity"] = consumed
    return response
