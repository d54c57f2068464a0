"""Changing an instance in a block and saving what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from gateleg.store.operations.saves import save

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from gateleg.store.operations.operation import Operation

E = TypeVar("E", bound=BaseModel)


class Edit(Generic[E]):
    """A block with a copy of an instance. `stored` is the item as it is after the block."""

    def __init__(self, before: E, run: Callable[[Operation[Any]], Any]) -> None:
        self._before = before
        self._draft = before.model_copy(deep=True)
        self._run = run
        self.stored: E = before

    def __enter__(self) -> E:
        return self._draft

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.stored = self._run(save(self._draft, before=self._before))

    async def __aenter__(self) -> E:
        return self._draft

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.stored = await self._run(save(self._draft, before=self._before))
