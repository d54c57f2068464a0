"""Markup is taken out of what an answer says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.apps.rag.answering.plain_text import to_plain_text, without_code
from tests.attack_strings import grows_steeply


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("**Keys** are kept in the *grey* box.", "Keys are kept in the grey box."),
        ("***Never*** open it; __not even once__.", "Never open it; not even once."),
        ("Call `ERR-7` by `**kwargs`.", "Call ERR-7 by **kwargs."),
        ("See [the rules](rules.md#visitors), [1] and ![a plan](plan.png).", "See the rules, [1] and a plan."),
        ("Read [the page](https://example.org/a_(b)) first[^2].", "Read the page first."),
        ("It is <b>closed</b><br>on <https://example.org>.", "It is closed on https://example.org."),
        ("> quoted\n> twice", "quoted twice"),
        ('"""It opens after ten failures."""', "It opens after ten failures."),
        ("// It is called when the settings change.", "It is called when the settings change."),
        ("/** Removes all results. */", "Removes all results."),
        # Cut off at one end.
        ("*What a backup holds.** Tables.", "What a backup holds. Tables."),
        ("It is closed** on Mondays.", "It is closed on Mondays."),
        ("and ends](rules.md) here", "and ends here"),
        ("see [the rules", "see the rules"),
        # Not markup.
        ("2 * 3 * 4 = 24 and 2**3 = 8", "2 * 3 * 4 = 24 and 2**3 = 8"),
        ("call __init__ of snake_case_name", "call __init__ of snake_case_name"),
        ("a price of 5 EUR* and x < y > z", "a price of 5 EUR* and x < y > z"),
    ],
)
def test_what_is_read_aloud(written: str, plain: str) -> None:
    assert to_plain_text(written) == plain


@given(st.text(alphabet="ab *_`[]()<>~\\\n.!", max_size=40))
def test_nothing_but_markup_is_lost(text: str) -> None:
    """Letters are never lost, except in targets of links and names of tags."""
    if "](" not in text and "<" not in text and "][" not in text:
        assert [one for one in to_plain_text(text) if one.isalpha()] == [one for one in text if one.isalpha()]


@pytest.mark.parametrize(
    ("written", "without"),
    [("run `a` or ``b ` c``", "run code or code"), ("`open and ``so`", "code"), ("no `span", "no `span"), ("` `` ``` ``", "` code")],
)
def test_code_ends_at_as_many_backticks(written: str, without: str) -> None:
    assert without_code(written) == without


@pytest.mark.parametrize("unit", ["`", "` ``", "``a` ", "[](", "**a ", "> ", "\n", " ", '"""', "<b ", "[a][", "_a"])
def test_the_time_grows_with_the_length_only(unit: str) -> None:
    assert not grows_steeply(lambda length: lambda: to_plain_text(unit * (length // len(unit)) + "x"))
