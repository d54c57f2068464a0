from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gateleg.engine.values import canonicalize, canonicalize_item, item_size, size

scalars = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=8).map(lambda text: {"S": text}),
    st.decimals(-(10**30), 10**30, places=6).map(lambda number: {"N": str(number)}),
    st.booleans().map(lambda truth: {"BOOL": truth}),
    st.just({"NULL": True}),
    st.just({"B": "bXVzaWM="}),
    st.sets(st.text("abcé", min_size=1, max_size=3), min_size=1).map(lambda texts: {"SS": sorted(texts)}),
    st.sets(st.integers(-(10**9), 10**9), min_size=1, max_size=3).map(lambda numbers: {"NS": [str(number) for number in sorted(numbers)]}),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda members: {"L": members}),
        st.dictionaries(st.text("aé", max_size=3), inner, max_size=3).map(lambda members: {"M": members}),
    ),
    max_leaves=8,
)


@given(values)
def test_the_size_of_a_canonical_value_is_what_examining_it_tells(value: dict[str, Any]) -> None:
    canonical, bytes_ = canonicalize(value, 0)
    assert size(canonical) == bytes_


@given(st.dictionaries(st.text("aé", max_size=3), values, max_size=4))
def test_the_size_of_a_canonical_item_is_what_examining_it_tells(item: dict[str, Any]) -> None:
    canonical, bytes_ = canonicalize_item(item)
    assert item_size(canonical) == bytes_
