"""The index of a collection in a file."""

from pathlib import Path

import numpy as np
import pytest

from gateleg.apps.rag.errors import BadVector, IndexDamaged
from gateleg.apps.rag.index.embedded import EmbeddedIndex
from gateleg.apps.rag.index.entries import ChunkKey, IndexEntry, pack_vector, unpack_vector
from gateleg.apps.rag.index.filters import parse_filter
from tests.apps.rag.index.made import DIMENSIONS, directions, entries


def nearest(index: EmbeddedIndex, vector: np.ndarray, k: int = 10, **options: object) -> list[ChunkKey]:
    hits = index.search(vector, None, None, k, **options)  # type: ignore[arg-type]
    return [hit.key for hit in sorted(hits, key=lambda hit: -(hit.similarity or 0))]


def worded(index: EmbeddedIndex, text: str, k: int = 10) -> list[ChunkKey]:
    return [hit.key for hit in sorted(index.search(None, text, None, k), key=lambda hit: -(hit.keyword or 0))]


def truth(vectors: np.ndarray, vector: np.ndarray, k: int = 10) -> set[int]:
    return set(np.argsort(-(vectors @ vector))[:k].tolist())


def test_what_is_added_is_found_by_vector_and_by_words(index: EmbeddedIndex) -> None:
    vectors = directions(3)
    texts = ["The pump leaks oil.", "Connections of the pump", "A lamp"]
    index.add_entries("a", 1, [IndexEntry(place, text, vectors[place]) for place, text in enumerate(texts)])
    assert nearest(index, vectors[1])[0] == ChunkKey("a", 1, 1)
    assert worded(index, "which pumps are connected?") == [ChunkKey("a", 1, 1), ChunkKey("a", 1, 0)]
    assert index.count() == 3


def test_the_similarity_of_a_hit_is_exact_also_where_words_found_it(index: EmbeddedIndex) -> None:
    vectors = directions(300)
    index.add_entries("a", 1, [IndexEntry(place, f"word{place}", vector) for place, vector in enumerate(vectors)])
    hits = index.search(vectors[0], "word299", None, 3)
    for hit in hits:
        assert hit.similarity == pytest.approx(float(vectors[hit.key.ordinal] @ vectors[0]), abs=1e-6)
    assert [hit.key.ordinal for hit in hits if hit.keyword is not None] == [299]


def test_a_graph_finds_what_an_exact_search_finds(tmp_path: Path) -> None:
    index = EmbeddedIndex(tmp_path / "i", synchronous=False, exact=500)
    vectors = directions(3_000)
    index.add_entries("a", 1, entries(vectors))
    index.settle()
    index.add_entries("b", 1, entries(vectors[:100]))
    found = [{key.ordinal for key in nearest(index, vector, 20)} for vector in vectors[200:260]]
    assert np.mean([len(truth(vectors, vectors[200 + place], 10) & keys) / 10 for place, keys in enumerate(found)]) > 0.99
    # Those that are not in the graph yet are found beside it.
    assert {key.document_id for key in nearest(index, vectors[5], 2)} == {"a", "b"}
    index.close()


@pytest.mark.parametrize("part", [3, 40, 900])
def test_filters_find_exactly_the_best_that_pass(tmp_path: Path, part: int) -> None:
    index = EmbeddedIndex(tmp_path / "i", synchronous=False, exact=200)
    vectors = directions(1_000)
    index.add_entries("a", 1, entries(vectors[:part], kind="few"))
    index.add_entries("b", 1, entries(vectors[part:], kind="many"))
    index.settle()
    for vector in vectors[::100]:
        hits = index.search(vector, None, parse_filter({"kind": "few"}), 10)
        assert {hit.key.document_id for hit in hits} == {"a"}
        assert {hit.key.ordinal for hit in hits} == truth(vectors[:part], vector)
    assert index.search(vectors[0], "passage", parse_filter({"kind": "none"}), 10) == []
    index.close()


def test_documents_can_be_named(index: EmbeddedIndex) -> None:
    vectors = directions(20)
    for document in "abc":
        index.add_entries(document, 1, entries(vectors))
    assert {key.document_id for key in nearest(index, vectors[0], 30, documents=["a", "c", "unknown"])} == {"a", "c"}


def test_generations_replace_and_are_removed(index: EmbeddedIndex) -> None:
    vectors = directions(4)
    index.add_entries("a", 1, entries(vectors, "old"))
    index.add_entries("a", 2, entries(vectors[:2], "new"))
    assert index.generations() == {"a": {1, 2}}
    assert index.remove("a", 1) == 4
    assert index.generations() == {"a": {2}}
    assert worded(index, "old") == []
    assert {key.generation for key in nearest(index, vectors[0])} == {2}
    assert index.remove("a") == 2
    assert (index.count(), nearest(index, vectors[0]), worded(index, "new")) == (0, [], [])


def test_adding_again_replaces(index: EmbeddedIndex) -> None:
    vectors = directions(4)
    index.add_entries("a", 1, entries(vectors, "first"))
    index.add_entries("a", 1, entries(vectors[::-1].copy(), "second"))
    assert index.count() == 4
    assert worded(index, "first") == []
    assert nearest(index, vectors[0])[0].ordinal == 3


def test_phrases_must_occur_as_they_are(index: EmbeddedIndex) -> None:
    texts = ["red pump and blue lamp", "blue pump and red lamp"]
    index.add_entries("a", 1, [IndexEntry(place, text) for place, text in enumerate(texts)])
    assert len(worded(index, "red lamp")) == 2
    assert [key.ordinal for key in worded(index, '"red lamp"')] == [1]
    assert len(worded(index, 'tell me everything that there is about the "red lamp" please')) == 2


@pytest.mark.parametrize("text", ['"', "'; DROP TABLE chunks; --", "a OR NOT", "* ^ NEAR(", "", "   ", "的" * 500, '"" ""', "\x00"])
def test_any_text_can_be_searched_for(index: EmbeddedIndex, text: str) -> None:
    index.add_entries("a", 1, [IndexEntry(0, "a OR b")])
    assert len(worded(index, text)) <= 1


def test_texts_are_found_in_the_forms_of_their_language(index: EmbeddedIndex) -> None:
    index.add_entries("a", 1, [IndexEntry(0, "Die Häuser am See", language="de"), IndexEntry(1, "houses by the lake", language="en")])
    assert [key.ordinal for key in worded(index, "haus")] == [0]
    assert [key.ordinal for key in worded(index, "house")] == [1]


def test_a_heading_is_searched_with_its_chunk(index: EmbeddedIndex) -> None:
    index.add_entries("a", 1, [IndexEntry(0, "Turn it left.", heading="Valves"), IndexEntry(1, "Turn it right.")])
    assert [key.ordinal for key in worded(index, "valve")] == [0]


def test_vectors_of_other_dimensions_are_refused(index: EmbeddedIndex) -> None:
    index.add_entries("a", 1, entries(directions(2)))
    with pytest.raises(BadVector, match="32"):
        index.add_entries("b", 1, [IndexEntry(0, "x", np.ones(5, dtype=np.float32))])
    with pytest.raises(BadVector):
        index.search(np.ones(5, dtype=np.float32), None, None, 3)
    assert index.generations() == {"a": {1}}


def test_what_one_opener_adds_another_finds(tmp_path: Path) -> None:
    vectors = directions(10)
    one, other = EmbeddedIndex(tmp_path / "i"), EmbeddedIndex(tmp_path / "i")
    one.add_entries("a", 1, entries(vectors))
    assert nearest(other, vectors[3])[0].ordinal == 3
    other.remove("a")
    assert nearest(one, vectors[3]) == []
    one.close()
    other.close()


def test_a_dropped_index_is_empty_for_everybody_and_can_be_filled_again(tmp_path: Path) -> None:
    vectors = directions(10)
    one, other = EmbeddedIndex(tmp_path / "i"), EmbeddedIndex(tmp_path / "i")
    one.add_entries("a", 1, entries(vectors))
    assert len(nearest(other, vectors[0])) == 10
    one.drop()
    assert list(tmp_path.iterdir()) == []
    assert nearest(other, vectors[0]) == []
    one.add_entries("b", 1, entries(vectors[:2]))
    assert {key.document_id for key in nearest(other, vectors[0])} == {"b"}
    one.close()
    other.close()


def test_the_graph_is_taken_from_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.apps.rag.index.embedded._SNAPSHOT_MIN_VECTORS", 1)
    vectors = directions(600)
    index = EmbeddedIndex(tmp_path / "i", exact=100)
    index.add_entries("a", 1, entries(vectors))
    index.settle()
    # It is saved when it has grown, so that a process that is killed leaves it behind.
    (saved,) = tmp_path.glob("*.graph-*")
    index.close()
    (saved,) = tmp_path.glob("*.graph-*")
    monkeypatch.setattr("gateleg.apps.rag.index.graph.VectorGraph._grow", lambda self: pytest.fail("the graph was built again"))
    again = EmbeddedIndex(tmp_path / "i", exact=100)
    assert nearest(again, vectors[7])[0].ordinal == 7
    again.close()
    saved.write_bytes(b"damaged")
    monkeypatch.undo()
    third = EmbeddedIndex(tmp_path / "i", exact=100)
    assert nearest(third, vectors[7])[0].ordinal == 7
    third.close()


def test_a_snapshot_of_a_graph_of_another_kind_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.apps.rag.index.embedded._SNAPSHOT_MIN_VECTORS", 1)
    vectors = directions(600)
    index = EmbeddedIndex(tmp_path / "i", exact=100)
    index.add_entries("a", 1, entries(vectors))
    index.settle()
    index.close()
    monkeypatch.setattr("gateleg.apps.rag.index.embedded.KIND", "f16-32-256")
    monkeypatch.setattr("gateleg.apps.rag.index.graph.VectorGraph.load", lambda *_: pytest.fail("the old graph was read"))
    again = EmbeddedIndex(tmp_path / "i", exact=100)
    assert nearest(again, vectors[7])[0].ordinal == 7
    again.close()


def test_a_damaged_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "i").write_bytes(b"not a database" * 1_000)
    with pytest.raises(IndexDamaged, match="damaged"):
        EmbeddedIndex(tmp_path / "i")


def test_a_file_that_is_whole_passes_its_check(index: EmbeddedIndex) -> None:
    index.add_entries("a", 1, entries(directions(50)))
    index.remove("a", 1)
    index.check()


def test_metadata_of_dynamodb_can_be_filtered(index: EmbeddedIndex) -> None:
    from decimal import Decimal

    index.add_entries("a", 1, [IndexEntry(0, "x", metadata={"year": Decimal(2024), "ratio": Decimal("0.5"), "tags": {"b", "a"}})])
    for raw in ({"year": 2024}, {"ratio": {"lt": 0.6}}, {"tags": "a"}):
        assert len(index.search(None, "x", parse_filter(raw), 5)) == 1


def test_vectors_are_packed_and_unpacked() -> None:
    vector = directions(1)[0]
    assert unpack_vector(pack_vector(vector)).tolist() == vector.tolist()
    half = vector.astype("<f2").tobytes()
    assert unpack_vector(half, DIMENSIONS) == pytest.approx(vector, abs=1e-3)


def test_asking_makes_no_file(tmp_path: Path) -> None:
    index = EmbeddedIndex(tmp_path / "i")
    assert (index.count(), index.remove("a"), index.generations(), index.complete) == (0, 0, {}, False)
    assert index.search(directions(1)[0], "word", None, 3) == []
    index.drop()
    assert list(tmp_path.iterdir()) == []


def test_what_was_removed_is_forgotten_once_it_is_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.apps.rag.index.embedded._MAX_REMOVED_ROWS", 10)
    index = EmbeddedIndex(tmp_path / "i", synchronous=False)
    vectors = directions(30)
    index.add_entries("a", 1, entries(vectors, "old"))
    index.add_entries("b", 1, entries(vectors[:5], "new"))
    assert len(nearest(index, vectors[0], 40)) == 35
    index.remove("a")
    assert {key.document_id for key in nearest(index, vectors[0], 40)} == {"b"}
    assert len(index._rows) == 5
    assert worded(index, "old") == []
    index.add_entries("c", 1, entries(vectors[:1], "newest"))
    assert {key.document_id for key in nearest(index, vectors[0], 2)} == {"b", "c"}
    index.close()
