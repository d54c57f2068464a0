"""State machines: enumerations whose members declare their allowed transitions."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Self

from gateleg.model.errors import BadStates

#: As `from_` of a state: every other state may move to it.
ANY = "*"


class _StateText(str):
    """The value of a state with its declared transitions, used until the class is complete."""

    __slots__ = ("after", "before")

    before: tuple[str, ...]
    after: tuple[str, ...]


def state(value: str, *, to: Iterable[str] = (), from_: str | Iterable[str] = ()) -> str:
    """Declare a state: its stored value, the states that it may move `to`, and those that may move to it (`from_`; `ANY` for all).

    Other states are named by their stored values, so a state can refer to one that is declared after it.
    """
    text = _StateText(value)
    text.after = (to,) if isinstance(to, str) else tuple(to)
    text.before = (from_,) if isinstance(from_, str) else tuple(from_)
    return text


class States(StrEnum):
    """Base class of state machines: a text enumeration whose members declare transitions.

    The first member is the initial state, and every other state must be reachable from it; otherwise the class raises `BadStates`.
    """

    _after: frozenset[str]
    _before: frozenset[str]

    def __new__(cls, value: str) -> Self:
        """Keep the declared transitions on the member; `__init_subclass__` resolves them."""
        if not isinstance(value, _StateText):
            raise BadStates(f"{cls.__name__} has a member {value!r} without transitions.", fix=f"Declare it as state({value!r}, to=[...]).")
        member = str.__new__(cls, value)
        member._value_ = str(value)
        member._after = frozenset(value.after)
        member._before = frozenset(value.before)
        return member

    def __init_subclass__(cls) -> None:
        """Resolve both directions of every transition, and check that every state is reachable."""
        super().__init_subclass__()
        members = {member.value: member for member in cls}
        for name, member in cls.__members__.items():
            if name != member.name:
                raise BadStates(
                    f"{cls.__name__}.{name} has the value {member.value!r} of {member.name}.", fix="Give each state a value of its own."
                )
        for member in cls:
            unknown = (member._after | member._before) - members.keys() - {ANY}
            if unknown:
                raise BadStates(
                    f"{cls.__name__}.{member.name} refers to {', '.join(sorted(unknown))}, but {cls.__name__} has no such state.",
                    fix="Name states by their stored values, and declare each of them.",
                )
        before = {member.value: _expand(member._before, members, member.value) for member in cls}
        for member in cls:
            for target in _expand(member._after, members, member.value):
                before[target].add(member.value)
        for member in cls:
            member._before = frozenset(before[member.value])
            member._after = frozenset(target for target, sources in before.items() if member.value in sources)
        _check_reachable(cls, members)

    def __str__(self) -> str:
        return str(self.value)

    @property
    def successors(self) -> frozenset[Self]:
        """The states that this one may move to."""
        return frozenset(type(self)(value) for value in self._after)

    @property
    def predecessors(self) -> frozenset[Self]:
        """The states that may move to this one."""
        return frozenset(type(self)(value) for value in self._before)

    @property
    def final(self) -> bool:
        """Whether no transition leads out of this state."""
        return not self._after

    def may_become(self, target: Self) -> bool:
        """Whether the transition to `target` is declared."""
        return target.value in self._after


def _expand(names: frozenset[str], members: dict[str, States], own: str) -> set[str]:
    return {name for name in members if name != own} if ANY in names else set(names)


def _check_reachable(cls: type[States], members: dict[str, States]) -> None:
    if not members:
        return
    initial = next(iter(members))
    reached, frontier = {initial}, [initial]
    while frontier:
        for value in members[frontier.pop()]._after - reached:
            reached.add(value)
            frontier.append(value)
    lost = members.keys() - reached
    if lost:
        raise BadStates(
            f"{cls.__name__}: {', '.join(sorted(lost))} cannot be reached from {initial}.",
            fix="Add the transitions that lead there; the first member is the initial state.",
        )
