"""The postings that keyword searches keep: which are read, which are kept, and that scores do not depend on that."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateleg.apps.rag.index import postings
from gateleg.apps.rag.index.embedded import EmbeddedIndex
from gateleg.apps.rag.index.entries import IndexEntry
from gateleg.apps.rag.index.postings import Postings


class ReadWords:
    """The words whose postings were asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.words: list[str] = []
        real = Postings._posting

        def posting(own: Postings, connection: object, rows: object, forms: tuple[str, ...]) -> object:
            self.words += forms
            return real(own, connection, rows, forms)  # type: ignore[arg-type]

        monkeypatch.setattr(Postings, "_posting", posting)

    def taken(self) -> list[str]:
        words, self.words = self.words, []
        return words


def add(index: EmbeddedIndex, document: str, texts: list[str]) -> None:
    index.add_entries(document, 1, [IndexEntry(number, text, None) for number, text in enumerate(texts)])


def scores(index: EmbeddedIndex, text: str) -> dict[tuple[str, int], float]:
    return {(hit.key.document_id, hit.key.ordinal): hit.keyword or 0.0 for hit in index.search(None, text, None, 100)}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedIndex]:
    monkeypatch.setattr(postings, "_MIN_ROWS_FOR_COMMON", 10)
    made = EmbeddedIndex(tmp_path / "own.index", synchronous=False)
    add(made, "first", [f"water tank {number}" for number in range(19)] + ["water copper"])
    yield made
    made.close()


def test_a_word_in_most_chunks_is_read_once_until_the_index_has_doubled(index: EmbeddedIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    read = ReadWords(monkeypatch)
    first = scores(index, "copper water")
    assert sorted(read.taken()) == ["copper", "water"]
    assert list(first) == [("first", 19)]
    assert scores(index, "copper water") == first
    assert read.taken() == ["copper"]
    add(index, "second", ["glass"] * 40)
    assert set(scores(index, "copper water")) == {("first", number) for number in range(20)}
    assert sorted(read.taken()) == ["copper", "water"]


def test_a_word_in_most_chunks_is_found_where_it_is_all_that_is_asked_for(index: EmbeddedIndex) -> None:
    assert len(scores(index, "water")) == 20
    assert len(scores(index, "water")) == 20


def test_postings_that_do_not_fit_are_read_again_with_the_same_scores(index: EmbeddedIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    before = scores(index, "copper 3 4")
    monkeypatch.setattr(postings, "_POSTINGS_PER_ROW", 0)
    index._postings = Postings(1)
    assert scores(index, "copper 3 4") == before
    assert sum(len(one.rows) for one in index._postings._kept.values()) <= 1
    assert scores(index, "copper 3 4") == before


def test_a_word_that_is_repeated_very_often_counts_as_its_most_occurrences(index: EmbeddedIndex) -> None:
    add(index, "long", ["zinc " * 1_000, "zinc " * 255 + "iron " * 745])
    found = scores(index, "zinc")
    assert found["long", 0] == found["long", 1]
