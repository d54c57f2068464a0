"""`TableStreams`: the functions of an application that are called with the changes of its entities."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from gateleg.jobs.errors import BadHandler, HandlerTaken
from gateleg.jobs.names import is_name
from gateleg.model import Change, spec_of

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gateleg.model import Table

Kind = Literal["created", "changed", "deleted"]
HandleChange = Callable[[Change], Awaitable[object]]
F = TypeVar("F", bound=HandleChange)
_KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class ChangeHandler:
    """A function for the changes of one entity."""

    name: str
    entity: type[BaseModel]
    handle: HandleChange
    kinds: tuple[Kind, ...] = _KINDS
    #: only deletions by TTL (True), only the others (False), or both
    expired: bool | None = None

    def wants(self, change: Change) -> bool:
        """Whether it is to be called with a change."""
        if change.entity is not self.entity or change.kind not in self.kinds:
            return False
        return self.expired is None or (change.kind == "deleted" and change.expired is self.expired)


class TableStreams:
    """The handlers of an application for the changes of its entities, whose tables have streams.

    Changes of one item come in order, each at least once: one whose handler was cut short comes again. `change.event_id` is the same each
    time, and is what a handler makes its work idempotent by. A handler that fails is tried `attempts` times; the change is then kept,
    with the error, until it is repeated, and the next ones go on.
    """

    def __init__(self, *, attempts: int = 3) -> None:
        self.attempts = attempts
        self._handlers: dict[str, ChangeHandler] = {}

    def on(
        self,
        entity: type[BaseModel],
        *,
        kinds: Sequence[Kind] = _KINDS,
        expired: bool | None = None,
        name: str | None = None,
    ) -> Callable[[F], F]:
        """Register a function for the changes of an entity: `@streams.on(Order, kinds=["created"])`, `@streams.on(Session, expired=True)`.

        With `expired` the deletions by TTL are told apart from those of programs. The handler has the function's name, or `name`, under
        which its failures are kept.
        """

        def register(handle: F) -> F:
            self.add(ChangeHandler(name or handle.__name__, entity, handle, tuple(kinds), expired))
            return handle

        return register

    def add(self, handler: ChangeHandler) -> None:
        """Register a handler."""
        table = spec_of(handler.entity).table
        if table.stream is None:
            fix = f'Declare it as Table({table.name!r}, ..., stream="NEW_AND_OLD_IMAGES").'
            raise BadHandler(f"{table.name} has no stream, so nothing tells {handler.name} of its changes.", fix=fix)
        if not inspect.iscoroutinefunction(handler.handle):
            raise BadHandler(
                f"The handler {handler.name} is not async.", fix="Write async def; long work belongs into a job that it submits."
            )
        if not is_name(handler.name):
            raise BadHandler(f"{handler.name!r} cannot name a handler.", fix="Names have 1 to 100 letters, digits and _ . : / -")
        if handler.name in self._handlers:
            raise HandlerTaken(f"There are two handlers {handler.name}.", fix="Give one of them another name=.")
        self._handlers[handler.name] = handler

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables whose streams are read."""
        return tuple(dict.fromkeys(spec_of(handler.entity).table for handler in self))

    def find(self, name: str) -> ChangeHandler | None:
        """A handler by its name."""
        return self._handlers.get(name)

    def __iter__(self) -> Iterator[ChangeHandler]:
        return iter(self._handlers.values())

    def __bool__(self) -> bool:
        return bool(self._handlers)
