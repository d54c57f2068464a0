"""Every read has the same result for any mix of current and legacy keys as if all items had been moved."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateleg.model import Attr, Entity, Item, Key, Pattern, Table, spec_of
from gateleg.model.errors import LookupNeeded, MissingComponent
from gateleg.store import AsyncStore, Store
from gateleg.store.operations import batch_get, merges, page
from tests.store.doubles import Played, play
from tests.store.libraries import Document, Repository, documents, old_item, put_old, repositories, whole

PLACE: dict[str, Any] = {"repository_id": "r1", "collection_id": "titan"}


def pages(store: Store, question: Any, limit: int, **options: Any) -> list[Any]:
    """All pages forwards, then all of them backwards."""
    found, cursor = [], None
    while True:
        page = store.page(question, limit=limit, cursor=cursor, **options)
        found.append(list(page))
        cursor = page.next
        if cursor is None:
            break
    while page.previous is not None:
        page = store.page(question, limit=limit, cursor=page.previous, **options)
        found.append(list(page))
    return found


READERS: dict[str, Callable[[Store], Any]] = {
    "query": lambda store: list(store.query(Document.in_partition, **PLACE)),
    "query by index": lambda store: list(store.query(Document.newest, **PLACE)),
    "query by local index": lambda store: list(store.query(Document.by_size, **PLACE)),
    "oldest first": lambda store: list(store.query(Document.newest, newest_first=False, **PLACE)),
    "limited": lambda store: list(store.query(Document.newest, limit=2, **PLACE)),
    "small pages": lambda store: list(store.query(Document.newest, page_size=1, **PLACE)),
    "range": lambda store: list(store.query(Document.newest(Document.upload_date >= 2, **PLACE))),
    "key range": lambda store: list(store.query(Document.in_partition(Document.document_id < "d3", **PLACE))),
    "filtered": lambda store: list(store.query(Document.newest(**PLACE).filter(Document.note == "x"))),
    "projected": lambda store: list(store.query(Document.newest, project=[Document.title, Document.collection_id], **PLACE)),
    "hydrated": lambda store: list(store.query(Document.newest, hydrate=True, **PLACE)),
    "pages": lambda store: pages(store, Document.in_partition, 2, **PLACE),
    "pages by index": lambda store: pages(store, Document.newest, 2, **PLACE),
    "count": lambda store: store.count(Document.in_partition, **PLACE),
    "count by index": lambda store: store.count(Document.newest, **PLACE),
    "count filtered": lambda store: store.count(Document.newest(**PLACE).filter(Document.note == "x")),
    "count to a limit": lambda store: store.count(Document.newest, limit=2, **PLACE),
    "collect": lambda store: store.collect(whole, **PLACE).of(Document),
    "find": lambda store: [store.find(Document, document_id=f"d{number}", **PLACE) for number in range(6)],
    "get projected": lambda store: [
        store.get(Document, document_id=found.document_id, project=[Document.collection_id], **PLACE)
        for found in store.query(Document.in_partition, **PLACE)
    ],
    "batch_get": lambda store: store.batch_get([Document.key(document_id=f"d{number}", **PLACE) for number in range(6)]),
    "transact_get": lambda store: store.transact_get([Document.key(document_id=f"d{number}", **PLACE) for number in range(6)]),
    "loader": lambda store: store.loader(Document).load_many([Document.key(document_id=f"d{n}", **PLACE) for n in range(6)]),
    "export": lambda store: sorted(store.export(Document), key=lambda found: (found.collection_id, found.document_id)),
    "index with old items": lambda store: list(store.query(Document.in_repository, repository_id="r1")),
    "pages of an index with old items": lambda store: pages(store, Document.in_repository, 2, repository_id="r1"),
    "count of an index with old items": lambda store: store.count(Document.in_repository, repository_id="r1"),
    "index and old partition": lambda store: list(store.query(Document.all_in_repository, repository_id="r1")),
    "pages of index and old partition": lambda store: pages(store, Document.all_in_repository, 2, repository_id="r1"),
    "index of keys with old items": lambda store: [
        list(store.query(Document.with_id, hydrate=True, document_id=f"d{n}")) for n in range(3)
    ],
    "another collection": lambda store: list(store.query(Document.newest, repository_id="r1", collection_id="other")),
    "another partition": lambda store: list(store.query(Document.in_partition, repository_id="r1", collection_id="other")),
    "another repository": lambda store: list(store.query(Document.newest, repository_id="r2", collection_id="titan")),
}


def document(number: int, upload: int, *, size: int = 0, note: str | None = None, collection: str = "titan") -> Document:
    return Document(
        document_id=f"d{number}",
        repository_id="r1",
        collection_id=collection,
        upload_date=upload,
        title=f"t{upload}",
        size=size,
        note=note,
    )


def prepared(store: Store) -> Store:
    store.create_tables(documents, repositories)
    store.put(Repository(repository_id="r1", model="titan"))
    store.put(Repository(repository_id="r2", model="titan"))
    put_old(store, document(9, 1).model_copy(update={"repository_id": "r2"}))
    store.put(document(8, 555, collection="other"))
    return store


MIX = ["old", "new", "old", "both", "absent", "new"]
#: what is stored: nothing, or an item under its present key, its older one, or both
Where = st.sampled_from(["absent", "new", "old", "both"])
Kept = st.tuples(Where, st.integers(0, 4), st.integers(0, 2), st.sampled_from([None, "x"]))


@pytest.fixture(scope="module")
def mixed() -> Any:
    with Store.embedded(cursor_key=b"test") as store:
        yield prepared(store)


@pytest.fixture(scope="module")
def moved() -> Any:
    with Store.embedded(cursor_key=b"test") as store:
        yield prepared(store)


def fill(mixed: Store, moved: Store, kept: list[tuple[str, int, int, str | None]], unique: bool) -> None:
    for number, (where, upload, size, note) in enumerate(kept):
        # Items with equal sort keys of an index come in no order that two layouts would share.
        one = document(number, number * 10 + upload if unique else upload, size=number * 10 + size if unique else size, note=note)
        for store in (mixed, moved):
            for key in ({"pk": {"S": "r1#titan"}}, {"pk": {"S": "r1"}}):
                key |= {"document_id": {"S": one.document_id}}
                store.transport.call("DeleteItem", {"TableName": "Documents", "Key": key})
        if where in ("old", "both"):
            put_old(mixed, one if where == "old" else one.model_copy(update={"upload_date": 2, "note": "x"}))
        if where in ("new", "both"):
            mixed.put(one) if where == "new" else mixed.transport.call("PutItem", {"TableName": "Documents", "Item": encoded(one)})
        if where != "absent":
            moved.transport.call("PutItem", {"TableName": "Documents", "Item": encoded(one)})


def encoded(one: Document) -> Item:
    return spec_of(Document).encode(one)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(kept=st.lists(Kept, min_size=6, max_size=6))
def test_every_read_sees_legacy_items_as_if_all_were_moved(mixed: Store, moved: Store, kept: Any) -> None:
    fill(mixed, moved, kept, unique=True)
    for name, read in READERS.items():
        assert read(mixed) == read(moved), name


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(kept=st.lists(Kept, min_size=6, max_size=6), limit=st.integers(1, 4))
def test_pages_have_no_gaps_or_duplicates_among_equal_sort_keys(mixed: Store, moved: Store, kept: Any, limit: int) -> None:
    fill(mixed, moved, kept, unique=False)
    for pattern in (Document.newest, Document.by_size):
        expected = sorted(found.document_id for found in moved.query(pattern, **PLACE))
        read = pages(mixed, pattern, limit, **PLACE)
        count = max(1, -(-len(expected) // limit))
        forward = [found.document_id for page in read[:count] for found in page]
        assert sorted(forward) == expected
        # Backwards, the pages are the same ones again.
        assert read[count:] == read[: count - 1][::-1]


def filled(store: Store) -> Store:
    """A store with some items under current keys and some under legacy keys, in another order by date."""
    prepared(store)
    for number, where in enumerate(MIX):
        one = document(number, (number * 7) % 10, note="x" if number % 2 else None)
        if where in ("old", "both"):
            put_old(store, one)
        if where in ("new", "both"):
            store.transport.call("PutItem", {"TableName": "Documents", "Item": encoded(one)})
    return store


NAMES = ["d0", "d1", "d2", "d3", "d5"]
NEWEST = ["d1", "d5", "d2", "d3", "d0"]


def ids(found: Any) -> list[str]:
    return [one.document_id for one in found]


def test_every_transport_reads_legacy_items(store: Store) -> None:
    filled(store)
    assert ids(store.query(Document.in_partition, **PLACE)) == NAMES
    assert ids(store.query(Document.newest, **PLACE)) == NEWEST
    assert [ids(one) for one in pages(store, Document.newest, 2, **PLACE)] == [
        ["d1", "d5"],
        ["d2", "d3"],
        ["d0"],
        ["d2", "d3"],
        ["d1", "d5"],
    ]
    assert store.count(Document.newest, **PLACE) == 5
    assert ids(store.collect(whole, **PLACE).of(Document)) == NAMES


async def test_every_async_transport_reads_legacy_items(async_store: AsyncStore) -> None:
    await async_store.create_tables(documents, repositories)
    await async_store.put(Repository(repository_id="r1", model="titan"))
    await async_store.put(document(1, 5))
    await async_store.transport.call("PutItem", {"TableName": "Documents", "Item": old_item(document(2, 7))})
    assert ids([one async for one in async_store.query(Document.newest, **PLACE)]) == ["d2", "d1"]
    assert await async_store.count(Document.in_partition, **PLACE) == 2
    loader = async_store.loader(Document)
    assert ids([await loader.load(document_id="d2", **PLACE)]) == ["d2"]


def test_delete_all_deletes_legacy_items_too(memory: Store) -> None:
    filled(memory)
    assert memory.delete_all(Document.newest, **PLACE) == 5
    assert sorted(item["document_id"]["S"] for item in memory.scan(documents)) == ["d8", "d9"]


def test_a_large_legacy_partition_is_read_in_parts(memory: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limited number of items is kept in memory; the rest is found by reading the partition again."""
    monkeypatch.setattr(merges, "_MAX_KEPT", 2)
    filled(memory)
    assert ids(memory.query(Document.newest, **PLACE)) == NEWEST
    assert ids(memory.query(Document.newest, newest_first=False, **PLACE)) == NEWEST[::-1]


def test_an_index_pattern_requires_the_arguments_of_the_legacy_partition(memory: Store) -> None:
    with pytest.raises(MissingComponent, match="repository_id"):
        memory.count(Document.newest, collection_id="titan")


def test_upcasters_read_in_one_batch_and_each_item_once(memory: Store) -> None:
    filled(memory)
    flow = page(Document.in_partition, limit=10, **PLACE).flow(memory.setup)
    asked = play(flow, lambda request: memory.transport.call(request.operation, request.payload))
    wanted = [one.payload["RequestItems"] for one in asked.requests if "Repositories" in one.payload.get("RequestItems", {})]
    assert wanted == [{"Repositories": {"Keys": [{"repositoryId": {"S": "r1"}}]}}]


def test_an_item_without_the_item_that_its_upcaster_needs_is_reported(memory: Store) -> None:
    filled(memory)
    memory.delete(Repository, repository_id="r1")
    page = memory.page(Document.in_partition, limit=10, **PLACE)
    assert ids(page) == ["d1", "d3", "d5"]
    assert sorted(bad.item["document_id"]["S"] for bad in page.unreadable) == ["d0", "d2", "d3"]


def test_decoding_without_a_store_names_the_needed_item() -> None:
    with pytest.raises(LookupNeeded, match="Repository"):
        spec_of(Document).decode(old_item(document(1, 1)))


def racing(store: Store, moved: str) -> Played:
    """A query during which another writer moves an item, right after the legacy partition was read."""
    done: list[bool] = []

    def answer(request: Any) -> Any:
        reply = store.transport.call(request.operation, request.payload)
        if not done and request.operation == "Query":
            done.append(True)
            store.patch(Document, Document.note.set("moved"), document_id=moved, **PLACE)
        return reply

    return play(page(Document.newest, limit=10, **PLACE).flow(store.setup), answer)


def test_an_item_that_moves_during_a_query_is_found_once(memory: Store) -> None:
    filled(memory)
    assert ids(racing(memory, "d2").result) == NEWEST


@pytest.mark.parametrize("moved", [["d0"], ["d2"], ["d0", "d2"]])
def test_items_that_move_between_two_pages_are_found_once(memory: Store, moved: list[str]) -> None:
    filled(memory)
    found, cursor = [], None
    while True:
        one = memory.page(Document.newest, limit=1, cursor=cursor, **PLACE)
        found += ids(one)
        for name in moved:
            memory.patch(Document, Document.note.set("moved"), document_id=name, **PLACE)
        cursor = one.next
        if cursor is None:
            break
    assert found == NEWEST


WRITERS: dict[str, Callable[[Store], Any]] = {
    "put": lambda store: store.put(document(0, 1)),
    "put again": lambda store: store.put(store.get(Document, document_id="d0", **PLACE)),
    "patch": lambda store: store.patch(Document, Document.note.set("n"), document_id="d0", **PLACE),
    "upsert": lambda store: store.upsert(Document, Document.upload_date.set(4), document_id="d0", **PLACE),
    "save": lambda store: store.save((old := store.get(Document, document_id="d0", **PLACE)).model_copy(update={"size": 4}), before=old),
    "retrying": lambda store: store.retrying(Document, lambda one: [Document.size.set(one.size + 1)], document_id="d0", **PLACE),
    "batch_write": lambda store: store.batch_write([document(0, 1)]),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
def test_a_write_moves_the_item_and_leaves_no_copy(memory: Store, write: Callable[[Store], Any]) -> None:
    prepared(memory)
    put_old(memory, document(0, 0))
    write(memory)
    assert [item["pk"]["S"] for item in memory.scan(documents) if item["document_id"] == {"S": "d0"}] == ["r1#titan"]
    assert memory.count(Document.newest, **PLACE) == 1


def test_a_delete_removes_the_old_item(memory: Store) -> None:
    prepared(memory)
    put_old(memory, document(0, 0))
    memory.delete(Document, document_id="d0", **PLACE)
    assert memory.count(Document.in_partition, **PLACE) == 0


letters = Table("Letters", hash="pk", range="sk")


class Letter(Entity, table=letters):
    """A letter with two legacy keys: one in the same partition, and an older one in another partition."""

    box: Attr[str]
    number: Attr[int]

    key = Key("BOX#{box}", "L#{number:04d}", legacy=[("BOX#{box}", "N#{number}"), ("{box}", "N#{number}")])
    in_box = Pattern(title="Letters of a box")


def test_legacy_sort_keys_in_the_same_partition_are_found_once_and_in_order(memory: Store) -> None:
    memory.create_tables(letters)
    for number in (3, 10):
        memory.put(Letter(box="a", number=number))
    for pk, sk in (("BOX#a", "4"), ("BOX#a", "20"), ("a", "5"), ("a", "4"), ("a", "3")):
        item = {"pk": {"S": pk}, "sk": {"S": f"N#{sk}"}, "box": {"S": "a"}, "number": {"N": sk}}
        memory.transport.call("PutItem", {"TableName": "Letters", "Item": item})
    assert [one.number for one in memory.query(Letter.in_box, box="a")] == [3, 4, 5, 10, 20]
    assert [[one.number for one in page] for page in pages(memory, Letter.in_box, 2, box="a")][:3] == [[3, 4], [5, 10], [20]]
    assert memory.count(Letter.in_box, box="a") == 5
    assert sorted(one.number for one in memory.export(Letter)) == [3, 4, 5, 10, 20]


cards = Table("Cards", hash="box", range="code")


class Card(Entity, table=cards):
    """A card whose legacy key has the same template as its current one: only its attributes distinguish them."""

    box: Attr[str]
    code: Attr[str]
    name: Attr[str]

    key = Key("{box}", "{code}", legacy=[("{box}", "OLD#{name}")])
    in_box = Pattern(title="Cards of a box")


def test_a_legacy_key_that_also_matches_the_current_template_is_distinguished_by_values(memory: Store) -> None:
    memory.create_tables(cards)
    memory.put(Card(box="a", code="OLD#x", name="present"))
    assert [one.code for one in memory.query(Card.in_box, box="a")] == ["OLD#x"]


def test_batches_keep_their_order_among_legacy_and_current_items(memory: Store) -> None:
    filled(memory)
    refs = [Document.key(document_id=name, **PLACE) for name in ("d5", "d2", "d4", "d0")]
    found = memory.run(batch_get(refs))
    assert [None if one is None else one.document_id for one in found] == ["d5", "d2", None, "d0"]
