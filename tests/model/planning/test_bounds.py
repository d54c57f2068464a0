"""The bounds that only the database can check. That it does check them: `tests/store/test_constraints.py`."""

from typing import Any

import pytest

from gateleg.model import Attr, Entity, Key, Table, field
from gateleg.model.errors import ExpressionValue
from gateleg.model.expressions import Placeholders
from gateleg.model.planning import guards_of


class Stock(Entity, table=Table("Stock", hash="id")):
    id: Attr[str]
    pieces: Attr[int] = field(0, ge=0, lt=10)
    tags: Attr[set[str]] = field(factory=set, min_length=1, max_length=3)
    lines: Attr[list[str]] = field(factory=list, max_length=2)
    free: Attr[int] = field(0)
    key = Key("{id}")


def guards(*actions: Any) -> list[tuple[str, str]]:
    """The bounds that actions could break: in words, and as conditions."""
    found = []
    for guard in guards_of(actions):
        out = Placeholders()
        text = guard.condition.render(out)
        for placeholder, value in sorted(out.values.items(), reverse=True):
            text = text.replace(placeholder, str(next(iter(value.values()))))
        found.append((f"{guard.attribute} {guard.text}", text))
    return found


def test_an_increase_can_only_break_an_upper_bound() -> None:
    assert guards(Stock.pieces.add(4)) == [("pieces less than 10", "#pieces < 6 OR attribute_not_exists(#pieces)")]
    assert guards(Stock.pieces.add(-4)) == [("pieces at least 0", "#pieces >= 4")]


def test_a_difference_that_is_subtracted_from_breaks_the_opposite_bound() -> None:
    assert guards(Stock.pieces.set(Stock.free - 1)) == [
        ("pieces at least 0", "#free >= 1"),
        ("pieces less than 10", "#free < 11"),
    ]


def test_a_set_or_list_may_grow_or_shrink_to_its_bound() -> None:
    assert [words for words, _ in guards(Stock.tags.add({"a", "b"}), Stock.lines.append("x"))] == [
        "tags at most 3 elements",
        "lines at most 2 elements",
    ]
    assert [words for words, _ in guards(Stock.tags.delete({"a"}))] == ["tags at least 1 elements"]


def test_more_elements_than_a_bound_allows_are_refused_at_once() -> None:
    with pytest.raises(ExpressionValue, match="at most 2"):
        guards(Stock.lines.append("x", "y", "z"))


def test_a_plain_value_and_an_unbounded_attribute_need_no_guard() -> None:
    assert guards(Stock.pieces.set(3), Stock.free.add(100), Stock.tags.set({"a"})) == []
