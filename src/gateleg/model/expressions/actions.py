"""Update actions as values, created by `attr.set(...)`, `.add(...)`, `.remove()`, `.to(...)` and others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from gateleg.model.errors import EmptyUpdate, OverlappingPaths

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from gateleg.model.attributes.states import States
    from gateleg.model.codec.wire import Value
    from gateleg.model.expressions.nodes import Operand, Path, Placeholders


#: the entity whose items the action changes, for type checkers; Any if unknown
E_contra = TypeVar("E_contra", contravariant=True, default=Any)


@dataclass(frozen=True, eq=False)
class Action(Generic[E_contra]):
    """One clause of an update, such as the result of `Job.priority.set(5)`. Pass it to `patch`, `upsert` and similar calls of a store."""

    path: Path
    #: the class and Python name of the attribute that created the action; None and empty for actions that the model adds
    owner: type[Any] | None = None
    attribute: str = ""
    #: the attribute itself, if its bounds or those of the list around it must be checked
    attr: Any = None

    def cache_key(self, values: list[Value]) -> Hashable:
        """The action without its values, as part of the key of a cached plan; appends the values to `values`."""
        return type(self), self.path, self.owner


@dataclass(frozen=True, eq=False)
class SetAction(Action):
    """SET path = operand."""

    operand: Operand[Any] = None  # type: ignore[assignment]
    #: whether a state was set with `.force`, without checking transitions
    forced: bool = False

    def cache_key(self, values: list[Value]) -> Hashable:
        """The path and the operand, without values."""
        return type(self), self.path, self.owner, self.forced, self.operand.cache_key(values)


@dataclass(frozen=True, eq=False)
class RemoveAction(Action):
    """REMOVE path."""


@dataclass(frozen=True, eq=False)
class AddAction(Action):
    """ADD path value: add to a number or set."""

    operand: Operand[Any] = None  # type: ignore[assignment]

    def cache_key(self, values: list[Value]) -> Hashable:
        """The path and the operand, without values."""
        return type(self), self.path, self.owner, self.operand.cache_key(values)


@dataclass(frozen=True, eq=False)
class DeleteAction(Action):
    """DELETE path value: delete elements from a set."""

    operand: Operand[Any] = None  # type: ignore[assignment]

    def cache_key(self, values: list[Value]) -> Hashable:
        """The path and the operand, without values."""
        return type(self), self.path, self.owner, self.operand.cache_key(values)


@dataclass(frozen=True, eq=False)
class Transition(SetAction):
    """SET path = state, allowed only from one of the state's predecessors."""

    target: States = None  # type: ignore[assignment]
    sources: tuple[Operand[Any], ...] = ()

    def cache_key(self, values: list[Value]) -> Hashable:
        """The path and the number of predecessors, which become values of a condition."""
        return super().cache_key(values), len(self.sources)


def render_actions(actions: Iterable[Action], out: Placeholders) -> str:
    """The update expression of the actions. Raises `EmptyUpdate` without actions, and `OverlappingPaths` if two write the same path."""
    sections: dict[str, list[str]] = {"SET": [], "REMOVE": [], "ADD": [], "DELETE": []}
    seen: list[Path] = []
    for action in actions:
        _check_overlap(action, seen)
        seen.append(action.path)
        path = out.path(action.path)
        if isinstance(action, SetAction):
            sections["SET"].append(f"{path} = {action.operand.render(out)}")
        elif isinstance(action, RemoveAction):
            sections["REMOVE"].append(path)
        elif isinstance(action, AddAction):
            sections["ADD"].append(f"{path} {action.operand.render(out)}")
        elif isinstance(action, DeleteAction):
            sections["DELETE"].append(f"{path} {action.operand.render(out)}")
    if not seen:
        raise EmptyUpdate("The update changes nothing.")
    return " ".join(f"{word} {', '.join(texts)}" for word, texts in sections.items() if texts)


def _check_overlap(action: Action, seen: list[Path]) -> None:
    for other in seen:
        length = min(len(other), len(action.path))
        if other[:length] == action.path[:length]:
            raise OverlappingPaths(f"The update writes {'.'.join(map(str, action.path))} twice.")
