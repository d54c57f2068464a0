"""Items that are stored in another form than the model writes today: of an older schema, under another key, or with other texts of values.

Upcasters are an application's functions that convert items of older schemas while they are read.

Another program may write a time as `2024-01-01T00:00:00.000000+0000` where the model writes `...Z`. Both are the same time, but as keys
they differ. An instance keeps the stored form if it differs from the model's, and as long as its values stay the same, that form is used
in its key and in conditions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from gateleg.model.errors import DeclarationError, DecodeError, LookupNeeded, MissingUpcaster, ModelError
from gateleg.model.keys import spec_of
from gateleg.model.shapes import BINARY, DECIMAL, FLOAT, INTEGER, NUMBER_ENUM, TEXT, TEXT_ENUM
from gateleg.model.wire import Item, Upcaster

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from pydantic import BaseModel

    from gateleg.model.keys import KeySource, Ref
    from gateleg.model.spec import Spec
    from gateleg.model.wire import Value

__all__ = ["schema_of", "upcast_steps", "upcasting_needs_lookup"]

F = TypeVar("F", bound=Upcaster)
P = TypeVar("P", bound="BaseModel")
T = TypeVar("T")

#: The name under which an instance keeps its `StoredForm`. Not a field: pydantic preserves it, also in copies.
STORED = "_stored"

#: Shapes whose values have only one form, or are compared by value.
ONE_FORM = (TEXT, TEXT_ENUM, INTEGER, DECIMAL, FLOAT, NUMBER_ENUM, BINARY)


@overload
def upcaster(entity: type[BaseModel], *, to: int) -> Callable[[F], F]: ...


@overload
def upcaster(
    entity: type[BaseModel], *, to: int, asks: Callable[[Item], Ref[P] | None]
) -> Callable[[Callable[[Item, P | None], Item]], Callable[[Item, P | None], Item]]: ...


def upcaster(entity: type[BaseModel], *, to: int, asks: Callable[[Item], Ref[Any] | None] | None = None) -> Callable[..., Any]:
    """Register a function that converts a wire item to schema number `to` of an entity declared with `schema=`.

    The function gets an item of schema `to - 1` and returns a new one. Items without a schema number have schema 1.

    If the conversion needs another item, `asks` is a function from the old item to the other item's reference, or None. The store reads
    the referenced items in batches, each once, and passes the entity to the conversion; it passes None if the item does not exist:

        @upcaster(Document, to=2, asks=lambda item: Repository.key(repository_id=item["repository_id"]["S"]))
        def into_default_collection(item: Item, repository: Repository | None) -> Item: ...

    Raises `DeclarationError` if the entity has no schema `to`, or already has an upcaster to it.
    """
    spec = spec_of(entity)
    if not 2 <= to <= spec.schema:
        raise DeclarationError(
            f"{spec.name} has schema {spec.schema}, so it cannot have an upcaster to schema {to}.",
            fix=f"Declare {spec.name} with schema={max(to, 2)}.",
        )
    if to in spec.upcasters:
        raise DeclarationError(f"{spec.name} has two upcasters to schema {to}.", fix="Keep one.")

    def register(step: F) -> F:
        spec.upcasters[to] = step
        if asks is not None:
            spec.lookups[to] = asks
        return step

    return register


def schema_of(item: Item, spec: Spec[Any]) -> int:
    """The schema number of an item."""
    return int(item.get(spec.table.schema, {"N": "1"})["N"])


def upcasting_needs_lookup(item: Item, spec: Spec[Any]) -> bool:
    """Whether upcasting an item needs other items."""
    return bool(spec.lookups) and schema_of(item, spec) < max(spec.lookups)


def upcast(item: Item, spec: Spec[Any]) -> Item:
    """Upcast an item to the entity's current schema; raise `LookupNeeded` if that needs another item.

    An item of a newer schema is returned unchanged; its unknown attributes are preserved.
    """
    steps = upcast_steps(item, spec)
    try:
        ref = next(steps)
    except StopIteration as end:
        current: Item = end.value
        return current
    raise LookupNeeded(f"An item of {spec.name} has schema {schema_of(item, spec)}; upcasting it needs {ref.entity.__name__} {ref.key}.")


def upcast_steps(item: Item, spec: Spec[Any]) -> Generator[Ref[Any], Any, Item]:
    """Upcast an item: yields references to items that its upcasters need, expects each entity (or None) sent back, and returns the item."""
    number = schema_of(item, spec)
    for step in range(number + 1, spec.schema + 1):
        if step not in spec.upcasters:
            raise MissingUpcaster(
                f"An item of {spec.name} has schema {number}, and no upcaster converts it to schema {step}.",
                fix=f"Register one with @upcaster({spec.name}, to={step}).",
            )
        if step in spec.lookups:
            ref = _attempt(spec, step, spec.lookups[step], item)
            item = _attempt(spec, step, spec.upcasters[step], item, None if ref is None else (yield ref))
        else:
            item = _attempt(spec, step, spec.upcasters[step], item)
    return item if number >= spec.schema else {**item, spec.table.schema: {"N": str(spec.schema)}}


def _attempt(spec: Spec[Any], step: int, function: Callable[..., T], *arguments: Any) -> T:
    try:
        return function(*arguments)
    except ModelError:
        raise
    except Exception as error:  # an application's function may raise anything
        raise DecodeError(f"The upcaster of {spec.name} to schema {step} failed: {type(error).__name__}: {error}.") from error


class StoredForm(NamedTuple):
    """The stored form of an item."""

    #: the values of the key's components, and the stored key; empty if the model would build the same key
    components: Mapping[str, Any]
    key: Item
    #: by name, values that index keys, markers or counters depend on, each with its stored form
    others: Mapping[str, tuple[Any, Value]]


def may_differ(source: KeySource | None) -> bool:
    """Whether a key attribute may be stored in another form than the model's. Plain text and numbers have only one."""
    return source is None or source.member is not None or source.shape not in ONE_FORM


def stored_key(values: Mapping[str, Any]) -> Item | None:
    """The key under which an instance with these values is stored, or None if it is the key that the model would build."""
    stored: StoredForm | None = values.get(STORED)
    if stored is None or not stored.key or any(values.get(name) != value for name, value in stored.components.items()):
        return None
    return stored.key


def stored_value(source: KeySource, values: Mapping[str, Any]) -> Value:
    """The wire value that the database holds for an attribute of an instance that was read."""
    value, stored = values[source.name], values.get(STORED)
    if stored is not None and source.name in stored.others and stored.others[source.name][0] == value:
        wire: Value = stored.others[source.name][1]
        return wire
    return source.pack(value)


def compared_sources(spec: Spec[Any]) -> tuple[KeySource, ...]:
    """The attributes outside the primary key that conditions compare and that may be stored in several forms."""
    names = {name for plan in spec.rewritable for name in plan.inputs}
    names |= {name for unique in spec.uniques.values() for name in unique.by}
    names |= {name for counter in spec.counters.values() for name in counter.when}
    sources = (source for name, source in spec.sources.items() if name in names and source.name not in spec.reachable(spec.key))
    return tuple(source for source in sources if source.member is None and source.shape not in ONE_FORM and source.shape.tag in ("S", "N"))


def keep_stored_form(spec: Spec[Any], item: Item, instance: BaseModel) -> None:
    """Attach the stored form to an instance, where it differs from what the model writes."""
    values = spec.values(instance)
    key, components = _foreign_key(spec, item, values)
    others = {}
    for source in compared_sources(spec):
        value, stored = values.get(source.name), item.get(source.wire)
        if value is not None and stored is not None and source.pack(value) != stored:
            others[source.name] = (value, stored)
    if key or others:
        vars(instance)[STORED] = StoredForm(components, key, others)


def _foreign_key(spec: Spec[Any], item: Item, values: Mapping[str, Any]) -> tuple[Item, dict[str, Any]]:
    key = {name: item[name] for name in spec.table.attributes if name in item}
    # The first write moves an item from a legacy key to the current key.
    if len(key) < len(spec.table.attributes) or any(plan.fits(item) for plan in spec.key.legacy):
        return {}, {}
    try:
        if spec.key.build(values) == key:
            return {}, {}
    except ModelError:
        pass
    return key, {name: values[name] for name in spec.key.names}
