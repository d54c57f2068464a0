"""Pages of answers, with what they cost."""

import pytest

from gateleg.host.items import read_item
from gateleg.model import spec_of
from gateleg.store import AsyncStore, CursorRejected
from gateleg.web.console.tables.query_results import MeteredRequest, MeteringTransport, cost_text, query_page, scan_page
from tests.web.console.tables.library import Book, Loan, Reader, books, library, loans, readers


async def test_a_question_is_answered_page_by_page_with_its_cost(store: AsyncStore) -> None:
    query = Book.on_shelf(status="shelved")
    first = await query_page(store, query, limit=4)
    second = await query_page(store, query, limit=4, cursor=first.next)
    titles = [item["title"]["S"] for item in (*first.items, *second.items)]
    assert titles == [book.title for book in sorted(books(), key=lambda book: (book.shelf, book.title)) if book.status == "shelved"]
    assert second.next is None
    assert second.previous is not None
    assert sum(entry.units for entry in first.sent) > 0
    assert first.sent[0].request["IndexName"] == "ShelfIndex"


async def test_the_shown_request_is_the_one_of_the_question(store: AsyncStore) -> None:
    found = await query_page(store, Book.on_shelf(status="lent"), limit=4)
    assert "ReturnConsumedCapacity" not in found.sent[0].request


async def test_an_index_with_keys_only_answers_with_whole_items(store: AsyncStore) -> None:
    found = await query_page(store, Loan.of_reader(reader="ada"), limit=10)
    assert len(found.items) == 3
    assert all("due_at" in item and "number" in item for item in found.items)
    assert [entry.operation for entry in found.sent] == ["Query", "BatchGetItem"]


async def test_looking_around_reaches_every_item_once(store: AsyncStore) -> None:
    seen, cursor = [], None
    for _ in range(20):
        part = await scan_page(store, library, limit=5, cursor=cursor)
        seen += [(item["pk"]["S"], item["sk"]["S"]) for item in part.items]
        cursor = part.next
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == len(books()) + len(loans())


async def test_looking_around_can_keep_to_one_entity(store: AsyncStore) -> None:
    found = await scan_page(store, library, spec=spec_of(Loan), limit=50)
    assert len(found.items) == len(loans())
    assert found.next is None


async def test_looking_around_stops_when_enough_was_looked_at(store: AsyncStore) -> None:
    seen, cursor, looks = 0, None, 0
    while True:
        part = await scan_page(store, library, spec=spec_of(Loan), limit=50, cursor=cursor, examine=4)
        assert sum(entry.examined for entry in part.sent) <= 4
        seen, cursor, looks = seen + len(part.items), part.next, looks + 1
        if cursor is None:
            break
    assert seen == len(loans())
    assert looks > 3


async def test_markers_of_unique_values_are_not_shown(store: AsyncStore) -> None:
    found = await scan_page(store, readers, limit=50)
    assert sorted(item["reader_id"]["S"] for item in found.items) == ["ada", "grace"]


async def test_a_cursor_of_another_table_is_refused(store: AsyncStore) -> None:
    part = await scan_page(store, library, limit=2)
    with pytest.raises(CursorRejected):
        await scan_page(store, readers, limit=2, cursor=part.next)


async def test_an_item_is_read_by_its_key(store: AsyncStore) -> None:
    assert await read_item(store, readers, {"reader_id": {"S": "ada"}}) == spec_of(Reader).encode(
        Reader(reader_id="ada", email="ada@example.org", name="Ada")
    )
    assert await read_item(store, readers, {"reader_id": {"S": "nobody"}}) is None


async def test_a_meter_adds_up(store: AsyncStore) -> None:
    meter = MeteringTransport(store.transport)
    through = store.using(meter)
    await through.get(Reader, reader_id="ada")
    await through.get(Reader, reader_id="grace")
    assert meter.units == 1.0
    assert meter.examined == 2


def test_cost_is_told_in_words() -> None:
    assert cost_text([MeteredRequest("Query", {}, 0.5, 3, 3)]) == "0.5 units of capacity in 1 request"
    assert "40 items were read to find 3" in cost_text([MeteredRequest("Scan", {}, 1, 3, 40), MeteredRequest("Scan", {}, 0, 0, 0)])


async def test_an_item_that_is_not_what_its_entity_says_does_not_hide_the_others(store: AsyncStore) -> None:
    broken = spec_of(Book).encode(books()[0]) | {"year": {"S": "long ago"}}
    await store.transport.call("PutItem", {"TableName": library.name, "Item": broken})
    found = await query_page(store, Book.on_shelf(status="shelved"), limit=20)
    assert len(found.items) == 7
    assert "year" in found.note
