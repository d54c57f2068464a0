import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.web.console.markup import shortened


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("3f2a9c1e-0000-4000-8000-000000000000", "3f2a9c1e"),
        ("short", "short"),
        ("worker-host-17:4242:a1b2c3", "worker-host…a1b2c3"),
        ("", ""),
    ],
)
def test_ids_are_shortened_so_that_they_can_be_recognised(text: str, short: str) -> None:
    assert shortened(text) == short


@given(st.text(), st.integers(min_value=6, max_value=40))
def test_an_id_is_never_longer_than_asked_for(text: str, length: int) -> None:
    assert len(shortened(text, length)) <= max(length, 8)
