"""Limit the linear algebra of numpy and scipy to one thread, so that results do not depend on the number of cores.

A BLAS library spreads each product over all cores, and a product on two cores rounds differently from one on one core. On a busy machine
its threads, which wait for each other by spinning, are also many times slower than a single one.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["one_blas_thread"]

#: Modules that load a BLAS library.
_LOADERS = ("numpy", "scipy.linalg")
_lock = threading.Lock()
_users = 0
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within this context, the process runs each linear algebra call, and this thread each OpenMP loop, on one thread.

    BLAS has one limit for the whole process. Contexts in several threads share it: the first one sets it, the last one restores it.
    """
    controller = _controller(tuple(name for name in _LOADERS if name in sys.modules))
    if controller is None:
        yield
        return
    with _shared_limit(controller), controller.limit(limits=1, user_api="openmp"):
        yield


@contextmanager
def _shared_limit(controller: Any) -> Iterator[None]:
    global _users, _limit
    with _lock:
        _users += 1
        if _users == 1:
            _let_any_thread_change_the_limit()
            _limit = controller.limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _let_any_thread_change_the_limit()
                _limit.restore_original_limits()
                _let_any_thread_change_the_limit()


def _let_any_thread_change_the_limit() -> None:
    """Since version 3.8, threadpoolctl silently ignores every thread except the first that changed the limit of OpenBLAS."""
    clear = getattr(import_module("threadpoolctl").OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


@cache
def _controller(loaded: tuple[str, ...]) -> Any:
    """The controller of the loaded BLAS libraries, cached because the search takes milliseconds; None without threadpoolctl."""
    try:
        return import_module("threadpoolctl").ThreadpoolController()
    except ModuleNotFoundError:
        return None
