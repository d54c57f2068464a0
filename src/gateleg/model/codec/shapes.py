"""Shapes: how the values of a declared type are stored. They generate Python source that packs and unpacks a value; `codec` compiles it.

`pack(v, scope)` returns source for the wire value of the Python expression `v`; `unpack(w, scope)` returns source for the value that
pydantic validates, from the wire value `w`. All decisions about types are made once, when the entity is declared.
"""

from __future__ import annotations

import re
import zlib
from binascii import a2b_base64
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from orjson import OPT_UTC_Z, dumps

from gateleg.model.attributes.constraints import json_reader
from gateleg.model.attributes.time_formats import TimeFormat
from gateleg.model.codec.wire import (
    NULL,
    UUID_SOURCE,
    binary_text,
    decimal_text,
    epoch_text,
    float_text,
    from_epoch,
    int_text,
    iso,
    map_key,
    number,
    unwire,
    wire,
)
from gateleg.model.errors import EmptySet

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import TypeAdapter


class CodeScope:
    """The names that generated source may use."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {
            "iso": iso,
            "from_iso": datetime.fromisoformat,
            "epoch_text": epoch_text,
            "from_epoch": from_epoch,
            "int_text": int_text,
            "float_text": float_text,
            "decimal_text": decimal_text,
            "binary_text": binary_text,
            "dumps": dumps,
            "OPT_UTC_Z": OPT_UTC_Z,
            "UTC": UTC,
            "from_binary": a2b_base64,
            "wire": wire,
            "unwire": unwire,
            "number": number,
            "map_key": map_key,
            "NULL": NULL,
            "_set": _set_of,
        }

    def bind(self, value: Any, hint: str) -> str:
        """Bind a value to a name and return the name; the same value always gets the same name."""
        for name, known in self.names.items():
            if known is value:
                return name
        name = re.sub(r"\W", "_", f"{hint}_{len(self.names)}")
        self.names[name] = value
        return name


def _set_of(tag: str, texts: list[str]) -> dict[str, list[str]]:
    if not texts:
        raise EmptySet("DynamoDB cannot store an empty set.")
    texts.sort()
    return {tag: texts}


@dataclass(frozen=True)
class Shape:
    """The base of all shapes, and the shape of Any, whose wire type depends on each value."""

    #: the wire type of every value; empty if it depends on the value
    tag: ClassVar[str] = ""

    def pack(self, v: str, scope: CodeScope) -> str:
        """Source for the wire value of the expression `v`."""
        return f"wire({v})"

    def unpack(self, w: str, scope: CodeScope) -> str:
        """Source for the value that pydantic validates, from the wire value `w`."""
        return f"unwire({w})"


@dataclass(frozen=True)
class ScalarShape(Shape):
    """An S, N, B or BOOL. `source` and `reader` are format strings for the code that writes and reads its content."""

    kind: str
    source: str
    reader: str = "{}"

    @property
    def tag(self) -> str:  # type: ignore[override]
        """S, N, B or BOOL."""
        return self.kind

    def text(self, v: str) -> str:
        """Source for the content: the wire value without its tag."""
        return self.source.format(v)

    def pack(self, v: str, scope: CodeScope) -> str:
        """The tag and the text."""
        return f'{{"{self.kind}": {self.text(v)}}}'

    def unpack(self, w: str, scope: CodeScope) -> str:
        """The text, mostly unchanged: pydantic parses numbers and UUIDs faster than Python does."""
        return self.reader.format(f'{w}["{self.kind}"]')


@dataclass(frozen=True)
class TimeShape(ScalarShape):
    """A time, written in one format and read from every known format."""

    format: TimeFormat = TimeFormat.ISO

    def pack(self, v: str, scope: CodeScope) -> str:
        """The time in the declared format."""
        return super().pack(v, scope) if self.format is TimeFormat.ISO else f"{scope.bind(self.format.pack, 'time')}({v})"

    def unpack(self, w: str, scope: CodeScope) -> str:
        """The time, from a text or a number."""
        return f"{scope.bind(self.format.unpack, 'from_time')}({w})"


def time_shape(format: TimeFormat) -> TimeShape:
    """The shape of times in a format."""
    return INSTANT if format == TimeFormat.ISO else TimeShape(format.kind, "", "", format)


TEXT = ScalarShape("S", "{0}")
INTEGER = ScalarShape("N", "(t if len(t := str({0})) < 39 else int_text({0}))")
# Frequent values are written without a function call: positive floats, and times in UTC with a fraction of a second.
FLOAT = ScalarShape("N", "(dumps(t).decode() if 1e-130 <= (t := {0}) < 1e126 else float_text(t))")
DECIMAL = ScalarShape("N", "decimal_text({0})")
FLAG = ScalarShape("BOOL", "{0}")
BINARY = ScalarShape("B", "binary_text({0})", "from_binary({0})")
INSTANT = TimeShape(
    "S",
    "(t if {0}.tzinfo is UTC and len(t := dumps({0}, None, OPT_UTC_Z).decode()[1:-1]) == 27 else iso({0}))",
    "from_iso({0})",
)
PLAIN_TEXT = ScalarShape("S", "str({0})")
UUID_TEXT = ScalarShape("S", UUID_SOURCE)
ISO_TEXT = ScalarShape("S", "{0}.isoformat()")
EPOCH = ScalarShape("N", "epoch_text({0})", "from_epoch({0})")
TEXT_ENUM = ScalarShape("S", "{0}._value_")
NUMBER_ENUM = ScalarShape("N", "int_text({0}._value_)", "number({0})")
ANYTHING = Shape()


@dataclass(frozen=True)
class NullableShape(Shape):
    """An element of a list or map that may be None, stored as NULL. (A None attribute is stored as missing instead.)"""

    inner: Shape

    def pack(self, v: str, scope: CodeScope) -> str:
        """NULL or the inner value."""
        return f"(NULL if {v} is None else {self.inner.pack(v, scope)})"

    def unpack(self, w: str, scope: CodeScope) -> str:
        """None or the inner value."""
        return f'(None if "NULL" in {w} else {self.inner.unpack(w, scope)})'


@dataclass(frozen=True)
class SetShape(Shape):
    """An SS, NS or BS."""

    element: ScalarShape

    @property
    def tag(self) -> str:  # type: ignore[override]
        """The element's tag plus "S"."""
        return self.element.kind + "S"

    def pack(self, v: str, scope: CodeScope) -> str:
        """The texts, sorted so that equal sets have equal wire values."""
        return f'_set("{self.tag}", [{self.element.text("x")} for x in {v}])'

    def unpack(self, w: str, scope: CodeScope) -> str:
        """A list, which pydantic converts to a set."""
        reader = self.element.reader
        return f'{w}["{self.tag}"]' if reader == "{}" else f'[{reader.format("x")} for x in {w}["{self.tag}"]]'


@dataclass(frozen=True)
class ListShape(Shape):
    """An L in which all elements have one shape."""

    element: Shape
    tag: ClassVar[str] = "L"

    def pack(self, v: str, scope: CodeScope) -> str:
        """The elements in order."""
        return f'{{"L": [{self.element.pack("x", scope)} for x in {v}]}}'

    def unpack(self, w: str, scope: CodeScope) -> str:
        """The elements in order."""
        return f'[{self.element.unpack("x", scope)} for x in {w}["L"]]'


@dataclass(frozen=True)
class TupleShape(Shape):
    """An L of fixed length with a shape for each position."""

    elements: tuple[Shape, ...]
    tag: ClassVar[str] = "L"

    def pack(self, v: str, scope: CodeScope) -> str:
        """Each position by its shape."""
        places = ", ".join(shape.pack(f"{v}[{at}]", scope) for at, shape in enumerate(self.elements))
        return f'{{"L": [{places}]}}'

    def unpack(self, w: str, scope: CodeScope) -> str:
        """Each position by its shape; pydantic checks the length."""
        readers = ", ".join(f"lambda x: {shape.unpack('x', scope)}" for shape in self.elements)
        name = scope.bind(_unpack_places, "places")
        return f'{name}(({readers},), {w}["L"])'


def _unpack_places(readers: tuple[Callable[[Any], Any], ...], elements: list[Any]) -> list[Any]:
    read = [reader(element) for reader, element in zip(readers, elements, strict=False)]
    return read + [unwire(element) for element in elements[len(readers) :]]


@dataclass(frozen=True)
class MapShape(Shape):
    """An M with arbitrary keys, in which all values have one shape."""

    element: Shape
    text_keys: bool = True
    tag: ClassVar[str] = "M"

    def pack(self, v: str, scope: CodeScope) -> str:
        """The values by the text of their keys."""
        key = "k" if self.text_keys else "map_key(k)"
        return f'{{"M": {{{key}: {self.element.pack("x", scope)} for k, x in {v}.items()}}}}'

    def unpack(self, w: str, scope: CodeScope) -> str:
        """The values by the text of their keys, which pydantic converts."""
        return f'{{k: {self.element.unpack("x", scope)} for k, x in {w}["M"].items()}}'


@dataclass(frozen=True)
class JsonShape(Shape):
    """A value stored as JSON text, or as compressed JSON."""

    adapter: TypeAdapter[Any]
    compressed: bool = False

    @property
    def tag(self) -> str:  # type: ignore[override]
        """B if compressed, else S."""
        return "B" if self.compressed else "S"

    def pack(self, v: str, scope: CodeScope) -> str:
        """The value as pydantic's JSON."""
        return f"{scope.bind(self._to_wire, 'to_json')}({v})"

    def unpack(self, w: str, scope: CodeScope) -> str:
        """The value that pydantic parses from the JSON."""
        return f"{scope.bind(self._from_wire, 'from_json')}({w})"

    def _to_wire(self, value: Any) -> dict[str, str]:
        text = self.adapter.dump_json(value)
        return {"B": binary_text(zlib.compress(text))} if self.compressed else {"S": text.decode()}

    @cached_property
    def _read(self) -> Callable[[str | bytes], Any]:
        return json_reader(self.adapter)

    def _from_wire(self, value: dict[str, str]) -> Any:
        return self._read(zlib.decompress(a2b_base64(value["B"])) if self.compressed else value["S"])


@dataclass(frozen=True)
class RichShape(Shape):
    """A type without a DynamoDB equivalent (IP addresses, URLs, durations, dataclasses, ...), stored in pydantic's JSON form."""

    adapter: TypeAdapter[Any]

    def pack(self, v: str, scope: CodeScope) -> str:
        """The JSON form, as a wire value."""
        return f"wire({scope.bind(self._plain, 'plain')}({v}))"

    def _plain(self, value: Any) -> Any:
        return self.adapter.dump_python(value, mode="json", exclude_none=True)
