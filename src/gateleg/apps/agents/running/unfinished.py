"""Account for replies of handlers that do not use the host's models: what those report, or an estimate if they are interrupted."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from decimal import Decimal
from typing import TYPE_CHECKING

from gateleg.ai import Usage
from gateleg.apps.agents.errors import BadConfiguration

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from gateleg.ai import Delta, Message
    from gateleg.apps.agents.running.handlers.contract import AgentHandler
    from gateleg.apps.agents.running.run_work import RunWork

__all__ = ["ForeignReply", "model_of"]

#: The time limit in seconds: it must not delay a worker's shutdown.
_SECONDS = 5.0


class ForeignReply:
    """A reply, which is recorded here if the host's models have not recorded it."""

    def __init__(self, work: RunWork, handler: AgentHandler, messages: Sequence[Message]) -> None:
        self._work, self._handler, self._messages = work, handler, messages
        self._written: list[str] = []
        self._reported: Usage | None = None
        self._begun = False
        self._recorded = work.record.ended

    def take(self, delta: Delta) -> None:
        """Note the next piece. The last one carries the usage."""
        self._begun = True
        self._written += [delta.reasoning, delta.text]
        if delta.reply is not None:
            self._reported = delta.reply.usage

    @asynccontextmanager
    async def recorded(self) -> AsyncIterator[None]:
        """Record the reply at the end of the block, whether or not it is complete."""
        try:
            yield
        except BaseException:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SECONDS):
                    await self._record()
            raise
        await self._record()

    async def _record(self) -> None:
        if not self._begun or self._work.record.ended > self._recorded:
            return
        usage = self._estimate() if self._reported is None else self._reported
        await self._handler.models.book(model_of(self._handler), usage, "unknown" if self._reported is None else "answered")

    def _estimate(self) -> Usage:
        read = sum(self._handler.count(message.text) for message in self._messages)
        free = Decimal(0) if self._handler.provider == "local" else None
        return Usage(read, self._handler.count("".join(self._written)), cost=free, estimated=True)


def model_of(handler: AgentHandler) -> str:
    """The address of a handler's model, or the handler's name if it does not use one."""
    try:
        return handler.address[:200]
    except BadConfiguration:
        return type(handler).__name__
