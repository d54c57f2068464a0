"""Shapes of pydantic models inside items, and of unions of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args, get_origin

from gateleg.model.attributes.annotations import read_annotation
from gateleg.model.attributes.constraints import reading_validator
from gateleg.model.attributes.traits import traits_of
from gateleg.model.codec.shapes import CodeScope, Shape
from gateleg.model.codec.wire import unwire, wire
from gateleg.model.errors import EncodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    ShapeOf = Callable[[Any], Shape]

__all__ = ["UNKNOWN", "attr_type", "case_of", "field_names"]

#: The name under which an instance keeps attributes that its class does not declare. Not a field: pydantic preserves it, also in copies.
UNKNOWN = "_unknown"


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


@dataclass(frozen=True)
class ModelShape(Shape):
    """An M that holds the fields of a pydantic model."""

    model: type[BaseModel]
    shape_of: ShapeOf
    tag: ClassVar[str] = "M"

    def pack(self, v: str, scope: CodeScope) -> str:
        """A call of the model's packer, which is compiled at first use because models may be recursive."""
        return f'{{"M": {scope.bind(codec_for(self.model, self.shape_of).pack, self.model.__name__)}({v})}}'

    def unpack(self, w: str, scope: CodeScope) -> str:
        """A call of the model's unpacker."""
        return f'{scope.bind(codec_for(self.model, self.shape_of).unpack, self.model.__name__)}({w}["M"])'


@dataclass(frozen=True)
class UnionShape(Shape):
    """One of several types: models are told apart by class and discriminator, everything else is stored by its value."""

    members: tuple[tuple[type[BaseModel], Shape], ...]
    shape_of: ShapeOf

    def pack(self, v: str, scope: CodeScope) -> str:
        """By the class of the value."""
        return f"{scope.bind(self._pack, 'union')}({v})"

    def unpack(self, w: str, scope: CodeScope) -> str:
        """By the discriminator, if the models have one."""
        return f"{scope.bind(self._unpack, 'union')}({w})"

    def _pack(self, value: Any) -> Any:
        for model, _ in self.members:
            if type(value) is model:
                return {"M": codec_for(model, self.shape_of).pack(value)}
        return wire(value)

    def _unpack(self, value: Any) -> Any:
        content = value.get("M")
        if content is None:
            return unwire(value)
        chosen = [model for model, _ in self.members if _discriminated(model, content)]
        return codec_for(chosen[0], self.shape_of).unpack(content) if len(chosen) == 1 else unwire(value)


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


def case_of(model: type[Any]) -> Callable[[str], str] | None:
    """The wire naming convention of an entity or record; None for other models, which use pydantic's aliases."""
    return getattr(model, "__wire_case__", None)


class ModelCodec:
    """Packs and unpacks one nested model; the source is generated when first needed."""

    def __init__(self, model: type[BaseModel], shape_of: ShapeOf) -> None:
        self.model = model
        self.shape_of = shape_of
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
            shape = self.shape_of(attr_type(info.annotation))
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


def codec_for(model: type[BaseModel], shape_of: ShapeOf) -> ModelCodec:
    """The codec of a nested model, made once."""
    if model not in _codecs:
        _codecs[model] = ModelCodec(model, shape_of)
    return _codecs[model]
