import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.ops import query_cost


@pytest.mark.parametrize(
    ("items", "size", "units", "requests"),
    [
        (0, 100, 0.5, 1),
        (1, 100, 0.5, 1),
        (1, 4096, 0.5, 1),
        (1, 4097, 1.0, 1),
        (100, 1024, 12.5, 1),
        (2048, 1024, 256.0, 2),
        (1025, 1024, 128.5, 2),
    ],
)
def test_a_query_reads_blocks_of_four_kilobytes_in_pages_of_a_megabyte(items: int, size: int, units: float, requests: int) -> None:
    cost = query_cost(items, size)
    assert (cost.units, cost.requests) == (units, requests)


def test_consistent_reads_cost_twice_as_much() -> None:
    cost = query_cost(100, 1024)
    assert cost.consistent == 2 * cost.units


def test_global_indexes_have_no_consistent_reads() -> None:
    assert query_cost(100, 1024, consistent=False).consistent is None


def test_each_shard_is_asked() -> None:
    cost = query_cost(3, 100, shards=8)
    assert (cost.requests, cost.units) == (8, 4.0)


def test_reading_whole_items_besides_is_paid_for_each_item() -> None:
    assert query_cost(10, 5000, partial=True).hydrate == 10 * 1.0


@given(st.integers(0, 5000), st.integers(1, 409_600), st.integers(1, 10))
def test_more_items_never_cost_less(items: int, size: int, shards: int) -> None:
    assert query_cost(items + 1, size, shards=shards).units >= query_cost(items, size, shards=shards).units
