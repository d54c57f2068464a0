"""Run batches in parallel: each batch on one core, as many at a time as there are cores."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from gateleg.blas import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

A = TypeVar("A")
R = TypeVar("R")


def core_count() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_parallel(function: Callable[[A], R], batches: Sequence[A]) -> list[R]:
    """Apply the function to each batch, in threads, and return the results in the order of the batches.

    Each batch is computed with one BLAS thread, so a result does not depend on the number of cores or of batches.
    """
    with one_blas_thread():
        if len(batches) < 2 or core_count() < 2:
            return [function(batch) for batch in batches]
        with ThreadPoolExecutor(min(core_count(), len(batches)), thread_name_prefix="gateleg-minilm") as threads:
            return list(threads.map(function, batches))
