"""How the network uses the processor: each batch on one core, several batches side by side.

A BLAS library by itself spreads every product over all cores, and its threads wait for each other by spinning: on a machine that has other
work to do, that is many times slower than one thread.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

A = TypeVar("A")
R = TypeVar("R")
_lock = threading.Lock()
_users = 0
_limit: Any = None


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_core_each() -> Iterator[None]:
    """Within this, a product uses one core. It holds for the whole process, as BLAS knows nothing else; the last one out undoes it."""
    global _users, _limit
    with _lock:
        _users += 1
        if _users == 1:
            _limit = _limited()
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0 and _limit is not None:
                _limit.restore_original_limits()
                _limit = None


def side_by_side(work: Callable[[A], R], entries: Sequence[A]) -> list[R]:
    """The results for all entries in order, on as many cores as there are."""
    with one_core_each():
        if len(entries) < 2 or cores() < 2:
            return [work(entry) for entry in entries]
        with ThreadPoolExecutor(min(cores(), len(entries)), thread_name_prefix="gateleg-minilm") as threads:
            return list(threads.map(work, entries))


def _limited() -> Any:
    controller = _controller()
    return None if controller is None else controller.limit(limits=1, user_api="blas")


@cache
def _controller() -> Any:
    """What finds and tells the BLAS library; without it the library does as it likes."""
    try:
        return import_module("threadpoolctl").ThreadpoolController()
    except ModuleNotFoundError:
        return None
