"""Attribute values and numbers: validation, canonical form, and the size that DynamoDB counts.

An attribute value is a dictionary of one member (`{"S": "a"}`, `{"N": "1"}`, `{"M": {...}}`, ...); binary values stay in base64. A number
has up to 38 significant digits and a magnitude between 1E-130 and 9.99...E+125, and is stored as a canonical string.
"""

from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from re import compile as pattern
from typing import Any

from gateleg.engine.errors import EngineError, InvalidValueError, invalid_parameter, serialization, validation

DIGITS = 38
MAX_EXPONENT = 125
MIN_EXPONENT = -130

#: Precise enough for any sum of two numbers in range to be exact, so that results with more than 38 digits are detected.
EXACT = Context(prec=300, rounding=ROUND_HALF_EVEN, Emax=999_999, Emin=-999_999)

OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
NOT_A_NUMBER = "The parameter cannot be converted to a numeric value"

_NUMBER = pattern(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?", 256)
_LARGE_EXPONENT = pattern(r"[+-]?(\d*+)\.?(\d*+)[eE]([+-]?\d{1,20})", 256)
_PLAIN_INTEGER = pattern(r"0|-?[1-9]\d{0,36}", 256)
#: Longer strings are not cached; the usual notations of any number are shorter.
_MAX_CACHED_CHARACTERS = 256


@lru_cache(maxsize=65536)
def canonical_number(text: str) -> str:
    """The canonical form of a number: no exponent, no leading or trailing zeros, no plus sign, no minus zero."""
    if _PLAIN_INTEGER.fullmatch(text):
        return text
    if not _NUMBER.fullmatch(text):
        raise _not_a_number_error(text)
    if len(text) > _MAX_CACHED_CHARACTERS:
        # The cache is keyed by the string, which zeros could make as long as a request.
        canonical_number.cache_clear()
    number = Decimal(text)
    try:
        if not number:
            _check_magnitude(number.adjusted())
        return format_decimal(number)
    except EngineError as error:
        raise InvalidValueError(error.message or "") from None


def _not_a_number_error(text: str) -> InvalidValueError:
    """The error for a string that is not a number, or whose exponent is far out of range: the two validators have different messages."""
    detail = f"{NOT_A_NUMBER}: {text}"
    match = _LARGE_EXPONENT.fullmatch(text)
    if match is None or not match[1] + match[2]:
        return InvalidValueError(detail if text else NOT_A_NUMBER, detail)
    exponent = int(match[3])
    newer = detail if not -(2**63) <= exponent < 2**63 else OVERFLOW if exponent > 0 else UNDERFLOW
    return InvalidValueError(_older_validator_message(match[1], match[2], exponent) or detail, newer)


def _older_validator_message(whole: str, fraction: str, exponent: int) -> str | None:
    """The older validator's message for a number with this exponent; None if Java cannot parse it, because a part exceeds 32 bits."""
    scale = len(fraction) - exponent
    if not -(2**31) <= exponent < 2**31 or not -(2**31) <= scale < 2**31:
        return None
    digits = len((whole + fraction).lstrip("0")) or 1
    # Java computes the magnitude in 32 bits too, so that it overflows to a negative number.
    magnitude = (digits - scale + 2**31) % 2**32 - 2**31
    return OVERFLOW if magnitude > 0 else UNDERFLOW


def _check_magnitude(magnitude: int) -> None:
    if magnitude > MAX_EXPONENT:
        raise validation(OVERFLOW)
    if magnitude < MIN_EXPONENT:
        raise validation(UNDERFLOW)


def format_decimal(number: Decimal) -> str:
    """The canonical form of a decimal; raises DynamoDB's error if it cannot be stored exactly."""
    if not number:
        return "0"
    magnitude = number.adjusted()
    _check_magnitude(magnitude)
    sign, digits, _ = number.as_tuple()
    text = "".join(map(str, digits)).strip("0")
    if len(text) > DIGITS:
        raise validation("Attempting to store more than 38 significant digits in a Number")
    scale = magnitude + 1 - len(text)
    if scale >= 0:
        plain = text + "0" * scale
    elif magnitude >= 0:
        plain = f"{text[: magnitude + 1]}.{text[magnitude + 1 :]}"
    else:
        plain = f"0.{'0' * (-magnitude - 1)}{text}"
    return f"-{plain}" if sign else plain


@lru_cache(maxsize=65536)
def as_decimal(text: str) -> Decimal:
    """The exact value of a canonical number."""
    return Decimal(text)


@lru_cache(maxsize=65536)
def number_size(text: str) -> int:
    """Size that DynamoDB counts: one byte, one per two significant digits, and one for a minus sign."""
    digits, exponent, negative = _significant(text)
    if not digits:
        return 1
    odd = exponent % 2
    return 1 + (len(digits) + odd + 1) // 2 + negative


@lru_cache(maxsize=65536)
def measured_number(text: str) -> tuple[str, int]:
    """The canonical form of a number, and its size: every number that is written needs both."""
    if len(text) > _MAX_CACHED_CHARACTERS:
        measured_number.cache_clear()
    clean = canonical_number(text)
    return clean, number_size(clean)


@lru_cache(maxsize=65536)
def encode_number(text: str) -> bytes:
    """Order-preserving encoding: an exponent of base 100, then the digits, complemented for negative numbers."""
    digits, exponent, negative = _significant(text)
    if not digits:
        return b"\x80"
    if exponent % 2:
        digits, exponent = "0" + digits, exponent + 1
    if len(digits) % 2:
        digits += "0"
    head = (exponent // 2 - 64) & 0xFF
    pairs = [int(digits[i : i + 2]) for i in range(0, len(digits), 2)]
    if not negative:
        return bytes([head, *(p + 1 for p in pairs)])
    tail = [102] if len(pairs) < 20 else []
    return bytes([head ^ 0xFF, *(101 - p for p in pairs), *tail])


def decode_number(encoded: bytes) -> str:
    """The number that `encode_number` encoded."""
    head, pairs = encoded[0], encoded[1:]
    negative = head < 0x80
    if negative:
        head, pairs = head ^ 0xFF, bytes(101 - p for p in pairs if p != 102)
    else:
        pairs = bytes(p - 1 for p in pairs)
    digits = "".join(f"{p:02d}" for p in pairs)
    return format_decimal(Decimal(f"{'-' if negative else ''}0.{digits or '0'}E{(head - 0xC0) * 2}"))


def _significant(text: str) -> tuple[str, int, bool]:
    """The significant digits of a canonical number, the exponent e in 0.digits x 10^e, and whether it is negative."""
    negative = text[0] == "-"
    if negative:
        text = text[1:]
    whole, _, fraction = text.partition(".")
    if whole != "0":
        return (whole + fraction if fraction else whole.rstrip("0")), len(whole), negative
    digits = fraction.lstrip("0")
    return digits, len(digits) - len(fraction), negative


Item = dict[str, Any]

#: Maps and lists around a scalar; with the scalar, these are DynamoDB's 32 levels.
MAX_NESTING = 31
MAX_ITEM_SIZE = 400 * 1024

EMPTY_VALUE = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
SEVERAL_TYPES = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
NESTED = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
#: The end of the messages for empty sets.
EMPTY_SET = "may not be empty"

#: sic: DynamoDB's spelling.
_BASE64 = "Invalid last non-pad Base64 character dectected"

_BOOLEAN_WORDS = {"TRUE": True, "1": True, "YES": True, "FALSE": False, "0": False, "NO": False}

_Check = Callable[[Any, int], tuple[Any, int]]


def validate(value: Any) -> dict[str, Any]:
    """The canonical form of an attribute value; raises DynamoDB's error if it is invalid."""
    return canonicalize(value, 0)[0]


def size(value: Mapping[str, Any]) -> int:
    """Size that DynamoDB counts for a canonical attribute value, without the attribute's name."""
    content = value.get("S")
    if content is not None:
        return len(content) if content.isascii() else text_size(content)
    content = value.get("N")
    if content is not None:
        return number_size(content)
    ((tag, content),) = value.items()
    if tag == "M":
        return 3 + len(content) + item_size(content)
    if tag == "L":
        return 3 + len(content) + sum(map(size, content))
    return canonicalize(value, 0)[1]


def text_size(text: str) -> int:
    """Size of a string in UTF-8."""
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise serialization("Unable to parse the text: it holds half of a surrogate pair") from None


def canonicalize_item(item: Any, sizes: dict[str, int] | None = None) -> tuple[Item, int]:
    """The canonical form of an item, and its size including attribute names.

    Sizes of values that are slow to measure (lists, maps and sets) are added to `sizes`.
    """
    if type(item) is not dict:
        raise serialization(wrong_json_type(item, "Map"))
    return _members(item, 0, 0, sizes)


def _members(members: dict[str, Any], depth: int, overhead: int, sizes: dict[str, int] | None = None) -> tuple[dict[str, Any], int]:
    """Named values in canonical form, and their size with `overhead` bytes each. Strings, numbers and booleans are handled inline."""
    total = overhead * len(members) + text_size("".join(members))
    changed: dict[str, Any] | None = None
    for name, value in members.items():
        if type(value) is dict and len(value) == 1:
            if type(content := value.get("S")) is str:
                if content.isascii():
                    total += len(content)
                    continue
            elif type(content := value.get("N")) is str:
                number, bytes_ = measured_number(content)
                if number == content:
                    total += bytes_
                    continue
            elif (content := value.get("BOOL")) is True or content is False:
                total += 1
                continue
        clean, bytes_ = canonicalize(value, depth)
        total += bytes_
        if sizes is not None:
            sizes[name] = bytes_
        if clean is not value:
            if changed is None:
                changed = dict(members)
            changed[name] = clean
    return members if changed is None else changed, total


def item_size(item: Mapping[str, Any]) -> int:
    """Size that DynamoDB counts for a canonical item."""
    return text_size("".join(item)) + sum(map(size, item.values()))


def canonicalize(value: Any, depth: int) -> tuple[dict[str, Any], int]:
    """The canonical form of an attribute value, and its size; `depth` is the number of maps and lists around it."""
    if type(value) is not dict:
        raise serialization(wrong_json_type(value, "AttributeValue"))
    if len(value) != 1:
        return _select_member(value, depth)
    ((tag, content),) = value.items()
    check = _CHECKS.get(tag)
    if check is None or content is None:
        raise validation(EMPTY_VALUE)
    clean, bytes_ = check(content, depth)
    return (value if clean is content else {tag: clean}), bytes_


def _select_member(value: dict[str, Any], depth: int) -> tuple[dict[str, Any], int]:
    """A value without exactly one member: unknown and null members are ignored, and known ones are validated before they are counted."""
    known = {tag: content for tag, content in value.items() if tag in _CHECKS and content is not None}
    if not known:
        raise validation(EMPTY_VALUE)
    for tag, content in known.items():
        _CHECKS[tag](content, depth)
    if len(known) > 1:
        raise validation(SEVERAL_TYPES)
    return canonicalize(known, depth)


def _string(content: Any, _: int) -> tuple[str, int]:
    if type(content) is not str:
        raise serialization(wrong_json_type(content, "String"))
    return content, text_size(content)


def _number(content: Any, _: int) -> tuple[str, int]:
    if type(content) is not str:
        raise serialization(wrong_json_type(content, "String"))
    clean, bytes_ = measured_number(content)
    return (content if clean == content else clean), bytes_


def _binary(content: Any, _: int) -> tuple[str, int]:
    if type(content) is not str:
        raise serialization(wrong_json_type(content, "Blob"))
    return content, len(decode_binary(content))


def decode_binary(text: str) -> bytes:
    """Decode base64."""
    if len(text) % 4:
        raise serialization(f"Base64 encoded length is expected a multiple of 4 bytes but found: {len(text)}")
    try:
        content = a2b_base64(text, strict_mode=True) if text else b""
    except (Base64Error, ValueError):
        raise serialization(_BASE64) from None
    if text.endswith("=") and b2a_base64(content, newline=False) != text.encode():
        raise serialization(_BASE64)
    return content


def parse_boolean(content: Any) -> bool:
    """A boolean, or a string that DynamoDB accepts for one."""
    if type(content) is bool:
        return content
    word = _BOOLEAN_WORDS.get(content.upper()) if type(content) is str else None
    if word is None:
        raise serialization(wrong_json_type(content, "Boolean"))
    return word


def _boolean(content: Any, _: int) -> tuple[bool, int]:
    return parse_boolean(content), 1


def _null(content: Any, _: int) -> tuple[bool, int]:
    if not parse_boolean(content):
        raise invalid_parameter("Null attribute value types must have the value of true")
    return True, 1


def _list(content: Any, depth: int) -> tuple[list[Any], int]:
    if type(content) is not list:
        raise serialization(wrong_json_type(content, "List"))
    if depth >= MAX_NESTING:
        raise validation(NESTED)
    total = 3
    changed: list[Any] | None = None
    for position, value in enumerate(content):
        if type(value) is dict and len(value) == 1 and type(text := value.get("S")) is str and text.isascii():
            total += 1 + len(text)
            continue
        clean, bytes_ = canonicalize(value, depth + 1)
        total += 1 + bytes_
        if clean is not value:
            if changed is None:
                changed = list(content)
            changed[position] = clean
    return content if changed is None else changed, total


def _map(content: Any, depth: int) -> tuple[dict[str, Any], int]:
    if type(content) is not dict:
        raise serialization(wrong_json_type(content, "Map"))
    if depth >= MAX_NESTING:
        raise validation(NESTED)
    clean, total = _members(content, depth + 1, 1)
    return clean, 3 + total


def _set(member: _Check, empty: str, duplicates: Callable[[list[str]], EngineError], order: Callable[[str], Any] | None = None) -> _Check:
    """The validator of a set, given that of its members. DynamoDB stores members sorted: as strings, or by `order`."""

    def check(content: Any, depth: int) -> tuple[list[str], int]:
        if type(content) is not list:
            raise serialization(wrong_json_type(content, "List"))
        if not content:
            raise invalid_parameter(empty)
        examined = [member(element, depth) for element in content]
        clean = [element for element, _ in examined]
        if len(set(clean)) != len(clean):
            raise duplicates(content)
        clean.sort(key=order)
        return (content if clean == content else clean), sum(bytes_ for _, bytes_ in examined)

    return check


def _duplicate_strings(members: list[str]) -> InvalidValueError:
    listed = ", ".join(f'"{member}"' for member in _in_message_order(members, members))
    return _duplicates_error(f"[{', '.join(members)}] contains duplicates.", f"[{listed}] contains duplicates.")


def _duplicate_binaries(members: list[str]) -> InvalidValueError:
    listed = ",".join(f'"{member}"' for member in _in_message_order(members, [decode_binary(member) for member in members]))
    return _duplicates_error(f"[{', '.join(members)}]of type BS contains duplicates.", f"[{listed}]of type BS contains duplicates.")


def _duplicate_numbers(_: list[str]) -> InvalidValueError:
    return InvalidValueError(
        "Input collection contains duplicates", "One or more parameter values were invalid: Input collection contains duplicates."
    )


def _duplicates_error(older: str, newer: str) -> InvalidValueError:
    detail = "One or more parameter values were invalid: Input collection"
    return InvalidValueError(f"{detail} {older}", f"{detail} {newer}")


def _in_message_order(members: list[str], keys: Sequence[Any]) -> list[str]:
    """Set members in the order of the newer validator's message: sorted up to the first duplicate, and as given from there on."""
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
    "SS": _set(_string, f"An string set  {EMPTY_SET}", _duplicate_strings),
    "NS": _set(_number, f"An number set  {EMPTY_SET}", _duplicate_numbers, as_decimal),
    "BS": _set(_binary, "Binary sets should not be empty", _duplicate_binaries, decode_binary),
}


def check_types(value: Any, depth: int = 0) -> None:
    """Refuse an attribute value with a wrong JSON type anywhere in it, and nothing else.

    DynamoDB deserializes the whole request before it validates values. Nesting beyond the limit of an item is not checked.
    """
    if type(value) is not dict:
        raise serialization(wrong_json_type(value, "AttributeValue"))
    for tag, content in value.items():
        if content is None or tag not in _CHECKS:
            continue
        if tag in _SCALARS:
            _SCALARS[tag](content)
            continue
        if type(content) is not (dict if tag == "M" else list):
            raise serialization(wrong_json_type(content, "Map" if tag == "M" else "List"))
        if tag in _MEMBERS:
            for member in content:
                _SCALARS[_MEMBERS[tag]](member)
        elif depth < MAX_NESTING:
            for member in content.values() if isinstance(content, dict) else content:
                check_types(member, depth + 1)


def _check_text(content: Any) -> None:
    if type(content) is not str:
        raise serialization(wrong_json_type(content, "String"))


def _check_binary(content: Any) -> None:
    _binary(content, 0)


_SCALARS: dict[str, Callable[[Any], object]] = {
    "S": _check_text,
    "N": _check_text,
    "B": _check_binary,
    "BOOL": parse_boolean,
    "NULL": parse_boolean,
}
_MEMBERS = {"SS": "S", "NS": "N", "BS": "B"}

_JAVA = {
    "String": "class java.lang.String",
    "Boolean": "class java.lang.Boolean",
    "Blob": "class java.nio.ByteBuffer",
    "AttributeValue": "class com.amazonaws.dynamodb.v20120810.AttributeValue",
    "Map": "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
}


def wrong_json_type(value: Any, expected: str) -> str:
    """DynamoDB's message for a JSON value of the wrong type; `expected` is String, Boolean, Blob, AttributeValue, Map or List."""
    if isinstance(value, dict):
        return "Start of structure or map found where not expected"
    if isinstance(value, list):
        return f"Unrecognized collection type {_JAVA[expected]}"
    if expected == "AttributeValue":
        return "Unexpected value type in payload"
    if expected == "Blob":
        return "only base-64-encoded strings are convertible to bytes"
    if expected in {"Map", "List"}:
        return "Unexpected field type"
    if isinstance(value, bool):
        return f"{'TRUE_VALUE' if value else 'FALSE_VALUE'} cannot be converted to {expected}"
    if isinstance(value, str):
        return "Unexpected token received from parser" if expected == "Boolean" else f"STRING_VALUE cannot be converted to {expected}"
    return f"{'NUMBER_VALUE' if isinstance(value, int) else 'DECIMAL_VALUE'} cannot be converted to {expected}"
