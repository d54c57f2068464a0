"""Pages: full, in order, forwards and backwards, through filters and over shards."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateleg.model import Query
from gateleg.store import CursorRejected, Page, Store
from gateleg.store.errors import BadLimit
from gateleg.store.operations import count, page, query
from tests.store.doubles import play, quiet_setup
from tests.store.notes import Note, notes, shelf


@pytest.fixture(scope="module")
def filled() -> Iterator[Store]:
    """Forty notes, every third about whales, and two more books."""
    with Store.embedded(cursor_key=b"test") as store:
        store.create_tables(shelf)
        for book in ("a", "b", "c"):
            store.batch_write([Note(book=book, number=number, topic="whales" if number % 3 == 0 else "sea") for number in range(40)])
        yield store


def forwards(store: Store, question: Query[Note], limit: int, **options: Any) -> list[Page[Note]]:
    pages = [store.page(question, limit=limit, **options)]
    while pages[-1].next is not None:
        pages.append(store.page(question, limit=limit, cursor=pages[-1].next, **options))
    return pages


def numbers(pages: list[Page[Note]]) -> list[int]:
    return [note.number for each in pages for note in each]


QUESTIONS = {
    "plain": Note.in_book(book="b"),
    "reversed": Note.in_book(book="b").reversed(),
    "narrowed": Note.in_book(book="b").where(Note.number >= 11),
    "filtered": Note.in_book(book="b").filter(Note.topic == "whales"),
    "nothing": Note.in_book(book="b").filter(Note.topic == "cats"),
}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(list(QUESTIONS)), limit=st.integers(1, 50))
def test_pages_are_the_query_in_full_pages(filled: Store, name: str, limit: int) -> None:
    question = QUESTIONS[name]
    pages = forwards(filled, question, limit)
    assert numbers(pages) == [note.number for note in filled.query(question)]
    assert all(len(each) == limit for each in pages[:-1])
    assert len(pages) == 1 or 0 < len(pages[-1]) <= limit


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(list(QUESTIONS)), limit=st.integers(1, 50))
def test_going_back_shows_the_same_pages(filled: Store, name: str, limit: int) -> None:
    question = QUESTIONS[name]
    pages = forwards(filled, question, limit)
    current, back = pages[-1], [pages[-1].items]
    while current.previous is not None:
        current = filled.page(question, limit=limit, cursor=current.previous)
        back.append(current.items)
    assert back[::-1] == [each.items for each in pages]
    again = filled.page(question, limit=limit, cursor=current.next) if current.next else None
    assert again is None or again.items == pages[1].items


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(limit=st.integers(1, 60))
def test_pages_of_a_sharded_index_are_in_one_order(filled: Store, limit: int) -> None:
    question = Note.on_topic(topic="whales")
    pages = forwards(filled, question, limit)
    assert numbers(pages) == sorted(number for number in range(0, 40, 3) for _ in range(3))
    assert len({(note.book, note.number) for each in pages for note in each}) == 42
    assert all(each.previous is None for each in pages)


def test_first_page_has_no_previous_and_last_no_next(filled: Store) -> None:
    pages = forwards(filled, Note.in_book(book="b"), 20)
    assert len(pages) == 2
    assert pages[0].previous is None
    assert pages[1].next is None


def test_order_can_be_reversed_for_one_query(filled: Store) -> None:
    first = filled.page(Note.in_book, book="b", limit=3, newest_first=True)
    assert [note.number for note in first] == [39, 38, 37]


def test_cursor_is_valid_for_its_arguments_only(filled: Store) -> None:
    first = filled.page(Note.in_book, book="b", limit=3)
    with pytest.raises(CursorRejected):
        filled.page(Note.in_book, book="c", limit=3, cursor=first.next)
    with pytest.raises(CursorRejected):
        filled.page(Note.in_book(book="b").filter(Note.stars == 0), limit=3, cursor=first.next)
    with pytest.raises(CursorRejected):
        filled.page(Note.in_book, book="b", limit=3, cursor="made up")
    assert len(filled.page(Note.in_book, book="b", limit=7, cursor=first.next)) == 7


def test_examined_items_can_be_limited_and_the_next_page_continues(filled: Store) -> None:
    rare = Note.in_book(book="b").filter(Note.topic == "whales")
    pages = forwards(filled, rare, 5, examine=4)
    assert numbers(pages) == list(range(0, 40, 3))
    assert all(len(each) <= 2 for each in pages)


def test_page_reads_one_item_more_than_it_shows() -> None:
    question = Note.in_book(book="b")
    played = play(page(question, limit=20).flow(quiet_setup()), [{"Items": [], "Count": 0, "ScannedCount": 0}])
    assert played.requests[0].payload["Limit"] == 21


def test_projected_page_has_only_the_projected_attributes(filled: Store) -> None:
    first = filled.page(Note.in_book, book="b", limit=2, project=[Note.topic])
    assert first.items == [{"topic": "whales"}, {"topic": "sea"}]
    second = filled.page(Note.in_book, book="b", limit=2, project=[Note.topic], cursor=first.next)
    assert second.items == [{"topic": "sea"}, {"topic": "whales"}]


def test_page_without_a_limit_is_refused() -> None:
    with pytest.raises(BadLimit, match="at least 1, and is 0"):
        page(Note.in_book(book="b"), limit=0)


@pytest.mark.parametrize("verb", [page, query, count])
def test_a_limit_that_is_text_is_refused(verb: Callable[..., Any]) -> None:
    with pytest.raises(BadLimit, match=r"must be an int, and is '10'\. Convert it"):
        verb(Note.in_book(book="b"), limit="10")


def test_deleted_item_at_the_edge_of_a_page_does_no_harm(memory: Store) -> None:
    memory.create_tables(shelf)
    memory.batch_write(notes(6))
    first = memory.page(Note.in_book, book="b", limit=3)
    memory.delete(first.items[-1])
    assert [note.number for note in memory.page(Note.in_book, book="b", limit=3, cursor=first.next)] == [3, 4, 5]
