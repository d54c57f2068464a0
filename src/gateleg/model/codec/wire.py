"""Values on the wire, as DynamoDB's JSON protocol has them: `{"S": "text"}`, `{"N": "1"}`, ...

A wire value is JSON-ready: numbers are text, binary is base64 text. An item is a dictionary of attribute name to wire value.
Wire values are never changed in place; they may be shared between attributes.
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

__all__ = ["Item", "Upcaster", "Value", "decimal_text", "float_text", "iso", "uuid_text"]

Value = dict[str, Any]
Item = dict[str, Value]
#: From an item of schema n-1, and the entity that it asked for if it did, to an item of schema n. It leaves its arguments alone.
Upcaster = Callable[..., Item]
#: From an item of schema n-1 to the reference of the item that its upcaster needs, or None.
Lookup = Callable[[Item], Any]

#: Integers beyond this have more than 38 digits.
INT_LIMIT = 10**38
_LARGEST = Decimal("9.9999999999999999999999999999999999999E+125")
_SMALLEST = Decimal("1E-130")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
NULL: Value = {"NULL": True}


def to_utc(value: datetime) -> datetime:
    """The same instant in UTC; a datetime without a time zone is refused."""
    if value.tzinfo is UTC:
        return value
    if value.utcoffset() is None:
        raise NaiveTime(f"{value!r} has no time zone.")
    return value.astimezone(UTC)


def iso(value: datetime) -> str:
    """Fixed-width ISO 8601 in UTC with microseconds and Z, so that text order is time order."""
    if value.tzinfo is not UTC:
        value = to_utc(value)
    # orjson writes times four times as fast as isoformat, but leaves out a fraction of zero.
    text = dumps(value, None, OPT_UTC_Z)[1:-1].decode()
    return text if len(text) == 27 else text[:19] + ".000000Z"


def uuid_text(value: UUID) -> str:
    """The 36 characters of a UUID, as str() gives them but in a third of the time."""
    return dumps(value)[1:-1].decode()


#: `uuid_text` as source, without a call.
UUID_SOURCE = "dumps({0})[1:-1].decode()"


def epoch_text(value: datetime) -> str:
    """Whole seconds since 1970, as TTL attributes want them."""
    return str((to_utc(value) - _EPOCH) // _SECOND)


def from_epoch(text: str) -> datetime:
    """The instant of a TTL attribute."""
    return _EPOCH + timedelta(seconds=int(text))


def int_text(value: int) -> str:
    """An integer of up to 38 digits."""
    if -INT_LIMIT < value < INT_LIMIT:
        return str(int(value))
    return decimal_text(Decimal(value))


def float_text(value: float) -> str:
    """The shortest text that reads back as the same float."""
    if 1e-130 <= value < 1e126 or -1e126 < value <= -1e-130 or value == 0:
        return dumps(value).decode()
    raise NumberRefused(f"{value!r} cannot be stored.")


def decimal_text(value: Decimal) -> str:
    """An exact decimal number; one with more than 38 significant digits is refused, never rounded."""
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
    """The number of a text whose Python type is not declared: int when whole, float when that is exact, else Decimal."""
    try:
        return int(text)
    except ValueError:
        exact = Decimal(text)
        guess = float(text)
        return guess if Decimal(repr(guess)) == exact else exact


def set_value(elements: Iterable[Any]) -> Value:
    """A set by the type of its elements: all text, all numbers or all binary."""
    values = [wire(element) for element in elements]
    if not values:
        raise EmptySet("An empty set cannot be stored.")
    tags = {tag for value in values for tag in value}
    if len(tags) != 1 or not tags <= {"S", "N", "B"}:
        raise UnsupportedType(f"A set holds text, numbers or binary, not {sorted(tags)}.", fix="Use a list for mixed or nested elements.")
    (tag,) = tags
    return {tag + "S": sorted(value[tag] for value in values)}


def wire(value: Any) -> Value:
    """The wire value of something whose type was not declared (`Any`, a loose dictionary, a union of scalars)."""
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
    raise UnsupportedType(f"{type(value).__name__} has no place on the wire.", fix="Declare the attribute's type, or store plain values.")


def map_key(key: Any) -> str:
    """The text of a dictionary key: maps on the wire have text keys only."""
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, datetime):
        return iso(key)
    if isinstance(key, str | int | UUID | date | Decimal) and not isinstance(key, bool):
        return str(key)
    raise UnsupportedType(f"{key!r} cannot be a key of a map.", fix="Keys of maps are text.")


def unwire(value: Value) -> Any:
    """The plain Python value of a wire value whose type was not declared."""
    ((tag, content),) = value.items()
    if tag == "S" or tag == "BOOL":
        return content
    if tag == "N":
        return number(content)
    # Text is most of what loose maps hold, and not worth a call for each.
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
    raise UnsupportedType(f"{tag!r} is not a wire type.", fix="Items hold S, N, B, BOOL, NULL, M, L, SS, NS and BS.")
