"""Page limits: DynamoDB measures a page by its storage format, not by the size that it bills.

In that format a name takes one byte, values carry their lengths, and each 3 KB of an item carry a header and its range key again.
"""

from typing import Any, Final

import orjson

from gateleg.engine.values import Item, size

PAGE_BYTES: Final = 1024 * 1024
#: Smaller items count with their billed size: the difference moves the end of a page by an item or two at most.
LARGE_ITEM_BYTES: Final = 4096
#: No page below this is full, whatever its items.
NEVER_FULL_BYTES: Final = PAGE_BYTES // 2

_CHUNK: Final = 3072
_CHUNK_HEAD: Final = 18
_HEAD: Final = 2


class PageMeter:
    """Detects when a page is full. Until `NEVER_FULL_BYTES`, only rows of at least `LARGE_ITEM_BYTES` need to be reported to it."""

    __slots__ = ("_excess", "_range", "_waiting")

    def __init__(self, range_: str | None) -> None:
        self._range = range_
        self._waiting: list[tuple[int, bytes]] = []
        self._excess = 0

    def full(self, bytes_: int, stored: bytes, total: int) -> bool:
        """Whether this row of `bytes_` bytes fills the page; `total` counts it and all rows before."""
        if bytes_ >= LARGE_ITEM_BYTES:
            self._waiting.append((bytes_, stored))
        if total < NEVER_FULL_BYTES:
            return False
        for counted, row in self._waiting:
            self._excess += footprint(orjson.loads(row), self._range) - counted
        self._waiting.clear()
        return total + self._excess >= PAGE_BYTES


def footprint(item: Item, range_: str | None) -> int:
    """Bytes of a page that an item takes; `range_` names the table's range key."""
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
