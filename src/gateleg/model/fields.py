"""How the class of an entity declares attributes: defaults, constraints, wire names and states.

`field(default)`, `new_uuid()` and `stamp(...)` give an attribute a default; `required(...)` adds constraints to one without a default.
Type checkers then know which constructor arguments may be omitted. `States` are enumerations whose members declare their transitions.
"""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast, get_args, overload
from uuid import UUID, uuid4

from pydantic import Field

from gateleg.model.errors import BadOption, BadStates
from gateleg.model.types import Stamp, Traits, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pydantic.fields import FieldInfo

    from gateleg.model.attr import Attr

T = TypeVar("T")

_UNSET: Any = object()


@overload
def field(
    default: T,
    *,
    name: str | None = None,
    create_only: bool = False,
    read_only: bool = False,
    hidden: bool = False,
    title: str | None = None,
    description: str | None = None,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    pattern: str | None = None,
    discriminator: str | None = None,
) -> Attr[T]: ...


@overload
def field(
    *,
    factory: Callable[[], T],
    name: str | None = None,
    create_only: bool = False,
    read_only: bool = False,
    hidden: bool = False,
    title: str | None = None,
    description: str | None = None,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    pattern: str | None = None,
    discriminator: str | None = None,
) -> Attr[T]: ...


def field(default: Any = _UNSET, *, factory: Any = None, **options: Any) -> Any:
    """Declare an attribute with a default, or with a `factory` that makes one for each instance (`factory=lambda: Logs()`).

    `name` is the attribute name in DynamoDB. With `create_only`, the default applies to new instances only, and an item without the
    attribute cannot be read. A `read_only` attribute cannot be assigned or updated. A `hidden` one is left out of dumps and `repr`.
    The other options are pydantic's constraints. Raises `BadOption` for an unknown option.
    """
    for name in options:
        if name not in _OPTIONS:
            raise BadOption(f"field() has no option {name!r}.", fix=did_you_mean(name, _OPTIONS))
    if factory is not None:
        if not callable(factory):
            raise BadOption(f"field() has factory={factory!r}, which cannot be called.", fix="Give a type or a function: factory=list.")
        return _field_info(options, default_factory=factory)
    return _field_info(options) if default is _UNSET else _field_info(options, default=default)


def required(
    *,
    name: str | None = None,
    read_only: bool = False,
    hidden: bool = False,
    title: str | None = None,
    description: str | None = None,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    pattern: str | None = None,
    discriminator: str | None = None,
) -> Any:
    """Declare an attribute without a default, with options as in `field`."""
    return _field_info(dict(locals()))


def new_uuid(*, name: str | None = None) -> Attr[UUID]:
    """Declare an attribute that gets a random UUID in each new instance. `name` is the attribute name in DynamoDB."""
    return cast("Attr[UUID]", _field_info({"name": name, "create_only": True}, default_factory=uuid4))


def stamp(*, on: Stamp, name: str | None = None) -> Attr[datetime]:
    """Declare a time that is set automatically: once with `on="create"`, at every write with `on="write"`.

    `name` is the attribute name in DynamoDB.
    """
    if on not in get_args(Stamp):
        raise BadOption(f"stamp() has no on={on!r}.", fix='Use on="create" or on="write".')
    info = _field_info({"name": name, "stamp": on, "create_only": True}, default_factory=lambda: datetime.now(UTC))
    return cast("Attr[datetime]", info)


def _field_info(options: dict[str, Any], **defaults: Any) -> FieldInfo:
    traits = Traits(
        name=options.pop("name", None),
        stamp=options.pop("stamp", None),
        create_only=options.pop("create_only", False),
        read_only=options.pop("read_only", False),
    )
    if options.pop("hidden", False):
        options |= {"exclude": True, "repr": False}
    if traits.read_only:
        options["frozen"] = True
    info: FieldInfo = Field(**defaults, **{option: value for option, value in options.items() if value is not None})
    info.metadata.append(traits)
    return info


#: The options of `field`: those of `required`, and those for attributes with a default.
_OPTIONS = ("default", "factory", "create_only", *inspect.signature(required).parameters)
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
