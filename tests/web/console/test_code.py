import html
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gateleg.web.console.widgets import coloured, pretty

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(values)
def test_colours_change_no_letter(value: Any) -> None:
    assert html.unescape(re.sub(r'<span class="[ksbn]">|</span>', "", coloured(pretty(value)))) == pretty(value)


def test_names_strings_numbers_and_words_have_their_colour() -> None:
    assert coloured(pretty({"a": ["b", 1, True]})) == (
        '{\n  <span class="k">&quot;a&quot;</span>: [\n    <span class="s">&quot;b&quot;</span>,\n    <span class="n">1</span>,\n'
        '    <span class="b">true</span>\n  ]\n}'
    )


def test_markup_in_a_value_stays_text() -> None:
    assert "<script>" not in coloured(pretty({"<script>": "<script>alert(1)</script>"}))


def test_what_json_has_no_form_for_becomes_its_text() -> None:
    assert pretty({"a": {1}}) == '{\n  "a": "{1}"\n}'
