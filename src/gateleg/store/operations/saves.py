"""`retrying` and `save`: read, decide and write with retries; write the changes of an instance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from gateleg.model import Action, Ref, spec_of
from gateleg.model.planning import changed_attributes
from gateleg.store.errors import InvalidOption, LostRace
from gateleg.store.flow import Pause
from gateleg.store.operations.operation import Operation, locate
from gateleg.store.operations.reads import get
from gateleg.store.operations.write_kinds import Patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gateleg.model import Condition
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["Retrying", "Save"]

E = TypeVar("E", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Retrying(Operation[E], Generic[E]):
    """Change an item depending on its current state."""

    target: Ref[E] | E
    decide: Callable[[E], Iterable[Action[E]]]

    def flow(self, setup: Setup) -> Flow[E]:
        """Read, decide, patch; after a lost race, decide again on the stored item that the error contains."""
        ref = locate(self.target)
        current: E | None = None if isinstance(self.target, Ref) else self.target
        delays = setup.delays()
        while True:
            if current is None:
                current = yield from get(ref, consistent=True).flow(setup)
            actions = _decided(self.decide(current))
            if not actions:
                return current
            try:
                result: E = yield from Patch(current, actions).flow(setup)
                return result
            except LostRace as lost:
                delay = next(delays, None)
                if delay is None:
                    raise
                current = lost.current
            yield Pause(delay)

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        ref = locate(self.target)
        yield ref.entity, spec_of(ref.entity).key, ref.values


@dataclass(frozen=True, slots=True)
class Save(Operation[E], Generic[E]):
    """Write the differences between two versions of an instance."""

    changed: E
    before: E

    def flow(self, setup: Setup) -> Flow[E]:
        """A patch of the changed attributes; no request if none changed."""
        actions = tuple(changed_attributes(self.before, self.changed))
        if not actions:
            return self.before
        result: E = yield from Patch(self.before, actions).flow(setup)
        return result

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        for instance in (self.before, self.changed):
            ref = locate(instance)
            yield ref.entity, spec_of(ref.entity).key, ref.values


def retrying(
    target: type[E] | Ref[E] | E, decide: Callable[[E], Iterable[Action[E]]], /, *key: Condition[E], **components: Any
) -> Operation[E]:
    """Change an item depending on its current state: `retrying(Job, lambda job: [Job.priority.set(job.priority + 1)], job_id=j)`.

    `decide` is called with the stored instance and returns update actions, or none to leave the item unchanged. If another writer is
    faster, `decide` is called again with the new instance. Returns the stored instance. Raises `LostRace` after too many attempts.
    """
    if not callable(decide):
        raise InvalidOption("retrying takes a function that decides, and was given an action.", fix="Write lambda job: [Job.tries.add(1)].")
    place: Ref[E] | E = locate(target, key, components) if isinstance(target, type) or key or components else target
    return Retrying(place if isinstance(target, type) else target, decide)


def save(changed: E, /, *, before: E) -> Operation[E]:
    """Write only the attributes that differ from `before`, the instance that was read. Returns the stored instance.

    Raises `LostRace` if the item's version changed since `before` was read.
    """
    if type(changed) is not type(before):
        raise InvalidOption(
            f"save was given a {type(changed).__name__}, and before= is a {type(before).__name__}.",
            fix="Give the instance as it was read as before=, and a changed copy of it.",
        )
    return Save(changed, before)


def _decided(actions: Any) -> tuple[Action[Any], ...]:
    """The actions of a decision, which is a list of them."""
    if isinstance(actions, Action) or not isinstance(actions, Iterable):
        given = "None" if actions is None else "a single action" if isinstance(actions, Action) else repr(actions)
        raise InvalidOption(
            f"The function given to retrying returned {given}.", fix="Return a list of actions; an empty one changes nothing."
        )
    return tuple(actions)
