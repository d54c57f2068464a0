"""Scopes: restrict a store to a partition, such as a tenant, a project or a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from gateleg.model import KeyPart, spec_of
from gateleg.store.errors import OutOfScope

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import BaseModel

    from gateleg.model.keys.plans import KeyPlan


class Located(Protocol):
    """An operation that a scope can check, because it knows which partitions it touches."""

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """For each partition that the operation touches: the entity, the key plan and the known components."""


@dataclass(frozen=True)
class Scope:
    """Key components, with their values, that all operations of a scoped store must have."""

    values: Mapping[str, Any]

    @classmethod
    def of(cls, part: KeyPart | None, components: Mapping[str, Any]) -> Scope:
        """The scope of a key part, or of components by name."""
        if part is not None and not isinstance(part, KeyPart):
            raise OutOfScope(f"{part!r} is not a key part.", fix='Give components by name, such as store.scope(tenant="acme").')
        unset = [name for name, value in components.items() if value is None]
        if unset:
            raise OutOfScope(f"The scope was given {unset[0]}=None.", fix="Give a value; None would bind nothing.")
        values = {name: getattr(part, name) for name in type(part).__members__()} if part is not None else {}
        values |= components
        if not values:
            raise OutOfScope("A scope without components binds nothing.", fix="Give a key part, or components by name.")
        return cls(values)

    def within(self, other: Scope | None) -> Scope:
        """This scope combined with an outer one: both apply."""
        if other is None:
            return self
        for name, value in other.values.items():
            if self.values.get(name, value) != value:
                raise OutOfScope(f"The scope has {name}={value!r} already.")
        return Scope({**other.values, **self.values})

    def check(self, operation: Located) -> None:
        """Raise `OutOfScope` for an operation that touches anything outside the scope."""
        for entity, plan, values in operation.partitions():
            self._check(entity, plan, values)

    def _check(self, entity: type[BaseModel], plan: KeyPlan, values: Mapping[str, Any]) -> None:
        spec = spec_of(entity)
        place = plan.index.name or spec.table.name
        hash_names = {name for entry in plan.hash for name in entry.names}
        loose = self.values.keys() - spec.arguments_of(hash_names)
        if loose:
            raise OutOfScope(
                f"{place} holds {spec.name} items of other partitions too: its hash does not depend on {', '.join(sorted(loose))}."
            )
        known = spec.arguments(values)
        for name, value in self.values.items():
            if known.get(name) != value:
                raise OutOfScope(f"{spec.name} with {name}={known.get(name)!r} is outside the scope, which has {name}={value!r}.")
