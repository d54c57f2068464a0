"""Lists of collections: paged without a gap, filtered, sorted, and by the caller's rights."""

from collections.abc import Callable
from typing import Any

import pytest

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.collection_list import (
    CollectionFilter,
    SortBy,
    list_all_collections,
    list_collections,
    list_own_collections,
)
from gateleg.apps.rag.collections import OpenedCollection, create_collection, soft_delete_collection, update_collection
from gateleg.apps.rag.drafts import CollectionChanges, NewCollection, NewRepository
from gateleg.apps.rag.keyset import KeysetPage
from gateleg.apps.rag.repositories import create_repository
from gateleg.apps.rag.tables import Collection, CollectionStatus, Repository
from gateleg.jobs import ManualClock
from gateleg.store import AsyncStore, CursorRejected

Callers = Callable[[str], Caller]


async def add(store: AsyncStore, who: Caller, repository_id: str, name: str, **fields: Any) -> Collection:
    made = await create_collection(store, who, repository_id, NewCollection.model_validate({"name": name, **fields}))
    return made.collection


def names(page: KeysetPage[OpenedCollection]) -> list[str | None]:
    return [row.collection.name for row in page.rows]


async def all_pages(ask: Callable[[str | None], Any]) -> list[list[str | None]]:
    found, token = [], None
    while True:
        page = await ask(token)
        found.append(names(page))
        if (token := page.next) is None:
            return found


@pytest.fixture
async def filled(store: AsyncStore, legal: Repository, commons: Repository, caller: Callers, clock: ManualClock) -> None:
    """Collections in two repositories; each pair of them is created at the same moment."""
    for number in range(6):
        clock.advance(1 if number % 2 == 0 else 0)
        await add(store, caller("creator"), "legal", f"legal {number}", metadata={"tags": [f"t{number % 2}"]})
        await add(store, caller("outsider"), "commons", f"Commons {number}", description=f"Number {number}")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("sort_by", SortBy)
async def test_pages_hold_everything_once_and_in_order(
    store: AsyncStore, filled: None, legal: Repository, caller: Callers, size: int, descending: bool, sort_by: SortBy
) -> None:
    wanted = CollectionFilter(sort_by=sort_by, descending=descending)
    pages = await all_pages(lambda token: list_collections(store, caller("lawyer"), legal, wanted, size=size, token=token))
    assert all(len(page) == size for page in pages[:-1])
    found = [name for page in pages for name in page]
    assert sorted(map(str, found)) == ["Default", *(f"legal {number}" for number in range(6))]
    if sort_by is SortBy.NAME:
        assert found == sorted(found, key=lambda name: str(name).casefold(), reverse=descending)
    else:
        assert found[-1 if descending else 0] == "Default"
        assert [str(name)[-1] for name in found if name != "Default"][0 if descending else -1] in "45"


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("sort_by", SortBy)
async def test_pages_over_all_repositories(
    store: AsyncStore, filled: None, caller: Callers, size: int, descending: bool, sort_by: SortBy
) -> None:
    wanted = CollectionFilter(sort_by=sort_by, descending=descending)
    pages = await all_pages(lambda token: list_all_collections(store, caller("lawyer"), wanted, size=size, token=token))
    assert all(len(page) == size for page in pages[:-1])
    found = [str(name) for page in pages for name in page]
    expected = [f"legal {n}" for n in range(6)] + [f"Commons {n}" for n in range(6)] + ["Default", "Default"]
    assert sorted(found) == sorted(expected)
    if sort_by is SortBy.NAME:
        assert [name.casefold() for name in found] == sorted((name.casefold() for name in found), reverse=descending)
    else:
        rounds = [int(name[-1]) // 2 for name in found if name != "Default"]
        assert rounds == sorted(rounds, reverse=descending)


async def test_list_of_more_than_a_hundred(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    for number in range(130):
        await add(store, caller("creator"), "legal", f"c{number}")
    page = await list_collections(store, caller("lawyer"), legal, CollectionFilter(), size=50)
    assert (page.total, page.before) == (131, 0)
    pages = await all_pages(lambda token: list_all_collections(store, caller("lawyer"), CollectionFilter(), size=50, token=token))
    assert [len(one) for one in pages] == [50, 50, 31]


async def test_row_that_comes_between_two_pages_moves_no_other(
    store: AsyncStore, filled: None, legal: Repository, caller: Callers, clock: ManualClock
) -> None:
    wanted = CollectionFilter()
    first = await list_collections(store, caller("lawyer"), legal, wanted, size=3)
    clock.advance(1)
    await add(store, caller("creator"), "legal", "new")
    second = await list_collections(store, caller("lawyer"), legal, wanted, size=100, token=first.next)
    assert set(names(first)).isdisjoint(names(second))
    assert len(first.rows) + len(second.rows) == 7


async def test_filters(store: AsyncStore, filled: None, legal: Repository, commons: Repository, caller: Callers) -> None:
    async def found(repository: Repository, **wanted: Any) -> list[str | None]:
        return sorted(names(await list_collections(store, caller("lawyer"), repository, CollectionFilter(**wanted), size=100)), key=str)

    assert await found(legal, text="LEGAL 3") == ["legal 3"]
    assert await found(commons, text="number 4") == ["Commons 4"]
    assert await found(legal, tag="t1") == ["legal 1", "legal 3", "legal 5"]
    assert await found(legal, status=CollectionStatus.ARCHIVED) == []
    await update_collection(store, caller("creator"), "legal", "legal 1", CollectionChanges(status=CollectionStatus.ARCHIVED))
    assert await found(legal, status=CollectionStatus.ARCHIVED) == ["legal 1"]


async def test_deleted_collections_are_listed_when_asked_for_and_to_those_who_can_restore_them(
    store: AsyncStore, filled: None, legal: Repository, caller: Callers
) -> None:
    await soft_delete_collection(store, caller("creator"), "legal", "legal 2", days=90)
    wanted = CollectionFilter(status=CollectionStatus.DELETED)
    assert "legal 2" not in names(await list_collections(store, caller("creator"), legal, CollectionFilter(), size=100))
    assert names(await list_collections(store, caller("creator"), legal, wanted)) == ["legal 2"]
    assert names(await list_collections(store, caller("lawyer"), legal, wanted)) == []


async def test_numbers_count_only_what_the_caller_can_read(store: AsyncStore, filled: None, legal: Repository, caller: Callers) -> None:
    await add(store, caller("creator"), "legal", "Secret", private=True)
    await add(store, caller("creator"), "legal", "Partners", allowedGroups=["partners"])
    totals = {}
    for who in ("lawyer", "partner", "creator", "rag admin"):
        totals[who] = (await list_collections(store, caller(who), legal, CollectionFilter(), size=2)).total
    assert totals == {"lawyer": 7, "partner": 8, "creator": 9, "rag admin": 9}


async def test_token_is_good_for_its_own_question_only(
    store: AsyncStore, filled: None, legal: Repository, commons: Repository, caller: Callers
) -> None:
    wanted = CollectionFilter()
    token = (await list_collections(store, caller("lawyer"), legal, wanted, size=2)).next
    with pytest.raises(CursorRejected):
        await list_collections(store, caller("lawyer"), legal, CollectionFilter(text="x"), token=token)
    with pytest.raises(CursorRejected):
        await list_collections(store, caller("partner"), legal, wanted, token=token)
    with pytest.raises(CursorRejected):
        await list_collections(store, caller("lawyer"), commons, wanted, token=token)
    with pytest.raises(CursorRejected):
        await list_collections(store, caller("lawyer"), legal, wanted, token="nonsense")


async def test_my_collections_come_from_all_repositories(store: AsyncStore, filled: None, caller: Callers, clock: ManualClock) -> None:
    clock.advance(1)
    await add(store, caller("creator"), "commons", "Mine")
    pages = await all_pages(lambda token: list_own_collections(store, caller("creator"), CollectionFilter(), size=3, token=token))
    assert [len(page) for page in pages] == [3, 3, 1]
    assert pages[0][0] == "Mine"


async def test_audit_trail_of_a_user_shows_what_its_reader_may_read(store: AsyncStore, filled: None, caller: Callers) -> None:
    await add(store, caller("creator"), "legal", "Secret", private=True)

    async def trail(who: str) -> int:
        return len((await list_own_collections(store, caller(who), CollectionFilter(), creator="ann", size=100)).rows)

    assert [await trail(who) for who in ("admin", "rag admin", "lawyer", "outsider")] == [7, 7, 6, 0]


async def test_right_that_was_taken_away_is_gone_from_the_next_list(
    store: AsyncStore, filled: None, legal: Repository, caller: Callers
) -> None:
    await update_collection(store, caller("creator"), "legal", "legal 0", CollectionChanges(private=True))
    assert "legal 0" not in names(await list_collections(store, caller("lawyer"), legal, CollectionFilter(), size=100))


async def test_repository_without_a_stored_default_collection_lists_one_once(
    store: AsyncStore, filled: None, legal: Repository, caller: Callers
) -> None:
    await store.delete(await store.get(Collection, collection_id="local:minilm", repository_id="legal"))
    pages = await all_pages(lambda token: list_collections(store, caller("lawyer"), legal, CollectionFilter(), size=2, token=token))
    assert [name for page in pages for name in page].count("Default") == 1


async def test_repository_that_cannot_be_read_is_not_in_the_list_of_all(store: AsyncStore, filled: None, caller: Callers) -> None:
    await create_repository(store, caller("admin"), NewRepository(repository_id="engine", allowed_groups=["engineers"]), "local:minilm")
    found = await list_all_collections(store, caller("outsider"), CollectionFilter(), size=100)
    assert {row.repository.repository_id for row in found.rows} == {"commons"}
