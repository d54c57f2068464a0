"""Batches run in parallel, and their results come in order."""

import threading

import pytest

from gateleg.ai import minilm
from gateleg.ai.minilm import map_parallel


def test_results_come_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "core_count", lambda: 4)
    assert map_parallel(lambda number: number * 2, range(50)) == [number * 2 for number in range(50)]


def test_two_batches_run_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "core_count", lambda: 2)
    meeting = threading.Barrier(2, timeout=30)
    assert sorted(map_parallel(lambda _: meeting.wait(), [0, 0])) == [0, 1]
