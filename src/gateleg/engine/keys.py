"""Keys as bytes whose order is DynamoDB's order.

A key is a row's place: four bytes of the partition's hash (so that scans walk partitions in hash order, and a segment of a parallel
scan is a range), then each key attribute in a form that sorts like its value and ends by itself, so that one never runs into the next.
"""

import hashlib
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from gateleg.engine import numbers
from gateleg.engine.schema import KeyAttribute
from gateleg.engine.values import Item, decode_binary

#: Bytes of the hash that stand before a partition's key.
HASH_BYTES = 4

_END = b"\x00\x01"
#: Bytes of the longest partition key.
_LONGEST = 2048

_md5: Callable[..., Any] = hashlib.md5
with suppress(ImportError):
    # Python's own is seven times as fast as OpenSSL's, which has more to set up than to do for a short text.
    _md5 = import_module("_md5").md5


def component(kind: str, content: str) -> bytes:
    """One key attribute's value, self-delimiting and in order."""
    if kind == "S":
        return _text_component(content)
    if kind == "N":
        return numbers.encode(content) + (b"\xff" if content[0] == "-" else b"\x00")
    return decode_binary(content).replace(b"\x00", b"\x00\xff") + _END


def _text_component(content: str) -> bytes:
    return content.encode().replace(b"\x00", b"\x00\xff") + _END


def stem(kind: str, content: str) -> bytes:
    """What all values that begin with this text or these bytes have in front: a component without its end."""
    return component(kind, content)[: -len(_END)]


def hashed(raw: bytes) -> bytes:
    """The partition hash that decides the order of scans."""
    digest: bytes = _md5(b"Outliers" + raw, usedforsecurity=False).digest()
    return digest[:HASH_BYTES]


def _raw(kind: str, content: str) -> bytes:
    if kind == "S":
        return content.encode()
    return numbers.encode(content) if kind == "N" else decode_binary(content)


def partition(attributes: tuple[KeyAttribute, ...], contents: list[str]) -> bytes:
    """What the keys of all items of one partition begin with."""
    raw = b"".join(_raw(a.type, c) for a, c in zip(attributes, contents, strict=True))
    return hashed(raw) + b"".join(component(a.type, c) for a, c in zip(attributes, contents, strict=True))


def tie(attributes: tuple[KeyAttribute, ...]) -> Callable[[Item], bytes]:
    """A function from an item to what orders it among others of the same index key: the hash of its whole key in the table."""

    def build(item: Item) -> bytes:
        return hashed(b"".join([_raw(a.type, item[a.name][a.type]) for a in attributes]))

    return build


def after(prefix: bytes) -> bytes:
    """The least key that is greater than every key with this prefix."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes([trimmed[-1] + 1]) if trimmed else b"\xff" * (len(prefix) + HASH_BYTES)


def bounds(prefix: bytes, kind: str, operator: str, contents: list[str]) -> tuple[bytes, bytes]:
    """The first key, and the first key after the last, that meet a condition on a range attribute of a partition.

    `operator` is one of DynamoDB's: EQ, LT, LE, GT, GE, BETWEEN (with two contents) or BEGINS_WITH.
    """
    if operator == "BEGINS_WITH":
        start = prefix + stem(kind, contents[0])
        return start, after(start)
    at = prefix + component(kind, contents[0])
    if operator == "EQ":
        return at, after(at)
    if operator == "LT":
        return prefix, at
    if operator == "LE":
        return prefix, after(at)
    if operator == "GT":
        return after(at), after(prefix)
    if operator == "GE":
        return at, after(prefix)
    return at, after(prefix + component(kind, contents[1]))


def segment(number: int, total: int) -> tuple[bytes, bytes | None]:
    """The range of keys of one segment of a parallel scan: from the first, up to the second (none: to the end)."""
    space = 1 << (8 * HASH_BYTES)
    start, end = number * space // total, (number + 1) * space // total
    return start.to_bytes(HASH_BYTES, "big"), None if end == space else end.to_bytes(HASH_BYTES, "big")


def partitions(start: bytes, end: bytes | None, total: int) -> int:
    """How many of `total` equal ranges of the hash lie, in whole or in part, between two keys (the second exclusive; none: to the end)."""
    space = 1 << (8 * HASH_BYTES)
    first = int.from_bytes(start[:HASH_BYTES].ljust(HASH_BYTES, b"\x00"), "big")
    last = space - 1
    if end is not None:
        last = int.from_bytes(end[:HASH_BYTES].ljust(HASH_BYTES, b"\x00"), "big") - (len(end) <= HASH_BYTES)
    return last * total // space - first * total // space + 1


def parse(attributes: tuple[KeyAttribute, ...], key: bytes) -> Item | None:
    """The attributes that a row's key was made of; none if these bytes are not such a key."""
    rest, item = key[HASH_BYTES:], {}
    try:
        for attribute in attributes:
            content, rest = _parse_component(attribute.type, rest)
            item[attribute.name] = {attribute.type: content}
        return None if rest or not item else item
    except (ValueError, IndexError, ArithmeticError):
        return None


def _parse_component(kind: str, rest: bytes) -> tuple[str, bytes]:
    if kind == "N":
        end = rest.index(b"\x00" if rest[0] >= 0x80 else b"\xff", 1)
        return numbers.decode(rest[:end]), rest[end + 1 :]
    end = rest.index(_END)
    raw = rest[:end].replace(b"\x00\xff", b"\x00")
    return (raw.decode() if kind == "S" else b64encode(raw).decode()), rest[end + len(_END) :]


def finder(hash_: tuple[KeyAttribute, ...], range_: tuple[KeyAttribute, ...]) -> Callable[[Item], bytes | None]:
    """From an item to its key in an index; none if the item lacks one of these attributes, or has it empty or of another type."""
    if len(hash_) == len(range_) == 1:
        return _pair_finder(hash_[0], range_[0])
    build, attributes = builder(hash_, range_), (*hash_, *range_)

    def find(item: Item) -> bytes | None:
        for attribute in attributes:
            value = item.get(attribute.name)
            if value is None or not value.get(attribute.type):
                return None
        return build(item)

    return find


def _pair_finder(hash_: KeyAttribute, range_: KeyAttribute) -> Callable[[Item], bytes | None]:
    """`finder` for the most common keys: one attribute, and another."""
    hash_name, hash_type, range_name, range_type = hash_.name, hash_.type, range_.name, range_.type
    begin: Callable[[str], bytes] = _text_partition if hash_type == "S" else lambda content: partition((hash_,), [content])
    end = _text_component if range_type == "S" else partial(component, range_type)

    def find(item: Item) -> bytes | None:
        first, second = item.get(hash_name), item.get(range_name)
        if first is None or second is None:
            return None
        head, tail = first.get(hash_type), second.get(range_type)
        return begin(head) + end(tail) if head and tail else None

    return find


@lru_cache(maxsize=1024)
def _text_partition(content: str) -> bytes:
    """`partition` of one text. An index holds many items in each of its partitions, so the beginnings of their keys are remembered."""
    raw = content.encode()
    if len(raw) > _LONGEST:
        _text_partition.cache_clear()  # no key of an index: an item that is older than it has such a text
    return hashed(raw) + raw.replace(b"\x00", b"\x00\xff") + _END


def builder(hash_: tuple[KeyAttribute, ...], range_: tuple[KeyAttribute, ...]) -> Callable[[Item], bytes]:
    """A function from an item, known to hold these attributes with the right types, to its key."""
    if len(hash_) == 1 and hash_[0].type == "S" and all(a.type == "S" for a in range_) and len(range_) < 2:
        return _text_builder(hash_[0].name, range_[0].name if range_ else None)

    if len(hash_) == 1 and hash_[0].type == "S" and len(range_) == 1:
        return _text_and_more_builder(hash_[0].name, range_[0])

    def build(item: Item) -> bytes:
        contents: list[Any] = [item[a.name][a.type] for a in hash_]
        return partition(hash_, contents) + b"".join([component(a.type, item[a.name][a.type]) for a in range_])

    return build


def _text_and_more_builder(hash_name: str, range_: KeyAttribute) -> Callable[[Item], bytes]:
    """`builder` for a text and something else, such as an owner and a number."""
    build_hash, range_name, range_type = _text_builder(hash_name, None), range_.name, range_.type
    return lambda item: build_hash(item) + component(range_type, item[range_name][range_type])


def _text_builder(hash_name: str, range_name: str | None) -> Callable[[Item], bytes]:
    """`builder` for the most common keys: one text, or two."""

    def build_hash(item: Item) -> bytes:
        raw: bytes = item[hash_name]["S"].encode()
        digest: bytes = _md5(b"Outliers" + raw, usedforsecurity=False).digest()
        return digest[:4] + raw.replace(b"\x00", b"\x00\xff") + _END

    if range_name is None:
        return build_hash

    def build_both(item: Item) -> bytes:
        raw: bytes = item[hash_name]["S"].encode()
        tail: bytes = item[range_name]["S"].encode()
        digest: bytes = _md5(b"Outliers" + raw, usedforsecurity=False).digest()
        return digest[:4] + raw.replace(b"\x00", b"\x00\xff") + _END + tail.replace(b"\x00", b"\x00\xff") + _END

    return build_both
