"""The change of one item, which PutItem, UpdateItem, DeleteItem, batches and transactions share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import apsw
import orjson

from gateleg.engine import capacity, changelog, keys
from gateleg.engine.context import Context
from gateleg.engine.errors import condition_failed, invalid_parameter, validation
from gateleg.engine.expressions import CompiledCondition, CompiledUpdate, Prepared, Values
from gateleg.engine.expressions.attribute_names import MAX_NAME, check_attribute_names
from gateleg.engine.expressions.compare import equal
from gateleg.engine.layout import Layout
from gateleg.engine.operations.index_keys import check_request_values, check_updated_item
from gateleg.engine.values import MAX_ITEM_SIZE, Item, canonicalize, canonicalize_item, size, text_size

NO_SIZES: Final[Mapping[str, int]] = {}
UPDATE_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"


@dataclass(slots=True)
class ItemChange:
    """A write to one item: the row before, and the item after."""

    layout: Layout
    key: bytes
    stored: bytes | None = None
    old_size: int | None = None
    old: Item | None = None
    new: Item | None = None
    new_size: int = 0
    #: if known, the only attributes in which the new item may differ from the old one
    written_attributes: frozenset[str] | None = None
    #: whether it was written
    applied: bool = False

    def read(self, connection: apsw.Connection) -> "ItemChange":
        """Read the current row."""
        row = connection.execute(self.layout.get, (self.key,)).fetchone()
        if row is not None:
            self.old_size, self.stored = row
            self.old = orjson.loads(row[1])
        return self

    def check_condition(self, condition: CompiledCondition | None, values: Values, return_item: bool) -> None:
        """Fail unless the current item meets the condition."""
        if condition is not None and not condition.test(self.old or {}, values):
            raise condition_failed(self.old if return_item else None)

    def put(self, item: Item, bytes_: int) -> None:
        """Replace the item."""
        self.new, self.new_size = item, bytes_

    def update(self, key: Item, update: CompiledUpdate | None, values: Values, sizes: Mapping[str, int] = NO_SIZES) -> None:
        """Apply an update to the current item, or to the bare key if the item does not exist.

        `sizes` are the known sizes of values.
        """
        if self.old is None and update is not None and not update.creates_item:
            return
        item = self.old if self.old is not None else key
        if update is not None:
            item = update.apply(item, values, exists=self.old is not None)
            self.written_attributes = update.attributes
            if self.layout.indexes:
                check_updated_item(self.layout, update, item)
        self.new, self.new_size = self._measure(item, update, sizes)
        if self.new_size > MAX_ITEM_SIZE:
            raise validation(UPDATE_TOO_LARGE)

    def _measure(self, item: Item, update: CompiledUpdate | None, sizes: Mapping[str, int]) -> tuple[Item, int]:
        """The updated item, validated, and its size, computed from the written attributes only."""
        if self.old is None or self.old_size is None or update is None:
            return canonicalize_item(item)
        total, old, writes_nested, given = self.old_size, self.old, update.writes_nested, update.placeholders
        for name in update.attributes:
            before, after = old.get(name), item.get(name)
            if before is after:
                continue
            if before is None:
                total += len(name) if name.isascii() else text_size(name)
            else:
                # Most attributes are short ASCII strings, for which the calls would cost more than the work.
                text = before.get("S")
                total -= len(text) if text is not None and text.isascii() else size(before)
            if after is None:
                total -= len(name) if name.isascii() else text_size(name)
            elif writes_nested:
                total += canonicalize(after, 0)[1]
            else:
                text = after.get("S")
                if text is not None and text.isascii():
                    total += len(text)
                else:
                    total += (sizes.get(given[name]) if name in given else None) or size(after)
        return item, total

    def store(self, context: Context, connection: apsw.Connection, by_service: bool = False) -> None:
        """Write the row, its index entries and, for streams and recovery, the change log."""
        layout = self.layout
        if self.new is None and self.old is None:
            return
        logged = layout.table.logged
        if logged and self._is_unchanged():
            return
        layout.write(connection, self.key, self.old, self.new, self.new_size, self.written_attributes)
        self.applied = True
        if logged:
            new = orjson.dumps(self.new) if self.new is not None else None
            changelog.append(connection, layout.table.id, context.now(), self.key, self.stored, new, by_service)

    def _is_unchanged(self) -> bool:
        """Whether the item stays the same, regardless of the order of set members."""
        return self.old is not None and self.new is not None and equal({"M": self.old}, {"M": self.new})

    @property
    def charged(self) -> tuple[str, int]:
        """The table's name and the larger of the two item sizes, which a transaction is charged for."""
        return self.layout.table.name, max(self.old_size or 0, self.new_size)

    def capacity(self, mode: str | None, factor: int = 1) -> dict[str, Any] | None:
        """The ConsumedCapacity of the write, if the request asked for it."""
        if mode not in {"TOTAL", "INDEXES"}:
            return None
        indexes = self.layout.index_writes(self.old, self.new) if self.applied else []
        return capacity.write_capacity(mode, self.layout.table, self.old_size, self.new_size, indexes, factor)


def check_item(item: Item, bytes_: int) -> None:
    """Refuse an item that is too large or has an attribute name that is empty or too long."""
    if "" in item or bytes_ > MAX_NAME:
        check_attribute_names(item)
    check_item_size(bytes_)


def check_item_size(bytes_: int) -> None:
    """Refuse an item over DynamoDB's limit of 400 KB."""
    if bytes_ > MAX_ITEM_SIZE:
        raise validation("Item size has exceeded the maximum allowed size")


def check_expression_size(prepared: Prepared) -> None:
    """Refuse an update expression that exceeds the item size limit by itself; only UpdateItem checks this."""
    update = prepared.update
    if update is not None and update.expression_size is not None and update.expression_size.exceeds(prepared.values, prepared.size):
        raise validation(UPDATE_TOO_LARGE)


def check_paths(layout: Layout, prepared: Prepared) -> None:
    """Refuse updates of the table's key, values of a wrong type for an index key, and document paths into key attributes."""
    update, condition = prepared.update, prepared.condition
    if update is not None:
        for name in layout.table.keys.names:
            if name in update.attributes:
                raise invalid_parameter(f"Cannot update attribute {name}. This attribute is part of the key")
        check_request_values(layout, update, prepared.values)
        if update.nested:
            layout.check_scalar(update.nested)
    if condition is not None and condition.nested:
        layout.check_scalar(condition.nested)


def collection_metrics(context: Context, layout: Layout, item: Item) -> dict[str, Any] | None:
    """ItemCollectionMetrics of an item's partition; None in tables without LSIs."""
    table = layout.table
    if not any(index.kind == "LSI" for index in table.indexes):
        return None
    attribute = table.keys.hash[0]
    prefix = keys.partition_prefix(table.keys.hash, [item[attribute.name][attribute.type]])
    row = context.database.row(
        f"SELECT coalesce(sum(size), 0) FROM {layout.name} WHERE k >= ? AND k < ?", (prefix, keys.prefix_end(prefix))
    )
    gigabytes = (row[0] if row else 0) / 2**30
    return {
        "ItemCollectionKey": {attribute.name: item[attribute.name]},
        "SizeEstimateRangeGB": [float(int(gigabytes)), float(int(gigabytes) + 1)],
    }
