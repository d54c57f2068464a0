"""How full a page is: DynamoDB measures pages by the form in which it stores items, which is not the size that it bills.

In that form a name takes one byte, values carry their lengths, and each 3 KB of an item carry some bytes and its range key again.
"""

from typing import Any, Final

import orjson

from gateleg.engine.values import Item, size

PAGE_BYTES: Final = 1024 * 1024
#: Items below this count with their size: their form moves the end of a page by less than an item or two.
LARGE: Final = 4096
#: Below this no page is full, however its items are stored.
NEVER_FULL: Final = PAGE_BYTES // 2

_CHUNK: Final = 3072
_CHUNK_HEAD: Final = 18
_HEAD: Final = 2


class Meter:
    """Tells when a page is full. Rows that are not `LARGE` need not be shown to it while `NEVER_FULL` is not reached."""

    __slots__ = ("_excess", "_range", "_waiting")

    def __init__(self, range_: str | None) -> None:
        self._range = range_
        self._waiting: list[tuple[int, bytes]] = []
        self._excess = 0

    def full(self, bytes_: int, stored: bytes, total: int) -> bool:
        """Whether the page is full with this row, of so many bytes; `total` bytes with all before it."""
        if bytes_ >= LARGE:
            self._waiting.append((bytes_, stored))
        if total < NEVER_FULL:
            return False
        for counted, row in self._waiting:
            self._excess += footprint(orjson.loads(row), self._range) - counted
        self._waiting.clear()
        return total + self._excess >= PAGE_BYTES


def footprint(item: Item, range_: str | None) -> int:
    """Bytes of a page that an item takes; `range_` is the name of the table's range key."""
    repeated = _CHUNK_HEAD
    content = 0
    for name, value in item.items():
        if name == range_:
            repeated += size(value)
        else:
            content += 1 + _stored(value)
    return _HEAD + content + (1 + (1 + content) // _CHUNK) * repeated


def _stored(value: dict[str, Any]) -> int:
    ((tag, content),) = value.items()
    if tag == "S":
        bytes_ = size(value)
        return bytes_ + (1 if bytes_ < 128 else 2 if bytes_ < 16384 else 3)
    if tag in ("N", "B"):
        return size(value) + 1
    if tag in ("SS", "NS", "BS"):
        return size(value) + len(content) + 1
    if tag == "L":
        return 3 + sum(1 + _stored(member) for member in content)
    if tag == "M":
        return 3 + sum(2 + _stored(member) for member in content.values())
    return 1 if tag == "BOOL" else 0
