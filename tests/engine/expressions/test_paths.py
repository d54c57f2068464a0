import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.engine.expressions.conditions import ResolvedPath, check_disjoint, descend, spell
from gateleg.engine.expressions.nodes import InvalidExpression

_PATHS = st.lists(st.one_of(st.sampled_from("ab"), st.integers(0, 1)), max_size=3).map(lambda tail: ("h", *tail))


def _relation(one: ResolvedPath, two: ResolvedPath) -> str | None:
    for left, right in zip(one, two, strict=False):
        if type(left) is not type(right):
            return "conflict"
        if left != right:
            return None
    return "overlap"


@given(st.lists(_PATHS, max_size=6))
def test_paths_are_disjoint_if_no_two_of_them_meet(paths: list[ResolvedPath]) -> None:
    pairs = [(earlier, later) for index, later in enumerate(paths) for earlier in paths[:index]]
    for relation in ("overlap", "conflict"):
        meeting = next((pair for pair in pairs if _relation(*pair) == relation), None)
        if meeting is not None:
            with pytest.raises(InvalidExpression) as caught:
                check_disjoint(paths)
            assert caught.value.message == (
                f"Two document paths {relation} with each other; must remove or rewrite one of these paths; "
                f"path one: {spell(meeting[0])}, path two: {spell(meeting[1])}"
            )
            return
    check_disjoint(paths)


def test_a_path_is_spelled_with_its_positions_in_brackets() -> None:
    assert spell(("a", 0, "b.c")) == "[a, [0], b.c]"


def test_a_path_that_leads_nowhere_finds_nothing() -> None:
    value = {"M": {"a": {"L": [{"S": "x"}]}}}
    assert descend(value, ("a", 0)) == {"S": "x"}
    assert descend(value, ("a", 1)) is None
    assert descend(value, ("a", "b")) is None
    assert descend(value, (0,)) is None
    assert descend(None, ("a",)) is None
