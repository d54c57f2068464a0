"""Transactions and batches as `with` blocks, which collect writes and send them at the end. If the block raises, nothing is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from gateleg.store.errors import BlockEnded
from gateleg.store.operations import writes
from gateleg.store.operations.batches import BatchWrite
from gateleg.store.operations.transactions import Transact
from gateleg.store.verbs import adds

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from gateleg.store.operations.operation import Operation
    from gateleg.store.operations.write_operation import WriteOperation
    from gateleg.store.setup import Setup


class Collecting:
    """Collects writes in call order until the block ends."""

    def __init__(self, setup: Setup, run: Callable[[Operation[Any]], Any]) -> None:
        self.setup = setup
        self._run = run
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
            kind = "transaction" if isinstance(self, TransactionWrites) else "batch"
            when = "after its `with` block" if self._ended else "without a `with` block"
            raise BlockEnded(f"A write was added to a {kind} {when}, and would never be sent.")
        self.operations.append(operation)

    def _enter(self) -> Self:
        if self._entered:
            raise BlockEnded("The block of a transaction or batch was entered twice.")
        self._entered = True
        return self

    def operation(self) -> Operation[Any]:
        """The collected writes as one operation."""
        raise NotImplementedError


class Block(Collecting):
    """A `with` block of a `Store`."""

    def __enter__(self) -> Self:
        return self._enter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended = True
        if error is None:
            self.results = self._run(self.operation())


class AsyncBlock(Collecting):
    """An `async with` block of an `AsyncStore`."""

    async def __aenter__(self) -> Self:
        return self._enter()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended = True
        if error is None:
            self.results = await self._run(self.operation())


class TransactionWrites(Collecting):
    """The methods of a transaction."""

    def __init__(self, setup: Setup, run: Callable[[Operation[Any]], Any], token: str | None = None) -> None:
        super().__init__(setup, run)
        self._token = token

    create = adds(writes.create)
    put = adds(writes.put)
    patch = adds(writes.patch)
    upsert = adds(writes.upsert)
    delete = adds(writes.delete)
    check = adds(writes.check)

    def operation(self) -> Operation[list[Any]]:
        """The transaction."""
        return Transact(tuple(self.operations), self._token)


class BatchWrites(Collecting):
    """The methods of a batch."""

    put = adds(writes.put)
    delete = adds(writes.delete)

    def operation(self) -> Operation[int]:
        """The batch."""
        return BatchWrite(tuple(self.operations))


class Transaction(TransactionWrites, Block):
    """Writes that are executed atomically when the block ends: `with store.transaction() as tx: tx.patch(...)`.

    `results` then contains the stored instance of each create and put, and None for other operations, in call order. Errors are those of
    `transact`.
    """


class AsyncTransaction(TransactionWrites, AsyncBlock):
    """As `Transaction`, for an `AsyncStore`: `async with store.transaction() as tx: tx.patch(...)`. Its methods are not awaited."""


class Batch(BatchWrites, Block):
    """Puts and deletes without conditions, sent when the block ends: `with store.batch() as batch: batch.put(...)`.

    `results` is then their number. Errors are those of `batch_write`.
    """


class AsyncBatch(BatchWrites, AsyncBlock):
    """As `Batch`, for an `AsyncStore`: `async with store.batch() as batch: batch.put(...)`. Its methods are not awaited."""
