"""Wire values, as in DynamoDB's JSON protocol: `{"S": "text"}`, `{"N": "1"}`, ...

Wire values can be written as JSON: numbers are text, binary is base64 text. An item is a dictionary from attribute name to wire value.
Wire values may be shared between attributes and must not be changed in place.
"""

from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Mapping, Set
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from orjson import OPT_UTC_Z, dumps
from pydantic import BaseModel

from gateleg.model.errors import EmptySet, NaiveTime, NumberRefused, UnsupportedType

__all__ = ["NULL", "Item", "Upcaster", "Value", "decimal_text", "float_text", "iso", "to_utc", "uuid_text", "wire"]

Value = dict[str, Any]
Item = dict[str, Value]
#: From an item of schema n-1 (and the entity that it needs, if it declared one) to an item of schema n. It must not change its arguments.
Upcaster = Callable[..., Item]
#: From an item of schema n-1 to a reference to the item that its upcaster needs, or None.
Lookup = Callable[[Item], Any]

#: Integers of this magnitude or more have more than 38 digits.
INT_LIMIT = 10**38
_LARGEST = Decimal("9.9999999999999999999999999999999999999E+125")
_SMALLEST = Decimal("1E-130")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
NULL: Value = {"NULL": True}


def to_utc(value: datetime) -> datetime:
    """The same instant in UTC. Raises `NaiveTime` without a time zone, and `ValueError` if UTC has no such year."""
    if value.tzinfo is UTC:
        return value
    if value.utcoffset() is None:
        raise NaiveTime(f"{value!r} has no time zone.")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        # In the first and last hours that Python supports. A ValueError names the attribute in the errors of validation.
        raise ValueError(f"{value.isoformat()} cannot be converted to UTC") from None


def iso(value: datetime) -> str:
    """Fixed-width ISO 8601 in UTC with microseconds and Z, so that text order is time order."""
    if value.tzinfo is not UTC:
        value = to_utc(value)
    # orjson formats times four times as fast as isoformat, but omits a fraction of zero.
    text = dumps(value, None, OPT_UTC_Z).decode()[1:-1]
    return text if len(text) == 27 else text[:19] + ".000000Z"


def uuid_text(value: UUID) -> str:
    """The 36 characters of a UUID, as from `str` but three times as fast."""
    return dumps(value).decode()[1:-1]


#: `uuid_text` as source, without a function call.
UUID_SOURCE = "dumps({0}).decode()[1:-1]"


def epoch_text(value: datetime) -> str:
    """Whole seconds since 1970, the form of TTL attributes."""
    return str((to_utc(value) - _EPOCH) // _SECOND)


def from_epoch(text: str) -> datetime:
    """The time of a TTL attribute."""
    return _EPOCH + timedelta(seconds=int(text))


def int_text(value: int) -> str:
    """The text of an integer; one with more than 38 significant digits is refused."""
    if -INT_LIMIT < value < INT_LIMIT:
        return str(int(value))
    return decimal_text(Decimal(value))


def float_text(value: float) -> str:
    """The shortest text that parses back to the same float."""
    if 1e-130 <= value < 1e126 or -1e126 < value <= -1e-130 or value == 0:
        return dumps(value).decode()
    raise NumberRefused(f"{value!r} cannot be stored.")


def decimal_text(value: Decimal) -> str:
    """The text of a decimal number; one with more than 38 significant digits is refused, never rounded."""
    if not value.is_finite():
        raise NumberRefused(f"{value!r} cannot be stored.")
    if not value:
        return "0"
    digits = value.as_tuple().digits
    significant = len(digits)
    while significant > 1 and digits[significant - 1] == 0:
        significant -= 1
    if significant > 38 or not _SMALLEST <= value.copy_abs() <= _LARGEST:
        raise NumberRefused(f"{value} cannot be stored exactly.")
    return str(value)


def binary_text(value: bytes) -> str:
    """Binary as base64 text."""
    return b64encode(value).decode()


def number(text: str) -> int | float | Decimal:
    """The number of a text whose Python type is not declared: an int if whole, a float if that is exact, else a Decimal."""
    try:
        return int(text)
    except ValueError:
        exact = Decimal(text)
        guess = float(text)
        return guess if Decimal(repr(guess)) == exact else exact


def set_value(elements: Iterable[Any]) -> Value:
    """The wire value of a set: SS, NS or BS by the type of its elements, which must all be text, numbers or binary."""
    values = [wire(element) for element in elements]
    if not values:
        raise EmptySet("DynamoDB cannot store an empty set.")
    tags = {tag for value in values for tag in value}
    if len(tags) != 1 or not tags <= {"S", "N", "B"}:
        raise UnsupportedType(
            f"A set must contain only text, only numbers or only binary, not {', '.join(sorted(tags))}.",
            fix="Use a list for mixed or nested elements.",
        )
    (tag,) = tags
    return {tag + "S": sorted(value[tag] for value in values)}


def wire(value: Any) -> Value:
    """The wire value of a Python value without a declared type (`Any`, an untyped dictionary, a union of scalars)."""
    kind = type(value)
    if kind is str:
        return {"S": value}
    if kind is bool:
        return {"BOOL": value}
    if kind is int:
        return {"N": int_text(value)}
    if kind is float:
        return {"N": float_text(value)}
    if kind is dict:
        return {"M": {key if type(key) is str else map_key(key): wire(element) for key, element in value.items()}}
    if kind is list or kind is tuple:
        return {"L": [wire(element) for element in value]}
    if value is None:
        return NULL
    return _wire_rare(value)


def _wire_rare(value: Any) -> Value:
    if isinstance(value, Enum):
        return wire(value.value)
    if isinstance(value, Decimal):
        return {"N": decimal_text(value)}
    if isinstance(value, datetime):
        return {"S": iso(value)}
    if isinstance(value, UUID | date | time):
        return {"S": str(value)}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"B": binary_text(bytes(value))}
    if isinstance(value, Set):
        return set_value(value)
    if isinstance(value, BaseModel):
        return {"M": {key: wire(element) for key, element in value.model_dump(by_alias=True).items() if element is not None}}
    if isinstance(value, str):
        return {"S": str(value)}
    if isinstance(value, int):
        return {"N": int_text(value)}
    if isinstance(value, float):
        return {"N": float_text(float(value))}
    if isinstance(value, Mapping):
        return wire(dict(value))
    if isinstance(value, list | tuple):
        return wire(list(value))
    raise UnsupportedType(f"{type(value).__name__} cannot be stored.", fix="Declare the attribute's type, or store plain values.")


def map_key(key: Any) -> str:
    """The text of a dictionary key: keys of DynamoDB maps are text."""
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, datetime):
        return iso(key)
    if isinstance(key, str | int | UUID | date | Decimal) and not isinstance(key, bool):
        return str(key)
    raise UnsupportedType(f"{key!r} cannot be a key of a map.", fix="Use text, whole numbers, UUIDs, dates or enumerations as keys.")


def unwire(value: Value) -> Any:
    """The Python value of a wire value without a declared type."""
    ((tag, content),) = value.items()
    if tag == "S" or tag == "BOOL":
        return content
    if tag == "N":
        return number(content)
    # Most values in untyped maps are text, so text is handled without a function call.
    if tag == "M":
        return {key: element["S"] if "S" in element else unwire(element) for key, element in content.items()}
    if tag == "L":
        return [element["S"] if "S" in element else unwire(element) for element in content]
    if tag == "NULL":
        return None
    if tag == "B":
        return a2b_base64(content)
    if tag == "SS":
        return set(content)
    if tag == "NS":
        return {number(element) for element in content}
    if tag == "BS":
        return {a2b_base64(element) for element in content}
    raise UnsupportedType(f"{tag!r} is not a wire type.", fix="Use S, N, B, BOOL, NULL, M, L, SS, NS or BS.")
