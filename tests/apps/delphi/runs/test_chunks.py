import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.apps.delphi.runs.chunks import pack, unpack


@settings(deadline=None)
@given(st.lists(st.integers(-(2**61), 2**61)))
def test_what_is_packed_is_unpacked(numbers: list[int]) -> None:
    assert unpack(pack(np.array(numbers, dtype=np.int64))).tolist() == numbers


def test_ascending_numbers_take_little_room() -> None:
    assert len(pack(np.arange(100_000) * 3)) < 1_000
    some = np.flatnonzero(np.random.default_rng(1).random(200_000) < 0.5)
    assert len(pack(some)) < 50_000


def test_another_form_is_refused() -> None:
    with pytest.raises(ValueError, match="version 9"):
        unpack(b"\x09" + pack(np.arange(3))[1:])


def test_a_wrong_count_is_noticed() -> None:
    packed = pack(np.arange(3))
    with pytest.raises(ValueError, match="expected 7"):
        unpack(packed[:2] + b"\x07" + packed[3:])
