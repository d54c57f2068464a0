"""`Attr[T]`: an expression on the class, for conditions and update actions, and a value on an instance. `Attribute` is its declaration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, cast, get_args, overload

from pydantic import BaseModel, PydanticSchemaGenerationError, TypeAdapter, ValidationError
from typing_extensions import TypeVar

from gateleg.errors import problem_message, shown
from gateleg.model.errors import ExpressionError, ExpressionValue, UnsupportedType
from gateleg.model.expressions.nodes import (
    AddAction,
    BooleanCall,
    Comparable,
    Condition,
    Constant,
    DeleteAction,
    DocumentPath,
    Operand,
    Placeholders,
    RemoveAction,
    SetAction,
    Size,
    Term,
    Transition,
    UpdateAction,
    ValueCall,
)
from gateleg.model.fields import States
from gateleg.model.key_parts import KeyPart
from gateleg.model.shapes import CodeScope, ListShape, SetShape, Shape, attr_type, case_of, field_names, shape_of
from gateleg.model.times import times_in_utc
from gateleg.model.types import did_you_mean, empty_is_absent, is_special, read_annotation
from gateleg.model.validation import Bounds, bounds_of, construct_unchecked, field_validator, schema_for_reading, validator_of
from gateleg.model.wire import wire

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from pydantic import GetCoreSchemaHandler
    from pydantic.fields import FieldInfo
    from pydantic_core import CoreSchema

    from gateleg.model.types import Declared, Traits
    from gateleg.model.wire import Value

__all__ = ["Attribute"]

T = TypeVar("T")
E = TypeVar("E")
S = TypeVar("S", bound=States)
#: The class that the attribute was read from; Any in declarations.
Of = TypeVar("Of", default=Any)
Owner = TypeVar("Owner")

WireType = Literal["S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"]


class Attr(Comparable[T, Of], Generic[T, Of]):
    """An attribute of an entity or record.

    Declare it as `status: Attr[JobStatus]`. On an instance, `job.status` is the value. On the class, `Job.status` is an expression: compare
    it to get a condition, or call a method such as `set` or `add` to get an update action. `attr[...]` addresses an element of a list
    (`[0]`), a value of a map (`["key"]`) or an attribute of a record (`[Logs.entries]`).
    """

    __is_attr__ = True

    def __init__(
        self,
        owner: type[Any],
        name: str,
        path: DocumentPath,
        annotation: Any,
        info: FieldInfo | None = None,
        *,
        leaf: Attr[Any] | None = None,
        parent: Attr[Any] | None = None,
    ) -> None:
        self.owner = owner
        self.name = name
        self.path = path
        self.annotation = annotation
        self.info = info
        #: the record's attribute at the end of the path, which validates values
        self.leaf: Any = leaf
        #: the list or map that contains this element
        self.parent: Any = parent

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type[Owner]) -> Attr[T, Owner]: ...
        @overload
        def __get__(self, instance: object, owner: type[Any]) -> T: ...
        def __get__(self, instance: object | None, owner: type[Any]) -> Any: ...
        def __set__(self, instance: object, value: T) -> None: ...

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The schema of the inner type, with all times converted to UTC."""
        arguments = get_args(source)
        kind = arguments[0] if arguments else Any
        try:
            return cast("CoreSchema", times_in_utc(handler.generate_schema(kind)))
        except PydanticSchemaGenerationError as error:
            raise UnsupportedType(
                f"{getattr(kind, '__name__', kind)} cannot be stored: pydantic cannot validate it.",
                fix="Make it a Record, a dataclass or another type that pydantic supports.",
            ) from error

    def __repr__(self) -> str:
        return f"{self.owner.__name__}.{self.name}"

    @cached_property
    def shape(self) -> Shape:
        """How the attribute is stored: its wire type, and how values are packed and unpacked."""
        return shape_of(self.annotation)

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.annotation)

    @cached_property
    def _comparer(self) -> Callable[[Any], Any]:
        """Validates the type but not the bounds, which do not apply to values that are compared or added."""
        return validator_of(schema_for_reading(self._adapter)).validate_python

    @cached_property
    def _reader(self) -> Callable[[Any], Any]:
        """Validates a value that was read, ignoring bounds."""
        checker = None if self.info is None else field_validator(self.owner, self.name, bounded=False)
        return checker or self._comparer

    @cached_property
    def bounds(self) -> Bounds | None:
        """The bounds that an update could break, or None."""
        return self.leaf.bounds if self.leaf is not None else bounds_of(self.annotation, self.info)

    @cached_property
    def _checker(self) -> Callable[[Any], Any] | None:
        """The field's validator, if it depends on nothing but the value. Frozen fields are left out: the planner refuses to update them."""
        if self.info is None or self.info.frozen or self.owner.__pydantic_decorators__.model_validators:
            return None
        return field_validator(self.owner, self.name)

    @cached_property
    def _guarded(self) -> Attr[Any] | None:
        """This attribute if updates must keep bounds (its own or its container's), else None."""
        outer = self.parent.bounds if self.parent is not None else None
        return self if self.bounds is not None or outer is not None else None

    @cached_property
    def _predecessors(self) -> dict[States, tuple[Constant[Any], ...]]:
        """Cache: the allowed predecessors of each target state that was used."""
        return {}

    @cached_property
    def _packer(self) -> Any:
        return _compiled_packer(self.shape)

    def validate(self, value: Any) -> T:
        """Validate a value with the field's constraints and validators; return it converted, or raise `ExpressionValue`."""
        if self.leaf is not None:
            return cast("T", self.leaf.validate(value))
        try:
            if self._checker is not None:
                return cast("T", self._checker(value))
            if self.info is None or self.owner.__pydantic_decorators__.model_validators:
                return cast("T", self._adapter.validate_python(value))
            probe = construct_unchecked(self.owner, {})
            self.owner.__pydantic_validator__.validate_assignment(probe, self.name, value)
            return cast("T", probe.__dict__[self.name])
        except ValidationError as error:
            if self.info is not None and self.info.frozen and error.errors()[0]["type"] == "frozen_field":
                return cast("T", self._adapter.validate_python(value))
            raise self._refusal(value, error) from None

    def read(self, value: Any) -> T:
        """Validate a value of a projected item; unlike `validate`, accepts values outside the attribute's bounds."""
        try:
            return cast("T", self._reader(value))
        except ValidationError as error:
            raise self._refusal(value, error) from None

    def _refusal(self, value: Any, error: ValidationError) -> ExpressionValue:
        reasons = "; ".join(problem_message(problem) for problem in error.errors())
        return ExpressionValue(f"{self!r} cannot be {shown(value)}: {reasons}.")

    def constant(self, value: Any) -> Constant[Any]:
        """An operand to compare with: validated as the attribute's type, without its constraints."""
        try:
            checked = self._comparer(value)
        except ValidationError as error:
            raise self._refusal(value, error) from None
        return Constant(checked, self._packer(checked))

    def written(self, value: Any) -> Constant[Any]:
        """An operand to store: validated with the attribute's constraints."""
        checked = self.validate(value)
        return Constant(checked, self._packer(checked))

    def packed(self, value: T) -> Value:
        """The wire value of a value that is already valid, such as one that was read."""
        return cast("Value", self._packer(value))

    def render(self, out: Placeholders) -> str:
        """The expression text of the path."""
        return out.path(self.path)

    def cache_key(self, values: list[Value]) -> Hashable:
        return self.path

    def paths(self) -> Iterator[DocumentPath]:
        """The attribute's own path."""
        yield self.path

    def exists(self) -> Condition[Of]:
        """A condition: the item has the attribute (`attribute_exists`)."""
        return BooleanCall("attribute_exists", (self,))

    def missing(self) -> Condition[Of]:
        """A condition: the item does not have the attribute (`attribute_not_exists`)."""
        return BooleanCall("attribute_not_exists", (self,))

    def is_type(self, kind: WireType) -> Condition[Of]:
        """A condition: the attribute is stored with this DynamoDB type, such as "S" or "N" (`attribute_type`)."""
        return BooleanCall("attribute_type", (self, Constant(kind, {"S": kind})))

    def begins_with(self, prefix: str) -> Condition[Of]:
        """A condition: the stored text begins with a prefix."""
        self._demand(("S", "B"), "begins_with", "text")
        return BooleanCall("begins_with", (self, Constant(prefix, wire(prefix))))

    def contains(self, element: Any) -> Condition[Of]:
        """A condition: a text contains a substring, or a set or list contains an element."""
        if isinstance(element, Operand):
            return BooleanCall("contains", (self, element))
        if isinstance(self.shape, SetShape | ListShape):
            return BooleanCall("contains", (self, self._element().constant(element)))
        return BooleanCall("contains", (self, Constant(element, wire(element))))

    def size(self) -> Size[Of]:
        """The size of the attribute, to compare: the length of a text or binary, or the number of elements."""
        return Size(self)

    def set(self, value: T | Operand[T]) -> UpdateAction[Of]:
        """Set the attribute to a value, to another attribute's value, or to a sum such as `Job.tries + 1`. None removes the attribute."""
        if isinstance(value, Operand):
            if isinstance(value, Attr) and self.shape.tag and value.shape.tag and self.shape.tag != value.shape.tag:
                raise ExpressionError(
                    f"{self!r} cannot get the value of {value!r}: it is stored as {self.shape.tag}, and the other as {value.shape.tag}.",
                    fix="Copy an attribute of the same type.",
                )
            return SetAction(self.path, self.owner, self.name, self._guarded, operand=value)
        if value is None:
            self.validate(None)
            return RemoveAction(self.path, self.owner, self.name, self._guarded)
        if not value and isinstance(self.shape, SetShape) and self.info is not None and empty_is_absent(self.info):
            return RemoveAction(self.path, self.owner, self.name, self._guarded)
        return SetAction(self.path, self.owner, self.name, self._guarded, operand=self.written(value))

    def force(self, value: T) -> UpdateAction[Of]:
        """Set a state without checking transitions, for manual repairs."""
        return SetAction(self.path, self.owner, self.name, self._guarded, operand=self.written(value), forced=True)

    def remove(self) -> UpdateAction[Of]:
        """Remove the attribute from the item."""
        return RemoveAction(self.path, self.owner, self.name, self._guarded)

    def add(self, value: T) -> UpdateAction[Of]:
        """Add to a number (a missing one counts as 0), or add elements to a set."""
        self._demand(("N", "NS", "SS", "BS"), "add", "numbers and sets")
        return AddAction(self.path, self.owner, self.name, self._guarded, operand=self._added(value))

    def _added(self, value: Any) -> Operand[Any]:
        """The operand of ADD. Elements of a set are validated; the bounds of a number apply to the sum, not to the addend."""
        added = self.constant(value)
        if isinstance(self.shape, SetShape) and isinstance(added, Constant):
            for element in added.value:
                self._element().validate(element)
        return added

    def delete(self, elements: T) -> UpdateAction[Of]:
        """Delete elements from a set."""
        self._demand(("NS", "SS", "BS"), "delete", "sets", fix="Write .remove() to take the attribute away.")
        return DeleteAction(self.path, self.owner, self.name, self._guarded, operand=self.constant(elements))

    @overload
    def append(self: Attr[list[E], Of], *values: E) -> UpdateAction[Of]: ...
    @overload
    def append(self: Attr[list[E] | None, Of], *values: E) -> UpdateAction[Of]: ...
    def append(self: Attr[Any, Of], *values: Any) -> UpdateAction[Of]:
        """Append elements to a list; a missing list counts as empty."""
        return self._extend(values, at_end=True)

    @overload
    def prepend(self: Attr[list[E], Of], *values: E) -> UpdateAction[Of]: ...
    @overload
    def prepend(self: Attr[list[E] | None, Of], *values: E) -> UpdateAction[Of]: ...
    def prepend(self: Attr[Any, Of], *values: Any) -> UpdateAction[Of]:
        """Insert elements at the beginning of a list; a missing list counts as empty."""
        return self._extend(values, at_end=False)

    def _demand(self, tags: tuple[str, ...], function: str, kinds: str, fix: str | None = None) -> None:
        """Refuse what works for other wire types only; a shape without a single one may hold anything."""
        tag = self.shape.tag
        if tag and tag not in tags:
            raise ExpressionError(f"{function} works on {kinds}, and {self!r} is stored as {tag}.", fix=fix)

    def _extend(self, values: tuple[Any, ...], *, at_end: bool) -> UpdateAction[Of]:
        self._demand(("L",), "append" if at_end else "prepend", "lists")
        old: Operand[Any] = ValueCall("if_not_exists", (self, Constant([], {"L": []})))
        new = self.constant([self._element().validate(value) for value in values])
        return SetAction(
            self.path, self.owner, self.name, self._guarded, operand=ValueCall("list_append", (old, new) if at_end else (new, old))
        )

    def if_not_exists(self, default: T) -> Term[T]:
        """The attribute's value, or a default if the item lacks it: an operand for `set`."""
        return Term(ValueCall("if_not_exists", (self, self.constant(default))), self)

    def __add__(self, other: T | Operand[T]) -> Operand[T]:
        return Term(self, self) + other

    def __sub__(self, other: T | Operand[T]) -> Operand[T]:
        return Term(self, self) - other

    @overload
    def to(self: Attr[S, Of], target: S) -> UpdateAction[Of]: ...
    @overload
    def to(self: Attr[S | None, Of], target: S) -> UpdateAction[Of]: ...
    def to(self: Attr[Any, Of], target: Any) -> UpdateAction[Of]:
        """Move to a state; the write fails with `IllegalTransition` unless the stored state allows the transition."""
        operand = self.written(target)
        state = operand.value
        if not isinstance(state, States):
            raise ExpressionError(f"{self!r} is not a state attribute.", fix="Use .set(...).")
        sources = self._predecessors.get(state)
        if sources is None:
            sources = self._predecessors[state] = tuple(self.constant(source) for source in sorted(state.predecessors))
        if not sources:
            raise ExpressionError(
                f"{state!r} has no predecessor: it is the initial state of {type(state).__name__}.", fix="Create a new item."
            )
        return Transition(self.path, self.owner, self.name, self._guarded, operand=operand, target=state, sources=sources)

    @overload
    def __getitem__(self, step: Attr[E, Any]) -> Attr[E, Of]: ...
    @overload
    def __getitem__(self: Attr[list[E], Of], step: int) -> Attr[E, Of]: ...
    @overload
    def __getitem__(self: Attr[dict[str, E], Of], step: str) -> Attr[E, Of]: ...
    @overload
    def __getitem__(self: Attr[Any, Of], step: str | int) -> Attr[Any, Of]: ...
    def __getitem__(self: Attr[Any, Of], step: Any) -> Attr[Any, Of]:
        """The element at a list index, the value at a map key, or an attribute of a record."""
        if isinstance(step, Attr):
            self._demand(("M",), f"[{step!r}]", "maps")
            return Attr(self.owner, f"{self.name}.{step.name}", (*self.path, *step.path), step.annotation, leaf=step)
        if isinstance(step, int):
            self._demand(("L",), f"[{step}]", "lists")
            if step < 0:
                raise ExpressionError(f"{self!r}[{step}] counts from the end of a list, which DynamoDB cannot.", fix="Use an index from 0.")
            return self._element(step)
        self._demand(("M",), f"[{step!r}]", "maps")
        kind = read_annotation(self.annotation).type
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return self[attribute_of(kind, step)]
        arguments = get_args(kind)
        return Attr(self.owner, f"{self.name}.{step}", (*self.path, step), arguments[1] if len(arguments) == 2 else Any, parent=self)

    def _element(self, at: int = 0) -> Attr[Any]:
        arguments = get_args(read_annotation(self.annotation).type)
        return Attr(self.owner, f"{self.name}[{at}]", (*self.path, at), arguments[0] if arguments else Any, parent=self)

    __hash__ = object.__hash__


def attribute_of(model: type[Any], name: str) -> Attr[Any]:
    """The attribute of a model by its Python name; an unknown one raises AttributeError."""
    info = model.__pydantic_fields__.get(name)
    if info is None:
        return _part_field(model, name)
    return Attr(model, name, (field_names(name, info, case_of(model))[0],), attr_type(info.annotation), info)


def _part_field(model: type[Any], name: str) -> Attr[Any]:
    """A field of one of the model's denormalised key parts, such as `Loan.tenant` for `place: Attr[Place]`."""
    for whole, info in model.__pydantic_fields__.items():
        part = read_annotation(attr_type(info.annotation)).type
        if not (isinstance(part, type) and issubclass(part, KeyPart) and name in part.__members__()):
            continue
        if not part.__denormalise__:
            raise AttributeError(
                f"{model.__name__}.{name} is a field of {part.__name__}, which is stored as one text. "
                f"Compare {model.__name__}.{whole} as a whole, or declare {part.__name__} with denormalise=True.",
                name=name,
                obj=model,
            )
        case = case_of(model)
        return Attr(model, name, (case(name) if case else name,), part.__members__()[name].type)
    known = list(model.__pydantic_fields__)
    others = [member for member in vars(model) if not member.startswith(("_", "model_")) and member not in known]  # patterns, keys, methods
    fix = did_you_mean(name, known + others, otherwise=f"It has {', '.join(known)}.")
    raise AttributeError(f"{model.__name__} has no attribute {name!r}. {fix}", name=name, obj=model)


def _compiled_packer(shape: Shape) -> Any:
    scope = CodeScope()
    return eval(f"lambda v: {shape.pack('v', scope)}", scope.names)


@dataclass(frozen=True, eq=False)
class Attribute:
    """One attribute of an entity."""

    name: str
    wire: str
    annotation: Any
    declared: Declared
    shape: Shape
    info: FieldInfo
    traits: Traits
    attr: Attr[Any]

    @cached_property
    def optional(self) -> bool:
        """Whether it may be None, which is stored as a missing attribute."""
        return self.declared.optional

    @cached_property
    def needed(self) -> bool:
        """Whether decoding fails for an item without it."""
        return self.info.is_required() or self.traits.create_only

    @cached_property
    def read_only(self) -> bool:
        """Whether it is set at creation and never updated: declared `read_only`, `stamp(on="create")` or pydantic's `frozen`."""
        return self.traits.read_only or self.traits.stamp == "create" or bool(self.info.frozen)

    @cached_property
    def state(self) -> bool:
        """Whether it is a state attribute, which changes only by declared transitions."""
        return isinstance(self.declared.type, type) and issubclass(self.declared.type, States)

    @cached_property
    def part(self) -> type[KeyPart] | None:
        """The `KeyPart` class of its value, if it is one."""
        kind = self.declared.type
        return kind if isinstance(kind, type) and issubclass(kind, KeyPart) else None

    def is_special(self, kind: str) -> bool:
        """Whether it has a special type: "version", "ttl", "s3-key", "json" or "compressed"."""
        return is_special(self.declared.metadata, kind)
