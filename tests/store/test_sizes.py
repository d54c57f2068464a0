"""The size of items, as DynamoDB counts it."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.engine.values import canonicalize_item
from gateleg.model.errors import EncodeError
from gateleg.model.wire import wire
from gateleg.store import TooLarge
from gateleg.store.sizes import ITEM_LIMIT, check_size, item_size

scalars = (
    st.text(st.characters(exclude_categories=["Cs"]))
    | st.integers(-(10**30), 10**30)
    | st.decimals(-(10**12), 10**12, places=3)
    | st.booleans()
    | st.none()
    | st.binary()
)
values = st.recursive(
    scalars
    | st.sets(st.text("abcé", min_size=1), min_size=1)
    | st.sets(st.integers(-999, 999), min_size=1)
    | st.sets(st.binary(min_size=1), min_size=1),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("xyzß"), inner),
    max_leaves=12,
)
items = st.dictionaries(st.text("abcü", min_size=1), values.map(wire), min_size=1, max_size=6)


@given(item=items)
def test_size_is_what_the_engine_counts(item: dict[str, Any]) -> None:
    assert item_size(item) == canonicalize_item(item)[1]


@given(item=items)
def test_json_is_never_shorter_than_the_size(item: dict[str, Any]) -> None:
    assert len(orjson.dumps(item)) >= item_size(item)


def test_limit_is_exact() -> None:
    item = {"a": {"S": "x" * (ITEM_LIMIT - 1)}}
    assert check_size(item, "It") == ITEM_LIMIT
    with pytest.raises(TooLarge, match="It has 409,601 bytes"):
        check_size({"a": {"S": "x" * ITEM_LIMIT}}, "It")


def test_a_lone_surrogate_is_refused_with_the_entity_named() -> None:
    with pytest.raises(EncodeError, match="Note cannot be written"):
        check_size({"id": {"S": "\ud800"}}, "Note")
