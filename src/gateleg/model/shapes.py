"""Shapes: how the values of a declared type are stored. They generate Python source that packs and unpacks a value; `codec` compiles it.

`pack(v, scope)` returns source for the wire value of the Python expression `v`; `unpack(w, scope)` returns source for the value that
pydantic validates, from the wire value `w`. `shape_of` chooses the shape of a declared type, once, when the entity is declared.
"""

from __future__ import annotations

import re
import zlib
from binascii import a2b_base64
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args, get_origin
from uuid import UUID

from orjson import OPT_UTC_Z, dumps
from pydantic import BaseModel, PydanticSchemaGenerationError, TypeAdapter

from gateleg.model.errors import EmptySet, EncodeError, UnsupportedType
from gateleg.model.key_parts import KeyPart
from gateleg.model.times import TimeFormat, time_format
from gateleg.model.types import Declared, is_special, read_annotation, traits_of, union_members
from gateleg.model.validation import json_reader, reading_validator
from gateleg.model.wire import (
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

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic.fields import FieldInfo

__all__ = ["UNKNOWN", "attr_type", "case_of", "field_names"]

#: The name under which an instance keeps attributes that its class does not declare. Not a field: pydantic preserves it, also in copies.
UNKNOWN = "_unknown"
_LISTS = {"list", "List", "Sequence", "deque", "Iterable", "Collection"}
_SETS = {"set", "frozenset", "Set", "MutableSet", "FrozenSet", "AbstractSet"}
_MAPS = {"dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "Dict"}

_REFUSED: dict[Any, str] = {
    object: "Declare the type of the values, or Any for everything that DynamoDB can store.",
    complex: "Use two attributes, or a list of two numbers.",
}


def shape_of(annotation: Any) -> Shape:
    """The shape of an attribute, without regard to None, which is stored as a missing attribute."""
    return _choose(read_annotation(annotation), annotation)


def element_shape(annotation: Any) -> Shape:
    """The shape of an element of a list or map, where None is stored as NULL."""
    shape = shape_of(annotation)
    return NullableShape(shape) if read_annotation(annotation).optional else shape


def attr_type(annotation: Any) -> Any:
    """The type inside `Attr[...]`; any other annotation unchanged."""
    return get_args(annotation)[0] if getattr(get_origin(annotation), "__is_attr__", False) else annotation


def field_names(name: str, info: FieldInfo, case: Callable[[str], str] | None) -> tuple[str, str]:
    """The name on the wire, and the name that pydantic expects in validation."""
    named = traits_of(info).name
    alias = info.validation_alias if isinstance(info.validation_alias, str) else info.alias
    if case is not None or named is not None:
        return named or (case(name) if case else name), alias or name
    return info.serialization_alias or info.alias or name, alias or name


def case_of(model: type[Any]) -> Callable[[str], str] | None:
    """The wire naming convention of an entity or record; None for other models, which use pydantic's aliases."""
    return getattr(model, "__wire_case__", None)


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

_SCALARS: dict[Any, ScalarShape] = {
    str: TEXT,
    bool: FLAG,
    int: INTEGER,
    float: FLOAT,
    Decimal: DECIMAL,
    bytes: BINARY,
    datetime: INSTANT,
    date: ISO_TEXT,
    time: ISO_TEXT,
    UUID: UUID_TEXT,
}


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


@dataclass(frozen=True)
class ModelShape(Shape):
    """An M that holds the fields of a pydantic model."""

    model: type[BaseModel]
    tag: ClassVar[str] = "M"

    def pack(self, v: str, scope: CodeScope) -> str:
        """A call of the model's packer, which is compiled at first use because models may be recursive."""
        return f'{{"M": {scope.bind(codec_for(self.model).pack, self.model.__name__)}({v})}}'

    def unpack(self, w: str, scope: CodeScope) -> str:
        """A call of the model's unpacker."""
        return f'{scope.bind(codec_for(self.model).unpack, self.model.__name__)}({w}["M"])'


@dataclass(frozen=True)
class UnionShape(Shape):
    """One of several types: models are told apart by class and discriminator, everything else is stored by its value."""

    models: tuple[type[BaseModel], ...]

    def pack(self, v: str, scope: CodeScope) -> str:
        """By the class of the value."""
        return f"{scope.bind(self._pack, 'union')}({v})"

    def unpack(self, w: str, scope: CodeScope) -> str:
        """By the discriminator, if the models have one."""
        return f"{scope.bind(self._unpack, 'union')}({w})"

    def _pack(self, value: Any) -> Any:
        for model in self.models:
            if type(value) is model:
                return {"M": codec_for(model).pack(value)}
        return wire(value)

    def _unpack(self, value: Any) -> Any:
        content = value.get("M")
        if content is None:
            return unwire(value)
        chosen = [model for model in self.models if _discriminated(model, content)]
        return codec_for(chosen[0]).unpack(content) if len(chosen) == 1 else unwire(value)


class ModelCodec:
    """Packs and unpacks one nested model; the source is generated when first needed."""

    def __init__(self, model: type[BaseModel]) -> None:
        self.model = model
        self._packer: Callable[[Any], dict[str, Any]] | None = None
        self._unpacker: Callable[[dict[str, Any]], Any] | None = None

    def pack(self, value: Any) -> dict[str, Any]:
        """The content of the M."""
        if self._packer is None:
            self._compile()
        assert self._packer is not None
        return self._packer(value)

    def unpack(self, content: dict[str, Any]) -> Any:
        """The input for pydantic: a dictionary, or an instance if unknown attributes must be kept."""
        if self._unpacker is None:
            self._compile()
        assert self._unpacker is not None
        return self._unpacker(content)

    def _compile(self) -> None:
        scope = CodeScope()
        scope.names |= {"keep": self._keep, "fail": self._fail}
        packs, unpacks, absents = [], [], []
        for name, info in self.model.model_fields.items():
            declared = read_annotation(attr_type(info.annotation))
            on_wire, by = field_names(name, info, case_of(self.model))
            shape = shape_of(attr_type(info.annotation))
            packs.append(f"    v = d[{name!r}]\n    if v is not None: m[{on_wire!r}] = {shape.pack('v', scope)}")
            null = ' and "NULL" not in w' if declared.optional or declared.type is Any else ""
            if info.is_required() and declared.optional:
                # It was None when it was written.
                absents.append(f"    d.setdefault({by!r}, None)")
            unpacks.append(f"    w = get({on_wire!r})\n    if w is not None{null}: d[{by!r}] = {shape.unpack('w', scope)}")
        source = "\n".join(
            [
                "def pack(value):",
                "    try: d = value.__dict__",
                "    except AttributeError: fail(value)",
                "    m = {}",
                *packs,
                f"    if {UNKNOWN!r} in d: m = {{**d[{UNKNOWN!r}], **m}}",
                "    return m",
                "def unpack(m):",
                "    d, get = {}, m.get",
                *unpacks,
                "    others = len(d) != len(m)",
                *absents,
                "    return keep(m, d) if others else d",
            ]
        )
        exec(compile(source, f"<codec of {self.model.__name__}>", "exec"), scope.names)
        self._packer, self._unpacker = scope.names["pack"], scope.names["unpack"]

    def _keep(self, content: dict[str, Any], values: dict[str, Any]) -> Any:
        known = {field_names(name, info, case_of(self.model))[0] for name, info in self.model.model_fields.items()}
        unknown = {key: value for key, value in content.items() if key not in known}
        if not unknown or self.model.model_config.get("extra") == "allow":
            return values | {key: unwire(value) for key, value in unknown.items()}
        instance = self._validate(values)
        vars(instance)[UNKNOWN] = unknown
        return instance

    @cached_property
    def _validate(self) -> Callable[[Any], Any]:
        return reading_validator(self.model)

    def _fail(self, value: Any) -> None:
        raise EncodeError(f"{value!r} is not a {self.model.__name__}.")


_codecs: dict[type[BaseModel], ModelCodec] = {}


def codec_for(model: type[BaseModel]) -> ModelCodec:
    """The codec of a nested model, made once."""
    if model not in _codecs:
        _codecs[model] = ModelCodec(model)
    return _codecs[model]


def _unpack_places(readers: tuple[Callable[[Any], Any], ...], elements: list[Any]) -> list[Any]:
    read = [reader(element) for reader, element in zip(readers, elements, strict=False)]
    return read + [unwire(element) for element in elements[len(readers) :]]


def _set_of(tag: str, texts: list[str]) -> dict[str, list[str]]:
    if not texts:
        raise EmptySet("DynamoDB cannot store an empty set.")
    texts.sort()
    return {tag: texts}


def _discriminated(model: type[BaseModel], content: dict[str, Any]) -> bool:
    """Whether the model has `Literal` fields, and each has one of its values in the map."""
    seen = False
    for name, info in model.model_fields.items():
        declared = read_annotation(attr_type(info.annotation))
        if get_origin(declared.type) is Literal:
            value = content.get(field_names(name, info, case_of(model))[0])
            if value is None or unwire(value) not in get_args(declared.type):
                return False
            seen = True
    return seen


def _choose(declared: Declared, annotation: Any) -> Shape:
    kind, origin = declared.type, get_origin(declared.type)
    if is_special(declared.metadata, "json") or is_special(declared.metadata, "compressed"):
        return JsonShape(_adapter(annotation), compressed=is_special(declared.metadata, "compressed"))
    if is_special(declared.metadata, "ttl"):
        if time_format(declared.metadata) not in (TimeFormat.ISO, TimeFormat.EPOCH_SECONDS):
            raise UnsupportedType("A TTL attribute cannot have a time format.", fix="Omit it: DynamoDB requires seconds since 1970.")
        return EPOCH
    if kind is datetime:
        return time_shape(time_format(declared.metadata))
    if kind in _REFUSED:
        raise UnsupportedType(f"{kind.__name__} cannot be stored.", fix=_REFUSED[kind])
    if kind in (Any, dict, list, tuple):
        return ANYTHING
    if origin is Literal:
        return _of_values(get_args(kind))
    if union_members(kind):
        return _of_union(union_members(kind))
    if origin is not None:
        return _of_generic(origin, get_args(kind), annotation)
    return _of_class(kind, annotation)


def _of_class(kind: Any, annotation: Any) -> Shape:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if not isinstance(kind, type):
        raise UnsupportedType(f"{kind!r} cannot be stored.", fix="Use a type that pydantic can validate.")
    if issubclass(kind, Enum):
        return _of_enum(kind)
    if issubclass(kind, BaseModel):
        return ModelShape(kind)
    if issubclass(kind, KeyPart):
        return PLAIN_TEXT
    if issubclass(kind, set | frozenset):
        raise UnsupportedType("A set needs the type of its elements.", fix="Write set[str] or set[int], for example.")
    for scalar in (datetime, str, int, float, Decimal, bytes):
        if issubclass(kind, scalar):
            return _SCALARS[scalar]
    return RichShape(_adapter(annotation))


def _of_enum(kind: type[Enum]) -> Shape:
    values = [member.value for member in kind]
    if all(isinstance(value, str) for value in values):
        return TEXT_ENUM
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return NUMBER_ENUM
    return ANYTHING


def _of_values(values: tuple[Any, ...]) -> Shape:
    kinds = {type(value) for value in values}
    return _SCALARS[kinds.pop()] if len(kinds) == 1 and kinds <= {str, int, bool, bytes} else ANYTHING


def _of_union(members: tuple[Any, ...]) -> Shape:
    declared = [read_annotation(member).type for member in members]
    models = tuple(kind for kind in declared if isinstance(kind, type) and issubclass(kind, BaseModel))
    return UnionShape(models) if models else ANYTHING


def _of_generic(origin: Any, arguments: tuple[Any, ...], annotation: Any) -> Shape:
    name = getattr(origin, "__name__", "")
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis):
        return TupleShape(tuple(element_shape(argument) for argument in arguments))
    if origin is tuple or name in _LISTS:
        return ListShape(element_shape(arguments[0]))
    if name in _SETS:
        element = shape_of(arguments[0])
        if not isinstance(element, ScalarShape) or element.kind not in ("S", "N", "B") or not element.source:
            raise UnsupportedType(
                f"{annotation} cannot be stored as a set.", fix="Use a list: sets in DynamoDB contain text, numbers or binary."
            )
        return SetShape(element)
    if name in _MAPS:
        text = read_annotation(arguments[0]).type is str
        element = element_shape(arguments[1])
        return ANYTHING if text and element is ANYTHING else MapShape(element, text_keys=text)
    if isinstance(origin, type) and issubclass(origin, BaseModel):
        return ModelShape(origin)
    return RichShape(_adapter(annotation))


def _adapter(annotation: Any) -> TypeAdapter[Any]:
    if get_origin(annotation) is Annotated and not isinstance(annotation, type):
        annotation = get_args(annotation)[0]
    try:
        return TypeAdapter(annotation)
    except PydanticSchemaGenerationError as error:
        raise UnsupportedType(f"pydantic cannot validate {annotation}.", fix="Use a type that pydantic supports.") from error
