"""Methods of stores that return changed copies, and `with` blocks: for both kinds of stores, then for sync and async ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import BaseModel

from gateleg.model.keys.key_arguments import Presets
from gateleg.store.locks import AsyncHeld, Held, acquire
from gateleg.store.operations.edits import AsyncEdit, Edit
from gateleg.store.operations.operation import check_seconds, locate
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
    """Methods that both kinds of stores share. Copies with another scope, timeout or rule share the transport."""

    setup: Setup

    def _with(self, setup: Setup) -> Self:
        raise NotImplementedError

    def run(self, operation: Operation[Any]) -> Any:
        """Execute an operation and return its result."""
        raise NotImplementedError

    def scope(self, part: KeyPart | None = None, /, **components: Any) -> Self:
        """A store that is restricted to a partition: `store.scope(Partition("prod", "acme"))` or `store.scope(project_id=p)`.

        Its methods fill in these components of keys and patterns, and raise `OutOfScope` for anything that touches another partition. A
        scoped store can be restricted further, but not extended.
        """
        return self._with(replace(self.setup, scope=Scope.of(part, components).within(self.setup.scope)))

    def within(self, seconds: float) -> Self:
        """A store with a timeout for each operation, including all its requests and pauses; operations then raise `TimedOut`."""
        return self._with(replace(self.setup, timeout=check_seconds("within", seconds)))

    def reading(self, *, expired: bool | None = None, on_unreadable: OnUnreadable | None = None) -> Self:
        """A store with other rules for reads: `store.reading(expired=True)`, `store.reading(on_unreadable=bad.append)`.

        With `expired=True`, reads include expired items that the service has not yet deleted. `on_unreadable` is what queries, pages,
        collections and batches do with an item that cannot be decoded: leave it out and "warn" in the log, "raise" its error, or leave it
        out and call a function with an `Unreadable`.
        """
        rules: dict[str, Any] = {"expired": expired, "on_unreadable": on_unreadable}
        return self._with(replace(self.setup, **{name: rule for name, rule in rules.items() if rule is not None}))

    def moving(self, moves: Rewriter | None) -> Self:
        """A store for use while a migration moves items: operations on them are rewritten for the phase of the move.

        `moves` comes from `gateleg.migrate.Moving`. A host does this for its applications.
        """
        return self._with(replace(self.setup, moves=moves))

    def ask(self, pattern: Access[E], /, *conditions: Condition[E], **arguments: Any) -> Query[E]:
        """A pattern's query with the scope's components, to restrict or filter it: `acme.ask(Agent.by_update).filter(...)`."""
        return build_query(pattern, (*conditions, *self._presets()), arguments)

    def ref(self, entity: type[E], /, *key: Condition[E], **components: Any) -> Ref[E]:
        """A reference with the scope's components: `acme.batch_get([acme.ref(Agent, agent_version_uuid=v), ...])`."""
        return locate(entity, (*key, *self._presets()), components)

    def _presets(self) -> tuple[Any, ...]:
        return () if self.setup.scope is None else (Presets(self.setup.scope.values),)


class Views(SharedViews):
    """The `with` blocks of a `Store`."""

    def transaction(self, *, token: str | None = None) -> Transaction:
        """A block whose writes are executed atomically at its end: `with store.transaction() as tx: tx.patch(...); tx.create(...)`.

        Nothing is sent if the block raises. `tx.results` is then the result of `transact`, which also documents `token` and errors.
        """
        return Transaction(self.setup, self.run, token)

    def batch(self) -> Batch:
        """A block whose puts and deletes are sent at its end, not atomically: `with store.batch() as batch: batch.put(...)`.

        Nothing is sent if the block raises.
        """
        return Batch(self.setup, self.run)

    def lock(self, name: str, /, *, seconds: float, holder: str | None = None) -> Held:
        """A block that holds a lock: `with store.lock("nightly-export", seconds=60) as lock`. Raises `LockHeld` if it has another holder.

        The lock expires after `seconds` unless renewed: see `gateleg.store.locks`, whose table must exist.
        """
        return Held(acquire(name, seconds=seconds, holder=holder), self.run)

    def edit(self, instance: E, /) -> Edit[E]:
        """A block with a copy of an instance, whose changes are saved at its end: `with store.edit(job) as job: job.priority = 90`.

        After the block, the copy has the stored values, including the new version and stamps. Nothing is sent if the block raises or if
        nothing changed. Raises the errors of `patch`, such as `LostRace`.
        """
        return Edit(instance, self.run)


class AsyncViews(SharedViews):
    """The `async with` blocks of an `AsyncStore`."""

    def transaction(self, *, token: str | None = None) -> AsyncTransaction:
        """A block whose writes are executed atomically at its end: `async with store.transaction() as tx: tx.patch(...); tx.create(...)`.

        Nothing is sent if the block raises. `tx.results` is then the result of `transact`, which also documents `token` and errors.
        """
        return AsyncTransaction(self.setup, self.run, token)

    def batch(self) -> AsyncBatch:
        """A block whose puts and deletes are sent at its end, not atomically: `async with store.batch() as batch: batch.put(...)`.

        Nothing is sent if the block raises.
        """
        return AsyncBatch(self.setup, self.run)

    def lock(self, name: str, /, *, seconds: float, holder: str | None = None) -> AsyncHeld:
        """A block that holds a lock: `async with store.lock("nightly-export", seconds=60) as lock`. Raises `LockHeld`.

        The lock expires after `seconds` unless renewed: see `gateleg.store.locks`, whose table must exist.
        """
        return AsyncHeld(acquire(name, seconds=seconds, holder=holder), self.run)

    def edit(self, instance: E, /) -> AsyncEdit[E]:
        """A block with a copy of an instance, whose changes are saved at its end: `async with store.edit(job) as job: job.priority = 90`.

        After the block, the copy has the stored values, including the new version and stamps. Nothing is sent if the block raises or if
        nothing changed. Raises the errors of `patch`, such as `LostRace`.
        """
        return AsyncEdit(instance, self.run)
