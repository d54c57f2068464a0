"""Laws of chunks: nothing is lost, nothing is too long, and every span is its text."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.apps.rag.chunking import BadChunking, ChunkingType, Heading, Span, Strategy, chunk, find_headings, preview
from gateleg.apps.rag.chunking.headings import blocks, heading_paths
from gateleg.apps.rag.chunking.semantic import semantic
from gateleg.apps.rag.chunking.sentences import sentences
from gateleg.apps.rag.chunking.spans import spans_of
from gateleg.apps.rag.chunking.splitting import packed, pieces, recursive, windows
from gateleg.apps.rag.chunking.tokens import estimate_tokens, token_windows

TEXTS = st.text(alphabet=st.sampled_from("abcXYZ é漢。.!?\n\r\t #`-1 "), max_size=300) | st.text(max_size=100)
SEPARATORS = st.lists(st.text(alphabet="\n .ab", min_size=1, max_size=3), min_size=1, max_size=4)


def check(text: str, spans: Sequence[Span], size: int | None) -> None:
    covered = set[int]()
    for before, span in zip([None, *spans], spans, strict=False):
        piece = span.of(text)
        assert piece == text[span.start : span.end]
        assert piece == piece.strip() != ""
        assert size is None or len(span) <= size
        assert before is None or (before.start < span.start and before.end < span.end)
        covered.update(range(span.start, span.end))
    assert {place for place, letter in enumerate(text) if not letter.isspace()} <= covered


@given(TEXTS, st.integers(1, 60), st.data())
def test_windows_and_pieces_keep_the_laws(text: str, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size // 2))
    check(text, spans_of(text, windows(text, 0, len(text), size, overlap)), size)
    check(text, spans_of(text, recursive(text, 0, len(text), data.draw(SEPARATORS), size, overlap)), size)


def test_a_chunk_that_the_next_one_contains_is_left_out() -> None:
    assert spans_of(" ab", windows(" ab", 0, 3, 2, 1)) == [Span(1, 3)]


@given(TEXTS, st.integers(1, 60), SEPARATORS)
def test_pieces_are_adjacent(text: str, size: int, separators: list[str]) -> None:
    found = list(pieces(text, 0, len(text), separators, size))
    assert "".join(text[start:end] for start, end in found) == text
    assert all(0 < end - start <= size for start, end in found)


@given(TEXTS, st.integers(1, 30), st.data())
def test_a_chunk_repeats_no_more_than_the_overlap(text: str, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size // 2))
    found = list(packed(list(pieces(text, 0, len(text), ["\n", " "], size)), size, overlap))
    assert all(before[1] - after[0] <= overlap for before, after in pairwise(found))


@given(TEXTS)
def test_sentences_and_blocks_are_adjacent(text: str) -> None:
    assert "".join(text[start:end] for start, end in sentences(text)) == text
    assert "".join(text[start:end] for start, end in blocks(text, 0, len(text))) == text


@given(TEXTS, st.integers(1, 20), st.data())
def test_windows_of_tokens_hold_as_many_as_they_may(text: str, size: int, data: st.DataObject) -> None:
    tokens = estimate_tokens(text)
    overlap = data.draw(st.integers(0, size // 2))
    found = list(token_windows(text, tokens, size, overlap))
    assert all(1 <= sum(start <= token[0] < end for token in tokens) <= size for start, end in found)
    check(text, spans_of(text, found), None)


def letters(texts: Sequence[str]) -> np.ndarray:
    """A model that sees letters."""
    rows = np.array([[text.lower().count(letter) + 0.01 for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts])
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@given(TEXTS, st.floats(0, 1), st.integers(5, 60))
def test_semantic_chunks_keep_the_laws(text: str, threshold: float, size: int) -> None:
    parts = [piece for sentence in sentences(text) for piece in pieces(text, *sentence, [" "], size)]
    check(text, spans_of(text, semantic(text, parts, size, threshold, letters)), size)


@given(TEXTS, st.sampled_from(ChunkingType))
def test_every_strategy_keeps_the_laws(text: str, kind: ChunkingType) -> None:
    strategy = Strategy(kind, 100, 30)
    limited = kind not in (ChunkingType.NONE, ChunkingType.TOKEN)
    check(text, chunk(text, strategy, embed=letters), 100 if limited else None)


def test_windows_end_between_words() -> None:
    text = "the quick brown fox jumps over the lazy dog " * 20
    found = chunk(text, Strategy(ChunkingType.FIXED, 100, 20))
    assert len(found) > 5
    assert all(span.of(text).split()[0] in text.split() and span.of(text).split()[-1] in text.split() for span in found)
    assert all(0 < before.end - after.start <= 20 for before, after in pairwise(found))


def test_the_first_separator_that_suffices_is_used() -> None:
    text = "\n\n".join(["First paragraph. " * 4, "Second one. " * 4, "Third and last. " * 4])
    found = chunk(text, Strategy(size=100, overlap=0))
    assert [span.of(text).split()[0] for span in found] == ["First", "Second", "Third"]


def test_sentences_end_where_a_reader_would_end_them() -> None:
    text = (
        'Dr. Smith paid 3.50 dollars, e.g. in cash. J. R. Hall agreed! "Why?" she asked. See Fig. 3 for more…\n- one item\n- 他来了。好的。'
    )
    assert [text[start:end].strip() for start, end in sentences(text)] == [
        "Dr. Smith paid 3.50 dollars, e.g. in cash.",
        "J. R. Hall agreed!",
        '"Why?" she asked.',
        "See Fig. 3 for more…",
        "- one item",
        "- 他来了。",
        "好的。",
    ]


MARKDOWN = """# Guide

Intro that is long enough to stand for itself, because it has more than a few words in it.

## Setup

Install it first, then read the next section, which says how it is started on your machine.

```sh
# this is not a heading
make up
```

Usage
-----

Run it and wait for the prompt to come up on the screen in front of you, then type the word.
"""


def test_sections_stand_below_their_headings() -> None:
    found = chunk(MARKDOWN, Strategy(ChunkingType.MARKDOWN, 200, 0))
    assert [span.heading for span in found] == ["Guide", "Guide > Setup", "Guide > Usage"]
    assert "# this is not a heading\nmake up\n```" in found[1].of(MARKDOWN)
    assert found[2].of(MARKDOWN).startswith("Usage\n-----")


def test_a_heading_alone_goes_with_what_follows() -> None:
    text = "# A\n\n## B\n\nSome words below both of the headings above.\n"
    assert [span.of(text) for span in chunk(text, Strategy(ChunkingType.MARKDOWN, 100, 0))] == [text.strip()]


def test_headings_of_a_parser_hold_for_every_strategy() -> None:
    text = "One\n" + "word " * 30 + "\nTwo\n" + "other " * 30
    headings = [Heading(0, 1, "One"), Heading(text.index("Two"), 1, "Two")]
    found = chunk(text, Strategy(ChunkingType.FIXED, 100, 0), headings=headings)
    assert [span.heading for span in found] == ["One", "One", "Two", "Two"]


def test_paths_of_headings_leave_out_what_is_closed() -> None:
    headings = find_headings("# A\n## B\n### C\n## D\n# E\n")
    assert heading_paths(headings, [0, 4, 9, 15, 20]) == ["A", "A > B", "A > B > C", "A > D", "E"]


def test_a_new_subject_begins_a_chunk() -> None:
    text = "Aaa aab aba. Baa aab aaa. Zzz zzy yzz. Yzy zzz zyz."
    assert [span.of(text) for span in chunk(text, Strategy(ChunkingType.SEMANTIC, 100, 0, threshold=0.5), embed=letters)] == [
        "Aaa aab aba. Baa aab aaa.",
        "Zzz zzy yzz. Yzy zzz zyz.",
    ]
    with pytest.raises(BadChunking, match="embedding model"):
        chunk(text, Strategy(ChunkingType.SEMANTIC))


def test_one_chunk_has_a_bound() -> None:
    assert chunk(" all of it ", Strategy(ChunkingType.NONE)) == [Span(1, 10)]
    with pytest.raises(BadChunking, match="with NONE, it must fit into one chunk"):
        chunk("é" * 150_001, Strategy(ChunkingType.NONE))


def test_a_preview_counts_all_and_shows_the_first() -> None:
    text = "word " * 200
    shown = preview(text, Strategy(ChunkingType.FIXED, 100, 0), limit=3)
    assert (shown.count, len(shown.spans), shown.longest) == (10, 3, 99)
    assert preview("", Strategy()).count == 0
