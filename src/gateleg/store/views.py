"""Other views of the same store, and blocks of writes: what both stores share, then what differs because one of them awaits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import BaseModel

from gateleg.model.keys.key_arguments import Presets
from gateleg.store.locks import AsyncHeld, Held, acquire
from gateleg.store.operations.edits import AsyncEdit, Edit
from gateleg.store.operations.operation import locate
from gateleg.store.operations.queries import build_query
from gateleg.store.operations.unit_of_work import AsyncBatch, AsyncTransaction, Batch, Transaction
from gateleg.store.scopes import Scope

if TYPE_CHECKING:
    from gateleg.model import Access, Condition, KeyPart, Query, Ref
    from gateleg.store.operations.operation import Operation
    from gateleg.store.setup import Rewriter, Setup
    from gateleg.store.unreadable import OnUnreadable

E = TypeVar("E", bound=BaseModel)


class SharedViews:
    """What both stores share. A store with another scope, timeout or prefix is a copy with one thing replaced; all share the transport."""

    setup: Setup

    def _with(self, setup: Setup) -> Self:
        raise NotImplementedError

    def run(self, operation: Operation[Any]) -> Any:
        """Carry out an operation."""
        raise NotImplementedError

    def scope(self, part: KeyPart | None = None, /, **components: Any) -> Self:
        """This store inside one partition: `store.scope(Partition("prod", "acme"))` or `store.scope(project_id=p)`.

        Keys and patterns then need no such component any more, and whatever would touch another partition is refused with `OutOfScope`.
        A scope cannot be left, only narrowed.
        """
        return self._with(replace(self.setup, scope=Scope.of(part, components).within(self.setup.scope)))

    def within(self, seconds: float) -> Self:
        """This store with a time for each operation, all its requests and pauses included; `TimedOut` when it is over."""
        return self._with(replace(self.setup, timeout=seconds))

    def reading(self, *, expired: bool | None = None, on_unreadable: OnUnreadable | None = None) -> Self:
        """This store with other rules for reads: `store.reading(expired=True)`, `store.reading(on_unreadable=bad.append)`.

        `expired=True` shows items whose time is over, until the service has deleted them. `on_unreadable` is what queries, pages,
        collections and batches do with an item that its entity cannot read: "warn" in the log and leave it out, "raise" its error, or
        call a function with it.
        """
        rules: dict[str, Any] = {"expired": expired, "on_unreadable": on_unreadable}
        return self._with(replace(self.setup, **{name: rule for name, rule in rules.items() if rule is not None}))

    def moving(self, moves: Rewriter | None) -> Self:
        """This store for entities whose items are being moved: what is done with them is done as the phase of their move asks.

        `gateleg.migrate.Moving` says which they are. A host does this for its applications.
        """
        return self._with(replace(self.setup, moves=moves))

    def ask(self, pattern: Access[E], /, *conditions: Condition[E], **arguments: Any) -> Query[E]:
        """A pattern's query with the scope's components, to be narrowed or filtered: `acme.ask(Agent.by_update).filter(...)`."""
        return build_query(pattern, (*conditions, *self._presets()), arguments)

    def ref(self, entity: type[E], /, *key: Condition[E], **components: Any) -> Ref[E]:
        """A reference with the scope's components: `acme.batch_get([acme.ref(Agent, agent_version_uuid=v), ...])`."""
        return locate(entity, (*key, *self._presets()), components)

    def _presets(self) -> tuple[Any, ...]:
        return () if self.setup.scope is None else (Presets(self.setup.scope.values),)


class Views(SharedViews):
    """The views and blocks of a `Store`."""

    def transaction(self, *, token: str | None = None) -> Transaction:
        """A block whose writes succeed or fail together: `with store.transaction() as tx: tx.patch(...); tx.create(...)`.

        Nothing is sent when the block raises. `tx.results` has what `transact` answers.
        """
        return Transaction(self.setup, self.run, token)

    def batch(self) -> Batch:
        """A block whose puts and deletes are sent together, not atomically: `with store.batch() as batch: batch.put(...)`.

        Nothing is sent when the block raises.
        """
        return Batch(self.setup, self.run)

    def lock(self, name: str, /, *, seconds: float, holder: str | None = None) -> Held:
        """A block that holds a lock: `with store.lock("nightly-export", seconds=60) as lock`; `LockHeld` while it has another holder.

        See `gateleg.store.locks`, whose table must be there.
        """
        return Held(acquire(name, seconds=seconds, holder=holder), self.run)

    def edit(self, instance: E, /) -> Edit[E]:
        """A block with a copy to change; what changed is saved when the block ends: `with store.edit(job) as job: job.priority = 90`.

        After the block the copy is the stored item, with its new version and stamps. Nothing is sent when the block raises or nothing
        changed.
        """
        return Edit(instance, self.run)


class AsyncViews(SharedViews):
    """The views and blocks of an `AsyncStore`. A plain `with` is an error: it could not wait for the requests."""

    def transaction(self, *, token: str | None = None) -> AsyncTransaction:
        """A block whose writes succeed or fail together: `async with store.transaction() as tx: tx.patch(...); tx.create(...)`.

        Nothing is sent when the block raises. `tx.results` has what `transact` answers.
        """
        return AsyncTransaction(self.setup, self.run, token)

    def batch(self) -> AsyncBatch:
        """A block whose puts and deletes are sent together, not atomically: `async with store.batch() as batch: batch.put(...)`.

        Nothing is sent when the block raises.
        """
        return AsyncBatch(self.setup, self.run)

    def lock(self, name: str, /, *, seconds: float, holder: str | None = None) -> AsyncHeld:
        """A block that holds a lock: `async with store.lock("nightly-export", seconds=60) as lock`; `LockHeld` while it has another holder.

        See `gateleg.store.locks`, whose table must be there.
        """
        return AsyncHeld(acquire(name, seconds=seconds, holder=holder), self.run)

    def edit(self, instance: E, /) -> AsyncEdit[E]:
        """A block with a copy to change; what changed is saved when the block ends: `async with store.edit(job) as job: job.priority = 90`.

        After the block the copy is the stored item, with its new version and stamps. Nothing is sent when the block raises or nothing
        changed.
        """
        return AsyncEdit(instance, self.run)
