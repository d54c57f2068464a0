import pytest

from gateleg.web.console.markup import count_text, size_text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (12_345, "12 kB"), (999_600, "1.0 MB"), (5 * 10**12, "5.0 TB")],
)
def test_sizes_are_in_words(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (950, "950"), (9_999, "9 999"), (12_400, "12.4 k"), (3_100_000, "3.1 M"), (2e9, "2.0 G")]
)
def test_counts_fit_a_tile(count: float, text: str) -> None:
    assert count_text(count) == text
