"""Update actions as values. `attr.set(...)`, `.add(...)`, `.remove()`, `.to(...)` make them."""

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


#: the entity whose items the action changes, which type checkers compare with that of a verb; Any where it is not known
E_contra = TypeVar("E_contra", contravariant=True, default=Any)


@dataclass(frozen=True, eq=False)
class Action(Generic[E_contra]):
    """One clause of an update: what it writes, under which entity and attribute it was made."""

    path: Path
    #: the class whose attribute made the action, and the attribute's Python name; None for what the model adds by itself
    owner: type[Any] | None = None
    attribute: str = ""
    #: the attribute itself, where its bounds or those of a list around it must be kept
    attr: Any = None

    def outline(self, given: list[Value]) -> Hashable:
        """The clause without its values, which are added to `given`."""
        return type(self), self.path, self.owner


@dataclass(frozen=True, eq=False)
class SetAction(Action):
    """SET path = operand."""

    operand: Operand[Any] = None  # type: ignore[assignment]
    #: a state that was set by `.force`, past its transitions
    forced: bool = False

    def outline(self, given: list[Value]) -> Hashable:
        """What is set, and to what kind of operand."""
        return type(self), self.path, self.owner, self.forced, self.operand.outline(given)


@dataclass(frozen=True, eq=False)
class RemoveAction(Action):
    """REMOVE path."""


@dataclass(frozen=True, eq=False)
class AddAction(Action):
    """ADD path value: to a number, or into a set."""

    operand: Operand[Any] = None  # type: ignore[assignment]

    def outline(self, given: list[Value]) -> Hashable:
        """What is added to."""
        return type(self), self.path, self.owner, self.operand.outline(given)


@dataclass(frozen=True, eq=False)
class DeleteAction(Action):
    """DELETE path value: out of a set."""

    operand: Operand[Any] = None  # type: ignore[assignment]

    def outline(self, given: list[Value]) -> Hashable:
        """What is taken from."""
        return type(self), self.path, self.owner, self.operand.outline(given)


@dataclass(frozen=True, eq=False)
class Transition(SetAction):
    """A move to a state, from one of its predecessors."""

    target: States = None  # type: ignore[assignment]
    sources: tuple[Operand[Any], ...] = ()

    def outline(self, given: list[Value]) -> Hashable:
        """What is moved, and from how many states it may be: the states themselves are values of a condition."""
        return super().outline(given), len(self.sources)


def render_actions(actions: Iterable[Action], out: Placeholders) -> str:
    """The update expression: SET, REMOVE, ADD, DELETE, each once."""
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
