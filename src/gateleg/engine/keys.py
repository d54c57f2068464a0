"""Row keys: bytes that sort in DynamoDB's order.

A key begins with four bytes of the partition's hash, so that scans visit partitions in hash order and a segment of a parallel scan is a
key range. Then follows each key attribute in an encoding that sorts like its value and is self-delimiting.
"""

import hashlib
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from gateleg.engine import values
from gateleg.engine.schema import KeyAttribute
from gateleg.engine.values import Item, decode_binary
from gateleg.plain import is_plain

#: Length of the partition hash that a key begins with.
HASH_BYTES = 4

_PLAIN_TEXT_KEYS = is_plain("text_keys")
_PLAIN_INDEX_KEYS = is_plain("index_keys")
_TERMINATOR = b"\x00\x01"
#: DynamoDB's limit for a partition key.
_MAX_PARTITION_KEY_BYTES = 2048

_md5: Callable[..., Any] = partial(hashlib.md5, usedforsecurity=False)
with suppress(ImportError):
    # CPython's own MD5 is seven times as fast as OpenSSL's for short input.
    _md5 = import_module("_md5").md5


def component(kind: str, content: str) -> bytes:
    """Encode the value of one key attribute: order-preserving and self-delimiting."""
    if kind == "S":
        return _text_component(content)
    if kind == "N":
        return values.encode_number(content) + (b"\xff" if content[0] == "-" else b"\x00")
    return decode_binary(content).replace(b"\x00", b"\x00\xff") + _TERMINATOR


def _text_component(content: str) -> bytes:
    return content.encode().replace(b"\x00", b"\x00\xff") + _TERMINATOR


def prefix_component(kind: str, content: str) -> bytes:
    """The common prefix of all encoded values that begin with this string or these bytes: a component without its terminator."""
    return component(kind, content)[: -len(_TERMINATOR)]


def partition_hash(raw: bytes) -> bytes:
    """The partition hash, which determines the order of scans."""
    digest: bytes = _md5(b"Outliers" + raw).digest()
    return digest[:HASH_BYTES]


def _raw_bytes(kind: str, content: str) -> bytes:
    if kind == "S":
        return content.encode()
    return values.encode_number(content) if kind == "N" else decode_binary(content)


def partition_prefix(attributes: tuple[KeyAttribute, ...], contents: list[str]) -> bytes:
    """The prefix that all keys of a partition share."""
    raw = b"".join(_raw_bytes(a.type, c) for a, c in zip(attributes, contents, strict=True))
    return partition_hash(raw) + b"".join(component(a.type, c) for a, c in zip(attributes, contents, strict=True))


def tie_breaker(attributes: tuple[KeyAttribute, ...]) -> Callable[[Item], bytes]:
    """A function from an item to the bytes that order it among equal keys of a GSI: the hash of its key in the table."""
    if not _PLAIN_TEXT_KEYS and len(attributes) == 2 and all(a.type == "S" for a in attributes):
        first, second = (a.name for a in attributes)
        return lambda item: partition_hash((item[first]["S"] + item[second]["S"]).encode())

    def build(item: Item) -> bytes:
        return partition_hash(b"".join([_raw_bytes(a.type, item[a.name][a.type]) for a in attributes]))

    return build


def prefix_end(prefix: bytes) -> bytes:
    """The least key greater than every key with this prefix."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes([trimmed[-1] + 1]) if trimmed else b"\xff" * (len(prefix) + HASH_BYTES)


def key_range(prefix: bytes, kind: str, operator: str, contents: list[str]) -> tuple[bytes, bytes]:
    """The key range (end exclusive) that matches a condition on the range key within a partition.

    `operator` is one of DynamoDB's: EQ, LT, LE, GT, GE, BETWEEN (with two contents) or BEGINS_WITH.
    """
    if operator == "BEGINS_WITH":
        start = prefix + prefix_component(kind, contents[0])
        return start, prefix_end(start)
    at = prefix + component(kind, contents[0])
    if operator == "EQ":
        return at, prefix_end(at)
    if operator == "LT":
        return prefix, at
    if operator == "LE":
        return prefix, prefix_end(at)
    if operator == "GT":
        return prefix_end(at), prefix_end(prefix)
    if operator == "GE":
        return at, prefix_end(prefix)
    return at, prefix_end(prefix + component(kind, contents[1]))


def segment_range(number: int, total: int) -> tuple[bytes, bytes | None]:
    """The key range (end exclusive; None for unbounded) of one segment of a parallel scan."""
    space = 1 << (8 * HASH_BYTES)
    start, end = number * space // total, (number + 1) * space // total
    return start.to_bytes(HASH_BYTES, "big"), None if end == space else end.to_bytes(HASH_BYTES, "big")


def count_partitions(start: bytes, end: bytes | None, total: int) -> int:
    """How many of `total` equal hash ranges a key range (end exclusive; None for unbounded) overlaps."""
    space = 1 << (8 * HASH_BYTES)
    first = int.from_bytes(start[:HASH_BYTES].ljust(HASH_BYTES, b"\x00"), "big")
    last = space - 1
    if end is not None:
        last = int.from_bytes(end[:HASH_BYTES].ljust(HASH_BYTES, b"\x00"), "big") - (len(end) <= HASH_BYTES)
    return last * total // space - first * total // space + 1


def parse(attributes: tuple[KeyAttribute, ...], key: bytes) -> Item | None:
    """Decode a row key into its attributes; None if it is not a valid key."""
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
        return values.decode_number(rest[:end]), rest[end + 1 :]
    end = rest.index(_TERMINATOR)
    raw = rest[:end].replace(b"\x00\xff", b"\x00")
    return (raw.decode() if kind == "S" else b64encode(raw).decode()), rest[end + len(_TERMINATOR) :]


def index_key_builder(hash_: tuple[KeyAttribute, ...], range_: tuple[KeyAttribute, ...]) -> Callable[[Item], bytes | None]:
    """A function from an item to its key in an index; None if a key attribute is missing, empty or of another type."""
    if len(hash_) == len(range_) == 1 and not _PLAIN_INDEX_KEYS:
        return _pair_index_key_builder(hash_[0], range_[0])
    build, attributes = row_key_builder(hash_, range_), (*hash_, *range_)

    def find(item: Item) -> bytes | None:
        for attribute in attributes:
            value = item.get(attribute.name)
            if value is None or not value.get(attribute.type):
                return None
        return build(item)

    return find


def _pair_index_key_builder(hash_: KeyAttribute, range_: KeyAttribute) -> Callable[[Item], bytes | None]:
    """`index_key_builder` for the most common case: one hash and one range attribute."""
    hash_name, hash_type, range_name, range_type = hash_.name, hash_.type, range_.name, range_.type
    begin: Callable[[str], bytes] = _text_partition_prefix if hash_type == "S" else lambda content: partition_prefix((hash_,), [content])
    end = _text_component if range_type == "S" else partial(component, range_type)

    def find(item: Item) -> bytes | None:
        first, second = item.get(hash_name), item.get(range_name)
        if first is None or second is None:
            return None
        head, tail = first.get(hash_type), second.get(range_type)
        return begin(head) + end(tail) if head and tail else None

    return find


@lru_cache(maxsize=1024)
def _text_partition_prefix(content: str) -> bytes:
    """`partition_prefix` of one string, cached because an index has many items in each partition."""
    raw = content.encode()
    if len(raw) > _MAX_PARTITION_KEY_BYTES:
        _text_partition_prefix.cache_clear()  # too long for an index key: from an item that is older than the index
    return partition_hash(raw) + raw.replace(b"\x00", b"\x00\xff") + _TERMINATOR


def row_key_builder(hash_: tuple[KeyAttribute, ...], range_: tuple[KeyAttribute, ...]) -> Callable[[Item], bytes]:
    """A function from an item to its key. The item must have the key attributes with the right types."""
    if not _PLAIN_TEXT_KEYS and len(hash_) == 1 and hash_[0].type == "S" and all(a.type == "S" for a in range_) and len(range_) < 2:
        hash_name = hash_[0].name
        if not range_:
            return lambda item: _text_key(item[hash_name]["S"])
        range_name = range_[0].name
        return lambda item: _text_pair_key(item[hash_name]["S"], item[range_name]["S"])

    if not _PLAIN_TEXT_KEYS and len(hash_) == 1 and hash_[0].type == "S" and len(range_) == 1:
        return _text_hash_builder(hash_[0].name, range_[0])

    def build(item: Item) -> bytes:
        contents: list[Any] = [item[a.name][a.type] for a in hash_]
        return partition_prefix(hash_, contents) + b"".join([component(a.type, item[a.name][a.type]) for a in range_])

    return build


def text_key_builder(names: tuple[str, ...], longest: int) -> Callable[[Any], bytes | None]:
    """A function from the key of a request to its row key, for one or two attributes that are strings of at most `longest` characters.

    Its result is None if the key needs the full checks.
    """
    number, first, second = len(names), names[0], names[-1]

    def find(key: Any) -> bytes | None:
        try:
            head_value, tail_value = key[first], key[second]
            head, tail = head_value["S"], tail_value["S"]
            if (
                type(key) is dict
                and len(key) == number
                and type(head_value) is dict
                and len(head_value) == 1
                and type(tail_value) is dict
                and len(tail_value) == 1
                and type(head) is str
                and 0 < len(head) <= longest
                and type(tail) is str
                and 0 < len(tail) <= longest
            ):
                return _text_key(head) if number == 1 else _text_pair_key(head, tail)
        except (LookupError, TypeError, UnicodeEncodeError):
            pass
        return None

    return find


def _text_hash_builder(hash_name: str, range_: KeyAttribute) -> Callable[[Item], bytes]:
    """`row_key_builder` for a string hash key and a range key of another type."""
    range_name, range_type = range_.name, range_.type
    return lambda item: _text_key(item[hash_name]["S"]) + component(range_type, item[range_name][range_type])


def _text_key(content: str) -> bytes:
    """The key of a row whose only key attribute is a string."""
    raw = content.encode()
    digest: bytes = _md5(b"Outliers" + raw).digest()
    return digest[:HASH_BYTES] + raw.replace(b"\x00", b"\x00\xff") + _TERMINATOR


def _text_pair_key(hash_content: str, range_content: str) -> bytes:
    """The key of a row whose two key attributes are strings."""
    raw, tail = hash_content.encode(), range_content.encode()
    digest: bytes = _md5(b"Outliers" + raw).digest()
    return b"".join((digest[:HASH_BYTES], raw.replace(b"\x00", b"\x00\xff"), _TERMINATOR, tail.replace(b"\x00", b"\x00\xff"), _TERMINATOR))
