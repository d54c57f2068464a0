"""Linear algebra in one thread: results do not depend on how many there are, and small matrices are quicker without them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


@cache
def _controller() -> Any:
    # Finding the libraries takes milliseconds, and an analysis asks for them a hundred times.
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Limit linear algebra to one thread while the context is open."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited
