"""The `with` blocks of stores: a transaction, a batch, a lock, the edit of an instance.

A block runs an operation when it is entered, when it is left, or both. Each is written once, as a `Block` of what it runs; `SyncBlock` and
`AsyncBlock` run it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from gateleg.model.errors import NotAnEntity
from gateleg.store.errors import BlockEnded
from gateleg.store.locks import Lock, release
from gateleg.store.operations import writes
from gateleg.store.operations.batches import BatchWrite, Transact
from gateleg.store.verbs import transaction_method

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from gateleg.store.operations.operation import Operation
    from gateleg.store.operations.write_operation import WriteOperation
    from gateleg.store.setup import Setup

V = TypeVar("V")
E = TypeVar("E", bound=BaseModel)


class Block(Generic[V]):
    """What a block runs, and what it makes of the results. `run` is the method of its store."""

    def __init__(self, run: Callable[[Operation[Any]], Any]) -> None:
        self._run = run

    def _opening(self) -> Operation[Any] | None:
        """The operation to run when the block is entered."""
        return None

    def _opened(self, result: Any) -> V:
        """The value after `as`, from the result of the first operation."""
        raise NotImplementedError

    def _closing(self, error: BaseException | None) -> Operation[Any] | None:
        """The operation to run when the block is left; `error` is what it raised."""
        raise NotImplementedError

    def _closed(self, result: Any) -> None:
        """Take the result of the last operation."""


class SyncBlock(Block[V]):
    """A `with` block of a `Store`."""

    def __enter__(self) -> V:
        opening = self._opening()
        return self._opened(None if opening is None else self._run(opening))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        closing = self._closing(error)
        if closing is not None:
            self._closed(self._run(closing))


class AsyncBlock(Block[V]):
    """An `async with` block of an `AsyncStore`."""

    async def __aenter__(self) -> V:
        opening = self._opening()
        return self._opened(None if opening is None else await self._run(opening))

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        closing = self._closing(error)
        if closing is not None:
            self._closed(await self._run(closing))


class WriteBlock(Block[Any]):
    """Collects writes in call order, and sends them at its end. If the block raises, nothing is sent."""

    #: in errors
    _noun = "batch"

    def __init__(self, setup: Setup, run: Callable[[Operation[Any]], Any]) -> None:
        super().__init__(run)
        self.setup = setup
        self.operations: list[WriteOperation[Any]] = []
        #: the results, set when the block has ended
        self.results: Any = None
        self._entered = False
        self._ended = False

    def add(self, operation: WriteOperation[Any]) -> None:
        """Add a write that was built as a value, such as `patch(job, ...)` from `gateleg.store`.

        Raises `BlockEnded` outside of the block.
        """
        if not self._entered or self._ended:
            when = "after its `with` block" if self._ended else "without a `with` block"
            raise BlockEnded(f"A write was added to a {self._noun} {when}, and would never be sent.")
        self.operations.append(operation)

    def operation(self) -> Operation[Any]:
        """The collected writes as one operation."""
        raise NotImplementedError

    def _opened(self, result: Any) -> Any:
        if self._entered:
            raise BlockEnded("The block of a transaction or batch was entered twice.")
        self._entered = True
        return self

    def _closing(self, error: BaseException | None) -> Operation[Any] | None:
        self._ended = True
        return self.operation() if error is None else None

    def _closed(self, result: Any) -> None:
        self.results = result


class TransactionBlock(WriteBlock):
    """The methods of a transaction."""

    _noun = "transaction"

    def __init__(self, setup: Setup, run: Callable[[Operation[Any]], Any], token: str | None = None) -> None:
        super().__init__(setup, run)
        self._token = token

    create = transaction_method(writes.create)
    put = transaction_method(writes.put)
    patch = transaction_method(writes.patch)
    upsert = transaction_method(writes.upsert)
    delete = transaction_method(writes.delete)
    check = transaction_method(writes.check)

    def operation(self) -> Operation[list[Any]]:
        """The transaction."""
        return Transact(tuple(self.operations), self._token)


class Transaction(TransactionBlock, SyncBlock["Transaction"]):
    """Writes that are executed atomically when the block ends: `with store.transaction() as tx: tx.patch(...)`.

    `results` then contains the stored instance of each create and put, and None for other operations, in call order. Errors are those of
    `transact`.
    """


class AsyncTransaction(TransactionBlock, AsyncBlock["AsyncTransaction"]):
    """As `Transaction`, for an `AsyncStore`: `async with store.transaction() as tx: tx.patch(...)`. Its methods are not awaited."""


class BatchBlock(WriteBlock):
    """The methods of a batch."""

    put = transaction_method(writes.put)
    delete = transaction_method(writes.delete)

    def operation(self) -> Operation[int]:
        """The batch."""
        return BatchWrite(tuple(self.operations))


class Batch(BatchBlock, SyncBlock["Batch"]):
    """Puts and deletes without conditions, sent when the block ends: `with store.batch() as batch: batch.put(...)`.

    `results` is then their number. Errors are those of `batch_write`.
    """


class AsyncBatch(BatchBlock, AsyncBlock["AsyncBatch"]):
    """As `Batch`, for an `AsyncStore`: `async with store.batch() as batch: batch.put(...)`. Its methods are not awaited."""


class LockBlock(Block[Lock]):
    """Acquires a lock, and releases it at its end, also if the block raises."""

    def __init__(self, acquire: Operation[Lock], run: Callable[[Operation[Any]], Any]) -> None:
        super().__init__(run)
        self._acquire = acquire
        self._lock: Lock

    def _opening(self) -> Operation[Lock]:
        return self._acquire

    def _opened(self, result: Lock) -> Lock:
        self._lock = result
        return result

    def _closing(self, error: BaseException | None) -> Operation[None]:
        return release(self._lock)


class HeldLock(LockBlock, SyncBlock[Lock]):
    """The block of `Store.lock`."""


class AsyncHeldLock(LockBlock, AsyncBlock[Lock]):
    """The block of `AsyncStore.lock`."""


class EditBlock(Block[E]):
    """Gives a copy of an instance to change, and saves the changes at its end. The copy then has the new version and stamps."""

    def __init__(self, instance: E, run: Callable[[Operation[Any]], Any]) -> None:
        super().__init__(run)
        argument: Any = instance
        if not isinstance(argument, BaseModel):
            kind = f"the class {argument.__name__}" if isinstance(argument, type) else type(argument).__name__
            raise NotAnEntity(
                f"edit takes an instance that was read, and was given {kind}.", fix="Read it first: store.edit(store.get(...))."
            )
        self._before = instance
        self._copy = instance.model_copy(deep=True)

    def _opened(self, result: Any) -> E:
        return self._copy

    def _closing(self, error: BaseException | None) -> Operation[E] | None:
        return writes.save(self._copy, before=self._before) if error is None else None

    def _closed(self, result: E) -> None:
        """Take over the stored values without validation, because they may violate newer bounds."""
        if result is not self._before:
            self._copy.__dict__.clear()
            self._copy.__dict__.update(result.__dict__)


class Edit(EditBlock[E], SyncBlock[E]):
    """The block of `Store.edit`."""


class AsyncEdit(EditBlock[E], AsyncBlock[E]):
    """The block of `AsyncStore.edit`."""
