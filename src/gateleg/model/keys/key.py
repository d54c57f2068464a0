"""Keys as entities declare them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from pydantic import BaseModel

from gateleg.model.keys.key_arguments import key_components
from gateleg.model.keys.restrictions import read_when
from gateleg.model.keys.templates import Template, parse_template
from gateleg.model.layout import layout_of

if TYPE_CHECKING:
    from gateleg.model.codec.wire import Item
    from gateleg.model.expressions.nodes import Condition
    from gateleg.model.keys.plans import KeyPlan, Ref

__all__ = ["BoundKey"]

E = TypeVar("E", bound=BaseModel)
Form = str | Sequence[str]


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
        bound: BoundKey[Any] = BoundKey(owner, layout_of(owner).plan(self.index))
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
        layout = layout_of(self.entity)
        values = key_components(self.entity, conditions, components, layout.reachable(self.plan))
        return layout.locate(values) if self.plan is layout.key else layout.locate_validated(self.plan, values)

    def of(self, instance: E) -> Ref[E]:
        """The reference to the item of an instance."""
        return layout_of(self.entity).ref_in(self.plan, instance)

    def parse(self, item: Item) -> dict[str, Any]:
        """The components of a wire item's key, by name."""
        return self.plan.parse(item)
