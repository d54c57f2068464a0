"""Regular expressions of users cannot hold a process."""

import pytest

from gateleg.processes import Matching, match_patterns, pattern_problems

#: Patterns with texts on which they would need years, and a simple one on which it would take longer than a test may.
BOMBS = {
    "nested": Matching("(a+)+$", "a" * 60 + "!"),
    "optional": Matching("a?" * 40 + "a" * 40, "a" * 40, whole=True),
    "bounded": Matching("a{0,400}" * 5 + "b", "a" * 400, whole=True),
    "referring": Matching(r"(a|a\1)*(?=b)c", "a" * 200),
}


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (r"[^@\s]+@[^@\s]+\.[a-z]{2,}", "ann@acme.test", "ann"),
        (r"\+?\d{1,3}[- ]?\d{3,12}", "+49 1234567", "phone"),
        (r"(Mr|Ms|Dr)\.? \w+", "Dr. Who", "Sir Who"),
        (r"(\w)\1", "ää", "äb"),
        (r"[*+(]+", "(*+", "a"),
    ],
)
async def test_a_pattern_fits_a_whole_text(pattern: str, good: str, bad: str) -> None:
    assert await match_patterns([Matching(pattern, text, whole=True) for text in (good, bad, f"{good}\n")]) == [True, False, False]


async def test_a_pattern_is_found_in_any_line() -> None:
    assert await match_patterns([Matching("^b$", "a\nb"), Matching("^b$", "ab"), Matching("(", "a")]) == [True, False, None]
    assert await match_patterns([]) == []


@pytest.mark.parametrize("name", BOMBS)
async def test_a_bomb_costs_its_own_result_only(name: str) -> None:
    before, after = Matching("a+", "caa"), Matching("^b", "ab")
    assert await match_patterns([before, BOMBS[name], after]) == [True, None, False]


async def test_many_bombs_share_one_span_of_time() -> None:
    """A call ends long before as many bombs have had the time of one each."""
    results = await match_patterns([BOMBS["nested"]] * 2_000)
    assert results == [None] * 2_000


async def test_what_is_wrong_with_patterns_is_told() -> None:
    assert await pattern_problems(["a", "a{2,1}"]) == [
        None,
        "is not a regular expression: min repeat greater than max repeat at position 2",
    ]
