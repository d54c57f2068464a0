"""Blocks that collect writes and send them at the end: transactions and batches. If the block raises, nothing is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

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
    """Keeps writes in call order until its block ends."""

    def __init__(self, setup: Setup, run: Callable[[Operation[Any]], Any]) -> None:
        self.setup = setup
        self._run = run
        self.operations: list[WriteOperation[Any]] = []
        #: what came of it, once the block has ended
        self.results: Any = None

    def add(self, operation: WriteOperation[Any]) -> None:
        """Keep a write that was built elsewhere."""
        self.operations.append(operation)

    def operation(self) -> Operation[Any]:
        """All of them as one operation."""
        raise NotImplementedError


class Block(Collecting):
    """The block of a `Store`. It cannot be entered with `async with`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.results = self._run(self.operation())


class AsyncBlock(Collecting):
    """The block of an `AsyncStore`. It cannot be entered with a plain `with`, which could not wait for the writes."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.results = await self._run(self.operation())


class TransactionWrites(Collecting):
    """The verbs of a transaction."""

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
    """The verbs of a batch."""

    put = adds(writes.put)
    delete = adds(writes.delete)

    def operation(self) -> Operation[int]:
        """The batch."""
        return BatchWrite(tuple(self.operations))


class Transaction(TransactionWrites, Block):
    """Writes that succeed or fail together when the block ends.

    `results` then has the stored instance of each create and put, and None for the rest, in call order.
    """


class AsyncTransaction(TransactionWrites, AsyncBlock):
    """The same in an `AsyncStore`: `async with store.transaction() as tx:`."""


class Batch(BatchWrites, Block):
    """Puts and deletes without conditions, sent when the block ends. `results` is then their number."""


class AsyncBatch(BatchWrites, AsyncBlock):
    """The same in an `AsyncStore`: `async with store.batch() as batch:`."""
