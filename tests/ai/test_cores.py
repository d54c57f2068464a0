"""Batches go side by side, each on one core, and the process is left as it was."""

import threading
from typing import Any

import pytest

from gateleg.ai.minilm import cores
from gateleg.ai.minilm.cores import one_core_each, side_by_side

threadpoolctl = pytest.importorskip("threadpoolctl")


def blas_threads() -> set[int]:
    import numpy as np

    assert np.ones((2, 2)).sum() == 4
    return {info["num_threads"] for info in threadpoolctl.threadpool_info() if info["user_api"] == "blas"}


def test_products_use_one_core_within_and_as_many_as_before_after() -> None:
    before = blas_threads()
    with one_core_each():
        assert blas_threads() == {1}
        with one_core_each():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_limit_is_undone_after_a_failure() -> None:
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), one_core_each():
        _ = 1 // 0
    assert blas_threads() == before


def test_results_come_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "cores", lambda: 4)
    assert side_by_side(lambda number: number * 2, range(50)) == [number * 2 for number in range(50)]


def test_work_goes_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "cores", lambda: 2)
    meeting = threading.Barrier(2, timeout=30)
    assert sorted(side_by_side(lambda _: meeting.wait(), [0, 0])) == [0, 1]


def test_without_the_controller_work_is_done_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(cores, "import_module", missing)
    cores._controller.cache_clear()
    assert side_by_side(str, [1, 2]) == ["1", "2"]
    cores._controller.cache_clear()
