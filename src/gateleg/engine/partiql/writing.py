"""Running an INSERT, UPDATE or DELETE: one item, found by its key."""

from dataclasses import dataclass
from typing import Any, Final

import apsw

from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, condition_failed, validation
from gateleg.engine.expressions import And, Item, Node, Prepared, Test, Values, condition
from gateleg.engine.layout import Layout
from gateleg.engine.operations.writing import Change, check_item_size, check_paths
from gateleg.engine.partiql.commands import Check, Create, Erase, Modify, Write
from gateleg.engine.partiql.planning import conjuncts, equality
from gateleg.engine.values import NESTED, examine_item

KEY_MISMATCH: Final = "The provided key element does not match the schema"
NO_KEY: Final = "Where clause does not contain a mandatory equality on all key attributes"
_TOO_DEEP: Final = "Nesting Levels have exceeded supported limits"


@dataclass(slots=True)
class Step:
    """A write on its way: what it does, its row, the key or item it begins with, and the condition on the row as it stands."""

    command: Write
    change: Change
    item: Item
    size: int
    test: Test | None
    values: Values
    return_failed: bool = False

    @property
    def place(self) -> tuple[int, bytes]:
        """The table and the key that the write is about."""
        return self.change.layout.table.id, self.change.key

    def renew(self, context: Context) -> None:
        """Begin anew if the table is another by now: others may have altered it before they were shut out, or made it with another key."""
        layout = context.layout(self.command.target.table)
        if layout is not self.change.layout:
            fresh = prepare(layout, self.command, self.values)
            self.change, self.item, self.size, self.test = fresh.change, fresh.item, fresh.size, fresh.test

    def check(self, connection: apsw.Connection) -> None:
        """Look at the row, and settle what it shall become."""
        change, command = self.change.read(connection), self.command
        if isinstance(command, Create):
            if change.old is not None:
                raise EngineError("DuplicateItemException", "Duplicate primary key exists in table")
            change.put(self.item, self.size)
            return
        if not self._holds():
            raise condition_failed(change.old if self.return_failed else None)
        if isinstance(command, Modify):
            try:
                change.update(self.item, command.update, {**self.values, **command.literals})
            except EngineError as error:
                if error.message == NESTED:
                    raise validation(_TOO_DEEP) from None
                raise

    def _holds(self) -> bool:
        """Whether the row allows the write: an UPDATE needs one, a DELETE of nothing is done already."""
        old = self.change.old
        if old is None and not isinstance(self.command, Check):
            return isinstance(self.command, Erase)
        return self.test is None or self.test(old or {}, self.values)

    def store(self, context: Context, connection: apsw.Connection) -> None:
        """Write the row."""
        if not isinstance(self.command, Check):
            self.change.store(context, connection)

    def returned(self) -> Item | None:
        """What RETURNING asks for; nothing if there is none of it."""
        command, change = self.command, self.change
        if not isinstance(command, Modify | Erase) or command.returning is None:
            return None
        image = change.old if "OLD" in command.returning else change.new
        if image is None or isinstance(command, Erase) or command.returning.startswith("ALL"):
            return image
        return command.update.touched(image) or None


def prepare(layout: Layout, command: Write, values: Values) -> Step:
    """A write of this table, checked as far as it can be without the row."""
    if isinstance(command, Create):
        item, size = examine_item(command.item)
        check_item_size(size)
        return Step(command, Change(layout, layout.item_key(item)), item, size, None, values)
    if isinstance(command, Check):
        key, rest = first_key(layout, command.where, values)
    else:
        key, rest = sole_key(layout, command.where, values)
    further = condition(rest[0] if len(rest) == 1 else And(tuple(rest))) if rest else None
    check_paths(layout, Prepared(values, condition=further, update=command.update if isinstance(command, Modify) else None))
    return Step(command, Change(layout, layout.request_key(key)), key, 0, further.test if further else None, values)


def sole_key(layout: Layout, where: Node | None, values: Values) -> tuple[Item, list[Node]]:
    """The key that a condition names, and what else it asks; naming two keys is refused."""
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
    """The key that a condition names first, and what else it asks."""
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


def run(context: Context, step: Step) -> None:
    """Do one write, in a transaction of its own."""
    with context.database.write() as connection:
        step.renew(context)
        step.check(connection)
        step.store(context, connection)


def answered(step: Step, mode: str | None) -> dict[str, Any]:
    """A write as ExecuteStatement answers it."""
    returned = step.returned()
    answer: dict[str, Any] = {"Items": [] if returned is None else [returned]}
    consumed = step.change.capacity(mode)
    if consumed is not None:
        answer["ConsumedCapacity"] = consumed
    return answer
