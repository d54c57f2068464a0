"""`TableStreams`: an application's handlers for the changes of its entities."""

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
    #: whether deletions must be by TTL (True), by programs (False), or either (None)
    expired: bool | None = None

    def wants(self, change: Change) -> bool:
        """Whether the handler is to be called with a change."""
        if change.entity is not self.entity or change.kind not in self.kinds:
            return False
        return self.expired is None or (change.kind == "deleted" and change.expired is self.expired)


class TableStreams:
    """The registry of an application's handlers for changes of its entities. Their tables must have streams.

    Changes of one item are delivered in order, each at least once: a change whose handler was interrupted is delivered again, with the same
    `change.event_id`, so that handlers can be idempotent. A failing handler is tried `attempts` times; then the change is stored with the
    error (a dead letter, see `StreamConsumer.failed`), and the next changes are delivered.
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

        `expired` selects deletions by TTL (True) or by programs (False). Failures are stored under the handler's name: the function's
        name, or `name`. Raises `BadHandler` if the table has no stream or the function is not async, and `HandlerTaken` for a second
        handler with the same name.
        """

        def register(handle: F) -> F:
            self.add(ChangeHandler(name or handle.__name__, entity, handle, tuple(kinds), expired))
            return handle

        return register

    def add(self, handler: ChangeHandler) -> None:
        """Register a handler. Raises `BadHandler` or `HandlerTaken`, like `on`."""
        table = spec_of(handler.entity).table
        if table.stream is None:
            fix = f'Declare it as Table({table.name!r}, ..., stream="NEW_AND_OLD_IMAGES").'
            raise BadHandler(f"{table.name} has no stream, so {handler.name} would never be called.", fix=fix)
        if not inspect.iscoroutinefunction(handler.handle):
            raise BadHandler(f"The handler {handler.name} is not async.", fix="Write async def; submit a job for long work.")
        if not is_name(handler.name):
            raise BadHandler(f"{handler.name!r} is not a valid name of a handler.", fix="Names have 1 to 100 letters, digits and _ . : / -")
        if handler.name in self._handlers:
            raise HandlerTaken(f"Two handlers have the name {handler.name}.", fix="Give one of them another name=.")
        self._handlers[handler.name] = handler

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables whose streams are read."""
        return tuple(dict.fromkeys(spec_of(handler.entity).table for handler in self))

    def find(self, name: str) -> ChangeHandler | None:
        """The handler with this name, or None."""
        return self._handlers.get(name)

    def __iter__(self) -> Iterator[ChangeHandler]:
        return iter(self._handlers.values())

    def __bool__(self) -> bool:
        return bool(self._handlers)
