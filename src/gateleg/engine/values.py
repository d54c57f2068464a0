"""Attribute values on the wire: what is valid, its canonical form, and how many bytes DynamoDB counts for it.

An attribute value is a dictionary of one member (`{"S": "a"}`, `{"N": "1"}`, `{"M": {...}}`, ...); binary values stay in base64.
"""

from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gateleg.engine import numbers
from gateleg.engine.errors import EngineError, ValueFault, invalid_parameter, serialization, validation

Item = dict[str, Any]

#: Maps and lists around a scalar. With the scalar itself these are DynamoDB's 32 levels.
MAX_NESTING = 31
MAX_ITEM_SIZE = 400 * 1024

EMPTY = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
SEVERAL = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
NESTED = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
#: How the message ends that refuses a set without members.
EMPTY_SET = "may not be empty"

#: The spelling is DynamoDB's.
_BASE64 = "Invalid last non-pad Base64 character dectected"

_TRUTHS = {"TRUE": True, "1": True, "YES": True, "FALSE": False, "0": False, "NO": False}

_Check = Callable[[Any, int], tuple[Any, int]]


def validate(value: Any) -> dict[str, Any]:
    """The canonical form of an attribute value; raises DynamoDB's error where it has none."""
    return examine(value, 0)[0]


def size(value: Mapping[str, Any]) -> int:
    """Bytes that DynamoDB counts for a canonical attribute value, without the attribute's name."""
    content = value.get("S")
    if content is not None:
        return len(content) if content.isascii() else text_size(content)
    content = value.get("N")
    if content is not None:
        return numbers.size(content)
    ((tag, content),) = value.items()
    if tag == "M":
        return 3 + len(content) + item_size(content)
    if tag == "L":
        return 3 + len(content) + sum(map(size, content))
    return examine(value, 0)[1]


def text_size(text: str) -> int:
    """Bytes of a text in UTF-8."""
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise serialization("Unable to parse the text: it holds half of a surrogate pair") from None


def examine_item(item: Any, sizes: dict[str, int] | None = None) -> tuple[Item, int]:
    """An item in canonical form and its size: names and values of all attributes.

    Into `sizes` go the bytes of values that take some time to count: lists, maps and the like.
    """
    if type(item) is not dict:
        raise serialization(wrong_json(item, "Map"))
    return _members(item, 0, 0, sizes)


def _members(members: dict[str, Any], depth: int, overhead: int, sizes: dict[str, int] | None = None) -> tuple[dict[str, Any], int]:
    """Named values in canonical form, and their size, each with `overhead` bytes. Texts and numbers, which are most, take a short way."""
    total = overhead * len(members) + text_size("".join(members))
    changed: dict[str, Any] | None = None
    for name, value in members.items():
        if type(value) is dict and len(value) == 1:
            if type(content := value.get("S")) is str and content.isascii():
                total += len(content)
                continue
            if type(content := value.get("N")) is str and numbers.canonical(content) == content:
                total += numbers.size(content)
                continue
        clean, bytes_ = examine(value, depth)
        total += bytes_
        if sizes is not None:
            sizes[name] = bytes_
        if clean is not value:
            if changed is None:
                changed = dict(members)
            changed[name] = clean
    return members if changed is None else changed, total


def item_size(item: Mapping[str, Any]) -> int:
    """Bytes that DynamoDB counts for a canonical item."""
    return text_size("".join(item)) + sum(map(size, item.values()))


def examine(value: Any, depth: int) -> tuple[dict[str, Any], int]:
    """The canonical form of an attribute value and its size; `depth` maps and lists stand around it."""
    if type(value) is not dict:
        raise serialization(wrong_json(value, "AttributeValue"))
    if len(value) != 1:
        return _pick(value, depth)
    ((tag, content),) = value.items()
    check = _CHECKS.get(tag)
    if check is None:
        raise validation(EMPTY)
    if content is None:
        raise validation(EMPTY)
    clean, bytes_ = check(content, depth)
    return (value if clean is content else {tag: clean}), bytes_


def _pick(value: dict[str, Any], depth: int) -> tuple[dict[str, Any], int]:
    """A value of no or several members: unknown and null members do not count, and each known one is checked before their number."""
    known = {tag: content for tag, content in value.items() if tag in _CHECKS and content is not None}
    if not known:
        raise validation(EMPTY)
    for tag, content in known.items():
        _CHECKS[tag](content, depth)
    if len(known) > 1:
        raise validation(SEVERAL)
    return examine(known, depth)


def _string(content: Any, _: int) -> tuple[str, int]:
    if type(content) is not str:
        raise serialization(wrong_json(content, "String"))
    return content, text_size(content)


def _number(content: Any, _: int) -> tuple[str, int]:
    if type(content) is not str:
        raise serialization(wrong_json(content, "String"))
    clean = numbers.canonical(content)
    return (content if clean == content else clean), numbers.size(clean)


def _binary(content: Any, _: int) -> tuple[str, int]:
    if type(content) is not str:
        raise serialization(wrong_json(content, "Blob"))
    return content, len(decode_binary(content))


def decode_binary(text: str) -> bytes:
    """The bytes of a base64 text."""
    if len(text) % 4:
        raise serialization(f"Base64 encoded length is expected a multiple of 4 bytes but found: {len(text)}")
    try:
        content = a2b_base64(text, strict_mode=True) if text else b""
    except (Base64Error, ValueError):
        raise serialization(_BASE64) from None
    if text.endswith("=") and b2a_base64(content, newline=False) != text.encode():
        raise serialization(_BASE64)
    return content


def truth(content: Any) -> bool:
    """A boolean, or a word that DynamoDB takes for one."""
    if type(content) is bool:
        return content
    word = _TRUTHS.get(content.upper()) if type(content) is str else None
    if word is None:
        raise serialization(wrong_json(content, "Boolean"))
    return word


def _boolean(content: Any, _: int) -> tuple[bool, int]:
    return truth(content), 1


def _null(content: Any, _: int) -> tuple[bool, int]:
    if not truth(content):
        raise invalid_parameter("Null attribute value types must have the value of true")
    return True, 1


def _list(content: Any, depth: int) -> tuple[list[Any], int]:
    if type(content) is not list:
        raise serialization(wrong_json(content, "List"))
    if depth >= MAX_NESTING:
        raise validation(NESTED)
    total = 3
    changed: list[Any] | None = None
    for position, value in enumerate(content):
        clean, bytes_ = examine(value, depth + 1)
        total += 1 + bytes_
        if clean is not value:
            if changed is None:
                changed = list(content)
            changed[position] = clean
    return content if changed is None else changed, total


def _map(content: Any, depth: int) -> tuple[dict[str, Any], int]:
    if type(content) is not dict:
        raise serialization(wrong_json(content, "Map"))
    if depth >= MAX_NESTING:
        raise validation(NESTED)
    clean, total = _members(content, depth + 1, 1)
    return clean, 3 + total


def _set(member: _Check, empty: str, duplicates: Callable[[list[str]], EngineError], order: Callable[[str], Any] | None = None) -> _Check:
    """The check of a set whose members `member` checks. DynamoDB keeps members in an order of its own: that of the texts unless given."""

    def check(content: Any, depth: int) -> tuple[list[str], int]:
        if type(content) is not list:
            raise serialization(wrong_json(content, "List"))
        if not content:
            raise invalid_parameter(empty)
        examined = [member(element, depth) for element in content]
        clean = [element for element, _ in examined]
        if len(set(clean)) != len(clean):
            raise duplicates(content)
        clean.sort(key=order)
        return (content if clean == content else clean), sum(bytes_ for _, bytes_ in examined)

    return check


def _repeated_texts(members: list[str]) -> ValueFault:
    listed = ", ".join(f'"{member}"' for member in _as_told(members, members))
    return _repeated(f"[{', '.join(members)}] contains duplicates.", f"[{listed}] contains duplicates.")


def _repeated_binaries(members: list[str]) -> ValueFault:
    listed = ",".join(f'"{member}"' for member in _as_told(members, [decode_binary(member) for member in members]))
    return _repeated(f"[{', '.join(members)}]of type BS contains duplicates.", f"[{listed}]of type BS contains duplicates.")


def _repeated_numbers(_: list[str]) -> ValueFault:
    return ValueFault(
        "Input collection contains duplicates", "One or more parameter values were invalid: Input collection contains duplicates."
    )


def _repeated(older: str, newer: str) -> ValueFault:
    told = "One or more parameter values were invalid: Input collection"
    return ValueFault(f"{told} {older}", f"{told} {newer}")


def _as_told(members: list[str], keys: Sequence[Any]) -> list[str]:
    """The members of a set in the newer check's order: sorted up to the first that repeats, and from there on as they were given."""
    seen: dict[Any, str] = {}
    for key, member in zip(keys, members, strict=True):
        if key in seen:
            break
        seen[key] = member
    return [*(seen[key] for key in sorted(seen)), *members[len(seen) :]]


_CHECKS: dict[str, _Check] = {
    "S": _string,
    "N": _number,
    "B": _binary,
    "BOOL": _boolean,
    "NULL": _null,
    "L": _list,
    "M": _map,
    "SS": _set(
        _string,
        f"An string set  {EMPTY_SET}",
        _repeated_texts,
    ),
    "NS": _set(_number, f"An number set  {EMPTY_SET}", _repeated_numbers, numbers.as_decimal),
    "BS": _set(
        _binary,
        "Binary sets should not be empty",
        _repeated_binaries,
        decode_binary,
    ),
}


def check_types(value: Any, depth: int = 0) -> None:
    """Refuse an attribute value in which something has another JSON type than it should have, and for nothing else.

    DynamoDB reads a request to its end before it judges any value. What is nested deeper than an item may be is not looked at.
    """
    if type(value) is not dict:
        raise serialization(wrong_json(value, "AttributeValue"))
    for tag, content in value.items():
        if content is None or tag not in _CHECKS:
            continue
        if tag in _SCALARS:
            _SCALARS[tag](content)
            continue
        if type(content) is not (dict if tag == "M" else list):
            raise serialization(wrong_json(content, "Map" if tag == "M" else "List"))
        if tag in _MEMBERS:
            for member in content:
                _SCALARS[_MEMBERS[tag]](member)
        elif depth < MAX_NESTING:
            for member in content.values() if isinstance(content, dict) else content:
                check_types(member, depth + 1)


def _check_text(content: Any) -> None:
    if type(content) is not str:
        raise serialization(wrong_json(content, "String"))


def _check_binary(content: Any) -> None:
    _binary(content, 0)


_SCALARS: dict[str, Callable[[Any], object]] = {"S": _check_text, "N": _check_text, "B": _check_binary, "BOOL": truth, "NULL": truth}
_MEMBERS = {"SS": "S", "NS": "N", "BS": "B"}

_JAVA = {
    "String": "class java.lang.String",
    "Boolean": "class java.lang.Boolean",
    "Blob": "class java.nio.ByteBuffer",
    "AttributeValue": "class com.amazonaws.dynamodb.v20120810.AttributeValue",
    "Map": "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
}


def wrong_json(value: Any, wanted: str) -> str:
    """DynamoDB's words for a JSON value of another type than the one wanted: String, Boolean, Blob, AttributeValue, Map or List."""
    if isinstance(value, dict):
        return "Start of structure or map found where not expected"
    if isinstance(value, list):
        return f"Unrecognized collection type {_JAVA[wanted]}"
    if wanted == "AttributeValue":
        return "Unexpected value type in payload"
    if wanted == "Blob":
        return "only base-64-encoded strings are convertible to bytes"
    if wanted in {"Map", "List"}:
        return "Unexpected field type"
    if isinstance(value, bool):
        return f"{'TRUE_VALUE' if value else 'FALSE_VALUE'} cannot be converted to {wanted}"
    if isinstance(value, str):
        return "Unexpected token received from parser" if wanted == "Boolean" else f"STRING_VALUE cannot be converted to {wanted}"
    return f"{'NUMBER_VALUE' if isinstance(value, int) else 'DECIMAL_VALUE'} cannot be converted to {wanted}"
