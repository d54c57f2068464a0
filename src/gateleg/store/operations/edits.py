"""`edit`: change an instance in a `with` block, and save the changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from gateleg.model.errors import NotAnEntity
from gateleg.store.operations.saves import save

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from gateleg.store.operations.operation import Operation

E = TypeVar("E", bound=BaseModel)


class Draft(Generic[E]):
    """A copy of an instance to change in a block. After the block, it has the stored values, including the new version and stamps."""

    def __init__(self, before: E, run: Callable[[Operation[Any]], Any]) -> None:
        given: Any = before
        if not isinstance(given, BaseModel):
            shown = f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
            raise NotAnEntity(
                f"edit takes an instance that was read, and was given {shown}.", fix="Read it first: store.edit(store.get(...))."
            )
        self._before = before
        self._draft = before.model_copy(deep=True)
        self._run = run

    def _save(self) -> Any:
        return self._run(save(self._draft, before=self._before))

    def _take(self, stored: E) -> None:
        """Copy the stored values into the draft, without validation, because stored values may violate newer bounds."""
        if stored is not self._before:
            self._draft.__dict__.clear()
            self._draft.__dict__.update(stored.__dict__)


class Edit(Draft[E]):
    """The context manager of `Store.edit`."""

    def __enter__(self) -> E:
        return self._draft

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self._take(self._save())


class AsyncEdit(Draft[E]):
    """The context manager of `AsyncStore.edit`."""

    async def __aenter__(self) -> E:
        return self._draft

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self._take(await self._save())
