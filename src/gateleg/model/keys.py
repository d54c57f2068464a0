"""Keys of items: as entities declare them (`Key`), as plans that build key attributes from values (`KeyPlan`), and as references (`Ref`).

The components of a reference come from a call's arguments: typed conditions, `Scene.sequence == 1`, or keywords, `sequence=1`. If they have
exactly the declared types they need no validation, and a compiled function builds the key in a single expression (`compile_ref`). `when=`
restricts an index or a counter to items with some values.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, NoReturn, TypeVar, cast, get_args, get_origin, overload

from pydantic import BaseModel, TypeAdapter, ValidationError

from gateleg.errors import problem_message, shown
from gateleg.model.attr import Attr
from gateleg.model.errors import BadWhen, EmptyKey, KeyValueError, MissingComponent, NotAKeyCondition, NotAnEntity, UnknownArgument
from gateleg.model.expressions.nodes import Comparison, Condition, Constant
from gateleg.model.key_parts import KeyPart
from gateleg.model.key_text import HIGH, IntegerComponent, Template, TextComponent, parse_template, render_source
from gateleg.model.shapes import CodeScope, Shape
from gateleg.model.types import did_you_mean
from gateleg.plain import is_plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.model.key_parts import TextKey
    from gateleg.model.key_text import Component
    from gateleg.model.spec import Spec
    from gateleg.model.tables import Index, KeyType
    from gateleg.model.types import Declared
    from gateleg.model.wire import Item, Value

__all__ = ["BoundKey", "KeyPlan", "Presets", "key_components"]

E_co = TypeVar("E_co", bound=BaseModel, covariant=True)

E = TypeVar("E", bound=BaseModel)

F = TypeVar("F", bound=Callable[..., Any])
Form = str | Sequence[str]
When = dict[str, tuple[Any, ...]]


def _cached(function: F) -> F:
    """`functools.cache`, which hides the types of a function."""
    return cast("F", cache(function))


class Key:
    """Declare how an entity's key attributes are built from its attributes.

    `key = Key("PROJECT#{project_id}", "SCENE#{sequence:03d}")` is the primary key; with `index=`, it is the key of that index. A template
    that consists of a single placeholder stores the attribute's value itself, so a number remains a number. An index whose key attributes
    are attributes of the entity needs no declaration.

    With `when={"status": ["PENDING"]}`, an item is in the index only if the attributes have one of the values. `shards=8` spreads each
    hash value of an index over 8 partitions. `legacy` lists older templates of the primary key, under which items are still found: a hash
    template, or a pair of templates. The first write moves such an item to its current key, where the release before does not find it. So
    the first release of a changed key declares `writes="legacy"`: it reads both forms, writes new items under the first legacy one, and
    leaves stored items where they are.
    """

    def __init__(
        self,
        hash: Form,
        range: Form = (),
        *,
        index: str = "",
        when: Mapping[str, Iterable[Any]] | None = None,
        shards: int = 1,
        legacy: Sequence[str | tuple[str, str]] = (),
        writes: Literal["current", "legacy"] = "current",
    ) -> None:
        self.index = index
        self.hash = _templates(hash)
        self.range = _templates(range)
        self.when = read_when(when)
        self.shards = shards
        self.legacy = tuple((form, None) if isinstance(form, str) else form for form in legacy)
        self.writes = writes

    @overload
    def __get__(self, instance: None, owner: type[E]) -> BoundKey[E]: ...
    @overload
    def __get__(self, instance: E, owner: type[E]) -> Ref[E]: ...
    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        """On the class, a `BoundKey`, which builds references; on an instance, the reference to that item."""
        bound: BoundKey[Any] = BoundKey(owner, spec_of(owner).plan(self.index))
        return bound if instance is None else bound.of(instance)


def _templates(form: Form) -> tuple[Template, ...]:
    return tuple(parse_template(text) for text in ((form,) if isinstance(form, str) else form))


class BoundKey(Generic[E]):
    """The key of an entity. Call it with the components of a key to get a reference to an item."""

    def __init__(self, entity: type[E], plan: KeyPlan) -> None:
        self.entity = entity
        self.plan = plan

    def __call__(self, *conditions: Condition[E], **components: Any) -> Ref[E]:
        """A reference to the item with these components: `Scene.key(sequence=1, ...)` or `Scene.key(Scene.sequence == 1, ...)`.

        Type checkers check the second form. Values are validated like the entity's attributes. Raises `MissingComponent`,
        `UnknownArgument` or another `KeyValueError` if they do not make a key.
        """
        spec = spec_of(self.entity)
        values = key_components(self.entity, conditions, components, spec.reachable(self.plan))
        return spec.locate(values) if self.plan is spec.key else spec.locate_validated(self.plan, values)

    def of(self, instance: E) -> Ref[E]:
        """The reference to the item of an instance."""
        return spec_of(self.entity).ref_in(self.plan, instance)

    def parse(self, item: Item) -> dict[str, Any]:
        """The components of a wire item's key, by name."""
        return self.plan.parse(item)


# Not frozen: every read creates one, and creating a frozen one takes three times as long.
@dataclass(slots=True)
class Ref(Generic[E_co]):
    """A reference to an item: its entity, the components of its key (`values`), and the key on the wire (`key`).

    `Job.key(job_id=...)` and `job.key` create one. A store accepts it wherever it accepts an instance.
    """

    entity: type[E_co]
    values: Mapping[str, Any]
    key: Item

    def legacy(self) -> list[Item]:
        """The item's keys under older templates (`Key(legacy=...)`), to try when the item is not found."""
        plans: tuple[KeyPlan, ...] = spec_of(self.entity).key.legacy
        return [plan.build(self.values) for plan in plans if plan.holds(self.values)]

    def __str__(self) -> str:
        """The entity and the components of the key, for messages: `Job(job_id='...')`. Numbers are without quotes."""
        names: tuple[str, ...] = spec_of(self.entity).key.names
        return f"{self.entity.__name__}({', '.join(f'{name}={_shown_component(self.values.get(name))}' for name in names)})"


def _shown_component(value: Any) -> str:
    """A component of a key for messages: numbers as they are, everything else as the text that it is known by."""
    return str(value) if isinstance(value, int | Decimal) and not isinstance(value, Enum) else repr(str(value))


# Cached because each call of the store needs it several times. A spec never changes once built, and lives as long as its table.
@_cached
def spec_of(entity: type[E]) -> Spec[E]:
    """The compiled metadata of an entity. Raises `NotAnEntity` for a class that is not an entity."""
    try:
        spec: Any = entity.__spec__  # type: ignore[attr-defined]
    except AttributeError:
        raise NotAnEntity(f"{getattr(entity, '__name__', entity)!s} is not an entity.") from None
    if isinstance(spec, property):
        # `entity` is the metaclass: the caller passed an entity class instead of an instance.
        raise NotAnEntity(
            "An entity class was passed where an instance is expected.", fix="Pass an instance of the entity, such as Book(title=...)."
        )
    return cast("Spec[E]", spec)


@dataclass(frozen=True)
class KeyPlan:
    """How one entity builds the key of its table or of an index."""

    index: Index
    hash: tuple[KeyField, ...]
    range: tuple[KeyField, ...]
    when: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    shards: int = 1
    legacy: tuple[KeyPlan, ...] = ()
    #: whether new items are stored under the first legacy key, and stored items stay where they are
    writes_legacy: bool = False

    @cached_property
    def fields(self) -> tuple[KeyField, ...]:
        """The hash fields, then the range fields."""
        return self.hash + self.range

    @cached_property
    def derived(self) -> tuple[KeyField, ...]:
        """The key attributes that are not attributes of the entity, so that encoding must add them."""
        return tuple(entry for entry in self.fields if not entry.natural)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all components, in order, without duplicates."""
        return tuple(dict.fromkeys(name for entry in self.fields for name in entry.names))

    @cached_property
    def inputs(self) -> frozenset[str]:
        """The names of all attributes that the key depends on: the components and the attributes of `when`."""
        return frozenset((*self.names, *self.when))

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether an item with these values is in the index."""
        for name in self.names:
            if values.get(name) is None:
                return False
        return not self.when or all(values.get(name) in allowed for name, allowed in self.when.items())

    def build(self, values: Mapping[str, Any], shard: int | None = None) -> Item:
        """The key attributes on the wire; empty if an item with these values is not in the index."""
        if not self.holds(values):
            return {}
        item = {entry.attribute: entry.value(values) for entry in self.fields}
        if shard is not None and self.shards > 1:
            first = self.hash[0].attribute
            item[first] = {"S": sharded(item[first]["S"], shard)}  # type: ignore[index]
        return item  # type: ignore[return-value]

    def require(self, values: Mapping[str, Any], entity: str) -> Item:
        """The key attributes on the wire; raise `MissingComponent` if a component is missing."""
        item = self.build(values)
        missing = [name for name in self.names if values.get(name) is None] if not item else ()
        if missing:
            raise missing_components(f"The key of {entity}", entity, missing)
        return item

    def fits(self, item: Item) -> bool:
        """Whether an item's key attributes match the templates."""
        for entry in self.fields:
            value = item.get(entry.attribute)
            if value is None or entry.type not in value or (entry.text is not None and not entry.text.matches(value["S"])):
                return False
        return True

    def parse(self, item: Item) -> dict[str, Any]:
        """The components in the key attributes of an item, in a form that pydantic accepts."""
        values: dict[str, Any] = {}
        for entry in self.fields:
            if entry.attribute not in item:
                continue
            if entry.text is not None:
                text = item[entry.attribute]["S"]
                if entry is self.hash[0] and self.shards > 1:
                    text = text.rsplit("#", 1)[0]
                values |= entry.text.parse(text)
            elif entry.source is not None:
                values[entry.source.name] = entry.source.unpack(item[entry.attribute])
        return values


@dataclass(frozen=True)
class KeyField:
    """One key attribute: a copy of an attribute's wire value, or text built from a template."""

    attribute: str
    #: the attribute whose wire value it copies; None for text
    source: KeySource | None
    text: TextKey | None
    type: KeyType

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its components."""
        return self.text.template.names if self.text is not None else (self._source.name,)

    @property
    def natural(self) -> bool:
        """Whether the key attribute is itself an attribute of the entity."""
        return self.source is not None and self.source.wire == self.attribute

    @property
    def _source(self) -> KeySource:
        assert self.source is not None
        return self.source

    def value(self, values: Mapping[str, Any]) -> Value | None:
        """The key attribute's wire value, or None if a component is None."""
        if self.text is not None:
            text, count = self.text.build_prefix(values)
            return {"S": text} if count == len(self.text.components) else None
        if values.get(self._source.name) is None:
            return None
        value = self._source.pack(values[self._source.name])
        if value in _EMPTY:
            empty_key(self.attribute, self._source.name)
        return value

    @property
    def prefix(self) -> str:
        """The literal text that every value begins with."""
        return self.text.template.prefix if self.text is not None else ""


def empty_key(owner: str, name: str) -> NoReturn:
    """Raise `EmptyKey`."""
    raise EmptyKey(f"{owner}: {name} is a key and cannot be empty.")


_EMPTY: tuple[Value, ...] = ({"S": ""}, {"B": ""})


def sharded(text: str, shard: int) -> str:
    """The hash value of one shard of an index."""
    return f"{text}#{shard}"


def shard_of(primary: Item, shards: int) -> int:
    """The shard of an item. It depends on the primary key only, so it never changes and every update can compute it."""
    text = "\x00".join(str(content) for value in primary.values() for content in value.values())
    return zlib.crc32(text.encode()) % shards


@dataclass(frozen=True, eq=False)
class KeySource:
    """A value that keys can be built from: an attribute, or a field of a key part (`member`) that an attribute holds."""

    name: str
    wire: str
    attribute: str
    member: str | None
    annotation: Any
    declared: Declared
    shape: Shape

    @cached_property
    def pack(self) -> Callable[[Any], Value]:
        """A function from the Python value to the wire value."""
        scope = CodeScope()
        packer: Callable[[Any], Value] = eval(f"lambda v: {self.shape.pack('v', scope)}", scope.names)
        return packer

    @cached_property
    def unpack(self) -> Callable[[Value], Any]:
        """A function from the wire value to a value that pydantic accepts."""
        scope = CodeScope()
        unpacker: Callable[[Value], Any] = eval(f"lambda w: {self.shape.unpack('w', scope)}", scope.names)
        return unpacker

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.annotation)

    def validate(self, value: Any, entity: str) -> Any:
        """Convert an argument to the declared type; raise `KeyValueError` if that fails."""
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            reasons = "; ".join(problem_message(problem) for problem in error.errors())
            raise KeyValueError(
                f"{entity}.{self.name} cannot be {shown(value)}: {reasons}.", fix="Pass a value of the attribute's type."
            ) from None


#: From components of exactly the declared types to a reference; None for other components, which must be validated first.
RefBuilder = Callable[[Mapping[str, Any]], Ref[E] | None]


def compile_ref(entity: type[E], key: KeyPlan, sources_by_name: Mapping[str, KeySource]) -> RefBuilder[E]:
    """Compile the function that builds references to an entity's items."""
    sources = [sources_by_name[name] for name in key.names]
    if is_plain("exact_refs") or not sources or not all(map(_is_exact, sources)):
        return lambda components: None
    scope, tests = CodeScope(), [f"len(components) == {len(sources)}"]
    for source in sources:
        tests.append(f"type(v_{source.name} := components[{source.name!r}]) is {scope.bind(source.declared.type, 'kind')}")
        if source.declared.type in (str, bytes):
            # Leave empty text to the validating path, which raises an error with the component's name.
            tests.append(f"v_{source.name}")
    fields = ", ".join(f"{entry.attribute!r}: {_field(entry, scope, tests)}" for entry in key.fields)
    ref = f"{scope.bind(Ref, 'Ref')}({scope.bind(entity, 'entity')}, components, {{{fields}}})"
    lines = ["def build(components):", f"  try: return {ref} if {' and '.join(tests)} else None", "  except KeyError: return None"]
    exec(compile("\n".join(lines), f"<key of {entity.__name__}>", "exec"), scope.names)
    builder: RefBuilder[E] = scope.names["build"]
    return builder


def _is_exact(source: KeySource) -> bool:
    """Whether a value of exactly the declared type needs no validation. A key part does: it also provides its fields."""
    kind = source.declared.type
    return isinstance(kind, type) and not issubclass(kind, KeyPart) and not source.declared.metadata


def _field(entry: KeyField, scope: CodeScope, tests: list[str]) -> str:
    """Source for the wire value of one key attribute; appends the conditions that it relies on to `tests`."""
    if entry.text is None:
        assert entry.source is not None
        return entry.source.shape.pack(f"v_{entry.source.name}", scope)
    template = entry.text.template
    pieces = [repr(template.literals[0])]
    for name, component, literal in zip(template.names, entry.text.components, template.literals[1:], strict=True):
        pieces += [_rendered(component, f"v_{name}", scope, tests), repr(literal)]
    return f'{{"S": {" + ".join(piece for piece in pieces if piece != repr(""))}}}'


def _rendered(component: Component, v: str, scope: CodeScope, tests: list[str]) -> str:
    """Source for the text of a component; plain text and padded numbers, the most frequent ones, are rendered without a function call."""
    if isinstance(component, TextComponent) and not component.fold:
        tests += [f"{delimiter!r} not in {v}" for delimiter in (*component.delimiters, HIGH)]
        return v
    if isinstance(component, IntegerComponent) and component.width and not component.descending:
        tests.append(f"0 <= {v} < {10**component.width}")
        return f"str({v}).zfill({component.width})"
    return render_source(component, v, scope.bind(component.render, "render"))


class Presets(NamedTuple):
    """Default components, such as those of a store's scope. Ones that a key does not have are ignored."""

    values: Mapping[str, Any]


def read_components(
    entity: type[Any], positional: Sequence[Condition | Presets], named: Mapping[str, Any], known: frozenset[str]
) -> tuple[dict[str, Any], Condition | None]:
    """The components by name, and the one condition that is not an equality, if any.

    `known` are the names of the key's components; presets with other names are ignored.
    """
    values: dict[str, Any] = {}
    presets: dict[str, Any] = {}
    rest: Condition | None = None
    for argument in positional:
        if isinstance(argument, Presets):
            presets = {name: value for name, value in argument.values.items() if name in known}
            continue
        component = _equality(entity, argument)
        if component is None:
            if rest is not None:
                raise NotAKeyCondition("Two conditions restrict the sort key, but DynamoDB accepts only one range.")
            rest = argument
            continue
        name, value = component
        if name in values or name in named:
            raise UnknownArgument(f"{entity.__name__}.{name} was passed twice.", fix="Pass each component once.")
        values[name] = value
    return {**presets, **values, **named}, rest


def key_components(
    entity: type[Any], positional: Sequence[Condition | Presets], named: Mapping[str, Any], known: frozenset[str]
) -> Mapping[str, Any]:
    """The components of a complete key, where every condition must be an equality."""
    if not positional:
        return named
    components, rest = read_components(entity, positional, named, known)
    if rest is not None:
        raise NotAKeyCondition(
            f"A condition for a key of {entity.__name__} does not compare one of its components with ==.",
            fix="Pass each component as Entity.component == value, and conditions on the stored item with condition=.",
        )
    return components


def _equality(entity: type[Any], condition: Condition) -> tuple[str, Any] | None:
    """The component and its value, if the condition compares a top-level attribute with a constant by ==."""
    if not isinstance(condition, Condition):
        raise NotAKeyCondition(f"{condition!r} is not a condition.", fix=f"Compare an attribute: {entity.__name__}.component == value.")
    if not (isinstance(condition, Comparison) and condition.operator == "=" and isinstance(condition.right, Constant)):
        return None
    attribute = condition.left
    if not isinstance(attribute, Attr) or len(attribute.path) != 1:
        return None
    if not issubclass(entity, attribute.owner):
        raise UnknownArgument(
            f"{attribute!r} is not an attribute of {entity.__name__}.", fix=f"Compare attributes of {entity.__name__} itself."
        )
    return attribute.name, condition.right.value


def missing_components(what: str, entity: str, names: Sequence[str]) -> MissingComponent:
    """The error for missing components of a key or pattern, which `what` describes."""
    listed, first = ", ".join(names), names[0]
    fix = f"Pass {'it' if len(names) == 1 else 'them'} by position, as {entity}.{first} == value, or by name, as {first}=value."
    return MissingComponent(f"{what} needs {listed}.", fix=fix, entity=entity, missing=tuple(names))


def read_when(when: Mapping[str, Iterable[Any]] | None) -> When:
    """Normalise a declared `when`: the values of each attribute become a tuple."""
    for name, values in (when or {}).items():
        if isinstance(values, str | bytes):
            raise BadWhen(f"when={{{name!r}: {values!r}}} has a text instead of a list of values.", fix=f"Write [{values!r}].")
    return {name: tuple(values) for name, values in (when or {}).items()}


def check_when(where: str, when: When, sources: Mapping[str, KeySource]) -> When:
    """Convert the values to the types of their attributes; raise `BadWhen` if that fails. `where` names the declaration in messages."""
    checked: When = {}
    for name, values in when.items():
        source = sources.get(name)
        if source is None:
            raise BadWhen(f"{where}: when= names {name!r}, which is not an attribute.", fix=did_you_mean(name, sources))
        if not values:
            raise BadWhen(f"{where}: when= has no value for {name}, so no item would ever match.", fix="List at least one value.")
        checked[name] = tuple(_checked(where, source, value) for value in values)
    return checked


def _checked(where: str, source: KeySource, value: Any) -> Any:
    try:
        return source.validate(value, where)
    except KeyValueError as error:
        choices = _choices(source.declared.type)
        fix = did_you_mean(value, choices) if choices else "Use values of the attribute's type."
        raise BadWhen(f"{where}: when= has {value!r}, which is not a possible value of {source.name}.", fix=fix) from error


def _choices(kind: Any) -> list[Any]:
    """The values of an enumeration or a Literal."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [member.value for member in kind]
    return list(get_args(kind)) if get_origin(kind) is Literal else []
