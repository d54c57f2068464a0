"""Linear algebra is limited to one thread, from any thread, and the limit is restored."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from gateleg import blas
from gateleg.blas import one_blas_thread

threadpoolctl = pytest.importorskip("threadpoolctl")


def blas_threads() -> set[int]:
    import numpy as np

    assert np.ones((2, 2)).sum() == 4
    return {info["num_threads"] for info in threadpoolctl.threadpool_info() if info["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads() -> Any:
    """BLAS with two threads, also on a machine with one core."""
    blas_threads()
    with threadpoolctl.threadpool_limits(limits=2, user_api="blas"):
        threadpoolctl.OpenBLASController.clear_controlling_thread(force=True)
        assert blas_threads() == {2}
        yield


def in_another_thread(function: Callable[[], None]) -> None:
    failures: list[BaseException] = []

    def run() -> None:
        try:
            function()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def limited_and_restored() -> None:
    with one_blas_thread():
        assert blas_threads() == {1}
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_limit_holds_within_the_context_and_is_restored_after_it() -> None:
    limited_and_restored()


def test_limit_can_be_set_by_one_thread_after_another() -> None:
    limited_and_restored()
    in_another_thread(limited_and_restored)
    in_another_thread(limited_and_restored)
    limited_and_restored()


def test_limit_holds_until_the_last_of_two_threads_leaves() -> None:
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with one_blas_thread():
            inside.set()
            leave.wait(30)
            assert blas_threads() == {1}
        assert blas_threads() == {2}

    def first_in_first_out() -> None:
        with one_blas_thread():
            holder.start()
            inside.wait(30)
        assert blas_threads() == {1}

    holder = threading.Thread(target=hold)
    first_in_first_out()
    leave.set()
    holder.join()
    assert blas_threads() == {2}


def test_limit_is_restored_after_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        _ = 1 // 0
    assert blas_threads() == {2}


def test_without_threadpoolctl_the_context_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(blas, "import_module", missing)
    blas._controller.cache_clear()
    with one_blas_thread():
        pass
    blas._controller.cache_clear()
    assert blas_threads() == {2}
