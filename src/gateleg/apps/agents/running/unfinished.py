"""Account for interrupted replies, whose run was cancelled, expired or lost its worker.

The provider reports no usage for them, so the tokens are estimated, and the run is marked accordingly.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from decimal import Decimal
from typing import TYPE_CHECKING

from gateleg.ai import Usage
from gateleg.apps.agents.errors import BadConfiguration
from gateleg.apps.agents.thread_tables import Run
from gateleg.apps.agents.usage import record_usage
from gateleg.store import StoreError, TransactionCanceled, patch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from gateleg.ai import Delta, Message
    from gateleg.apps.agents.running.handlers.contract import AgentHandler
    from gateleg.apps.agents.running.run_work import RunWork

__all__ = ["UnfinishedReply"]

#: Attempts while other writers change the run, and the time limit in seconds: it must not delay a worker's shutdown.
_ATTEMPTS, _SECONDS = 5, 5.0


class UnfinishedReply:
    """The part of a reply that was received so far."""

    def __init__(self, work: RunWork, handler: AgentHandler, messages: Sequence[Message]) -> None:
        self._work, self._handler, self._messages = work, handler, messages
        self._written: list[str] = []
        self._begun = False

    def take(self, delta: Delta) -> None:
        """Record the next piece. The last piece carries the exact usage, so nothing remains to be estimated."""
        self._begun = delta.reply is None
        self._written += [delta.reasoning, delta.text]

    @asynccontextmanager
    async def counted(self) -> AsyncIterator[None]:
        """Record estimated usage if the block ends before the reply is complete."""
        try:
            yield
        except BaseException:
            if self._begun:
                with suppress(StoreError, TimeoutError):
                    async with asyncio.timeout(_SECONDS):
                        await self._count()
            raise

    async def _count(self) -> None:
        usage, store = self._usage(), self._work.resources.store
        actions = [
            Run.prompt_tokens.add(usage.input),
            Run.completion_tokens.add(usage.output),
            Run.total_tokens.add(usage.total),
            Run.usage_estimated.set(True),
        ]
        for _ in range(_ATTEMPTS):
            run = await store.find(self._work.run, consistent=True)
            if run is None:
                return
            name = run.model or self._model()
            record = record_usage(run, store.setup.now().date(), name, usage, broken=True)
            try:
                await store.transact([patch(run, *actions, Run.model.set(name)), record])
            except TransactionCanceled:
                continue
            return

    def _model(self) -> str:
        """The model's address, or the handler's name if it does not use one."""
        try:
            return self._handler.address[:200]
        except BadConfiguration:
            return type(self._handler).__name__

    def _usage(self) -> Usage:
        read = sum(self._handler.count(message.text) for message in self._messages)
        free = Decimal(0) if self._handler.provider == "local" else None
        return Usage(read, self._handler.count("".join(self._written)), cost=free, estimated=True)
