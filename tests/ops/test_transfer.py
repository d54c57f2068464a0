import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from gateleg.model import GSI, ModelError, Table
from gateleg.ops.transfer import BadLine, LineReader, browse, described_table, line_of, load, position_after, position_of, stored_items
from gateleg.store import CursorRejected, Store, TableMissing
from gateleg.store.transports import ServiceError
from tests.model.seeds import mv, rag
from tests.store import libraries

RAW = Table("raw", hash="id", range="n", types={"n": "N"})


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.embedded(cursor_key=b"test") as store:
        store.ensure_tables(mv.projects, rag.collections, RAW)
        yield store


def lines(*items: Any) -> io.BytesIO:
    return io.BytesIO("".join(json.dumps(item) + "\n" for item in items).encode())


def raw(number: int) -> dict[str, Any]:
    return {"id": {"S": "x"}, "n": {"N": str(number)}}


def everything(store: Store, table: Table) -> list[Any]:
    return list(store.iterate(stored_items(table, store.setup)))


@pytest.mark.parametrize("plain", [False, True])
def test_a_table_comes_back_as_it_was_with_the_markers_of_unique_names(store: Store, plain: bool) -> None:
    store.create(rag.Collection(repository_id="r", name="Docs", embedding_model="m", created_by="ann"))
    before = everything(store, rag.collections)
    file = io.BytesIO(b"".join(line_of(item, plain) for item in before))
    with Store.embedded() as other:
        other.ensure_tables(rag.collections)
        list(load(other, LineReader(rag.collections, plain), file))
        after = everything(other, rag.collections)
    assert len(after) == 2
    assert sorted(map(str, after)) == sorted(map(str, before))


def test_reading_goes_on_after_a_key(store: Store) -> None:
    list(load(store, LineReader(RAW, False), lines(*({"Item": raw(number)} for number in range(5)))))
    rest = list(store.iterate(stored_items(RAW, store.setup, raw(2))))
    assert rest == [raw(3), raw(4)]


def test_loading_tells_how_far_it_is_and_leaves_out_earlier_lines(store: Store) -> None:
    file = lines(*({"Item": raw(number)} for number in range(450)))
    assert list(load(store, LineReader(RAW, False), file, first=101)) == [300, 450]
    assert len(everything(store, RAW)) == 350


def test_of_two_lines_with_one_key_the_later_stays(store: Store) -> None:
    list(load(store, LineReader(RAW, False), lines({"Item": raw(1) | {"v": {"S": "a"}}}, {"Item": raw(1) | {"v": {"S": "b"}}})))
    assert everything(store, RAW) == [raw(1) | {"v": {"S": "b"}}]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"nonsense", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"id": {"S": "x"}}', "--plain"),
        (b'{"Item": {"id": {"S": "x"}}}', "the key attribute n of type N is missing"),
        (b'{"Item": {"id": {"S": "x"}, "n": {"S": "1"}}}', "the key attribute n of type N is missing"),
        (b'{"Item": {"id": {"S": "x"}, "n": {"N": "1"}, "v": "text"}}', "v is not a value"),
        (b'{"Item": {"id": {"S": "x"}, "n": {"N": "1"}, "v": {"L": [{"Q": 1}]}}}', "v[0] is not a value"),
        (b'{"Item": {"id": {"S": "x"}, "n": {"N": "1"}, "v": {"M": {"w": {"N": 1}}}}}', "v.w is not a value"),
    ],
)
def test_a_line_that_is_no_item_is_refused_with_the_reason(line: bytes, words: str) -> None:
    with pytest.raises(BadLine) as refused:
        LineReader(RAW, False).item(line)
    assert words in str(refused.value)


def nested(levels: int) -> dict[str, object]:
    value: dict[str, object] = {"S": "deep"}
    for _ in range(levels):
        value = {"L": [value]}
    return value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"N": "abc"}, "not a number"),
        ({"N": "NaN"}, "not a number"),
        ({"N": "1_0"}, "not a number"),
        ({"N": "1E+126"}, "cannot be stored"),
        ({"N": "1" * 39}, "cannot be stored"),
        ({"B": "@@@"}, "not base64"),
        ({"B": "AR=="}, "not base64"),
        ({"SS": []}, "empty set"),
        ({"SS": ["a", "a"]}, "twice"),
        ({"NS": ["1", "1.0"]}, "twice"),
        ({"SS": [1]}, "not a value"),
        ({"NULL": False}, "not a value"),
        ({"M": {"w": {"N": ""}}}, "v.w is not a number"),
        ({"S": "\ud800"}, "surrogate"),
        ({"S": "x" * 409_600}, "bytes"),
        (nested(32), "levels"),
    ],
)
def test_a_value_that_dynamodb_does_not_take_is_refused_before_anything_is_written(store: Store, value: Any, words: str) -> None:
    item = raw(1) | {"v": value}
    with pytest.raises(BadLine) as refused:
        LineReader(RAW, False).item(json.dumps({"Item": item}).encode())
    assert words in str(refused.value)
    with pytest.raises((ServiceError, ModelError)):
        store.transport.call("PutItem", {"TableName": "raw", "Item": item})


@pytest.mark.parametrize("value", [{"N": "+1.50e3"}, {"N": "9" * 38}, {"B": ""}, {"S": ""}, {"L": []}, {"NS": ["1", "2"]}, nested(31)])
def test_a_value_that_dynamodb_takes_is_taken(store: Store, value: Any) -> None:
    item = raw(1) | {"v": value}
    assert LineReader(RAW, False).item(json.dumps({"Item": item}).encode()) == item
    store.transport.call("PutItem", {"TableName": "raw", "Item": item})


@pytest.mark.parametrize(("key", "words"), [("", "empty"), ("x" * 2049, "2,048"), ("é" * 1025, "2,048")])
def test_a_key_that_dynamodb_does_not_take_is_refused(key: str, words: str) -> None:
    with pytest.raises(BadLine, match=words):
        LineReader(RAW, False).item(json.dumps({"Item": raw(1) | {"id": {"S": key}}}).encode())


def test_a_key_of_an_index_is_held_to_its_type() -> None:
    table = Table("Indexed", hash="id", indexes=[GSI("by-x", hash="x")])
    with pytest.raises(BadLine, match="the key attribute x must have the type S"):
        LineReader(table, False).item(b'{"Item": {"id": {"S": "1"}, "x": {"N": "1"}}}')


def test_the_model_checks_what_is_declared() -> None:
    key = {"PK": {"S": "PROJECT#00000000-0000-4000-8000-000000000000"}, "SK": {"S": "METADATA"}}
    with pytest.raises(BadLine, match="conceptPrompt"):
        LineReader(mv.projects, False).item(json.dumps({"Item": key}).encode())
    with pytest.raises(BadLine, match="no entity of MVProjects"):
        LineReader(mv.projects, False).item(json.dumps({"Item": key | {"SK": {"S": "ELSE"}}}).encode())


def test_faults_have_the_numbers_of_their_lines() -> None:
    file = io.BytesIO(b'\nnope\n{"Item":{"id":{"S":"x"},"n":{"N":"1"}}}\n{}\n')
    assert [fault and fault.line for fault in LineReader(RAW, False).faults(file)] == [2, None, 4]


def test_browsing_goes_on_with_its_cursor_until_the_end(store: Store) -> None:
    list(load(store, LineReader(RAW, False), lines(*({"Item": raw(number)} for number in range(5)))))
    seen, cursor = [], None
    for _ in range(3):
        glimpse = browse(store, RAW, limit=2, cursor=cursor)
        seen += glimpse.items
        cursor = glimpse.cursor
    assert seen == [raw(number) for number in range(5)]
    assert cursor is None


def test_browsing_one_entity_looks_past_the_others(store: Store) -> None:
    project = store.create(mv.Project(concept_prompt="p", character_description="c"))
    for sequence in (1, 2):
        store.create(mv.Scene(project_id=project.project_id, sequence=sequence, prompt="p", duration=1))
    spec = next(spec for spec in mv.projects.specs if spec.name == "Scene")
    glimpse = browse(store, mv.projects, spec=spec, limit=10)
    assert [item["SK"]["S"] for item in glimpse.items] == ["SCENE#001", "SCENE#002"]
    assert glimpse.examined == 3


def test_browsing_stops_when_it_has_looked_at_enough(store: Store) -> None:
    list(load(store, LineReader(RAW, False), lines(*({"Item": raw(number)} for number in range(5)))))
    glimpse = browse(store, RAW, limit=10, examine=3)
    assert len(glimpse.items) == 3
    assert glimpse.cursor is not None


def test_a_cursor_is_good_for_its_table_only(store: Store) -> None:
    cursor = position_after(store, RAW, raw(1))
    assert position_of(store, RAW, cursor) == raw(1)
    with pytest.raises(CursorRejected):
        position_of(store, mv.projects, cursor)


def test_a_table_that_is_not_declared_is_known_by_its_keys(store: Store) -> None:
    found = described_table(store, "raw")
    assert (found.attributes, found.key_types()) == (("id", "n"), {"id": "S", "n": "N"})
    with pytest.raises(TableMissing):
        described_table(store, "nothing")


def test_items_under_older_keys_and_schemas_can_be_loaded_as_they_were_stored() -> None:
    one = libraries.Document(document_id="d", repository_id="r", collection_id="titan", upload_date=1)
    older = libraries.old_item(one)
    assert LineReader(libraries.documents, False).item(line_of(older, False)) == older
    asking = {**older, "pk": {"S": "r#titan"}}
    assert LineReader(libraries.documents, False).item(line_of(asking, False)) == asking
