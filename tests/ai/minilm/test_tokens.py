from hypothesis import given
from hypothesis import strategies as st

from gateleg.ai.minilm import token_spans


def test_tokens_lie_where_their_letters_are() -> None:
    text = "Tokenization of naïve cafés, 漢字!"
    assert [text[start:end] for start, end in token_spans(text)][:6] == ["Token", "ization", "of", "naïve", "cafés", ","]


@given(st.text(max_size=200))
def test_spans_are_in_order_and_within_the_text(text: str) -> None:
    spans = token_spans(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)
