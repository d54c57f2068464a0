"""The list of repositories: which part of it somebody reads, and how it follows what other programs write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.application import application
from gateleg.apps.rag.drafts import NewRepository
from gateleg.apps.rag.repositories import create_repository, list_repositories, page_repositories
from gateleg.apps.rag.repository_list import entry_of, listed_repositories, place_of, reconcile
from gateleg.apps.rag.tables import TABLES, Repository, RepositoryEntry
from gateleg.host import Principal, Role
from gateleg.host.host import Host
from gateleg.host.settings import load_settings
from gateleg.store import AsyncStore, Metrics, create
from tests.apps.rag.people import repository

Callers = Callable[[str], Caller]
ACME = Caller(Principal("ann", Role.MEMBER, tenant="acme"))


async def foreign_row(store: AsyncStore, repository_id: str, **attributes: Any) -> None:
    """A row as the public system writes it: without an entry in the list."""
    config = {"repositoryId": {"S": repository_id}, "embeddingModelId": {"S": "titan"}, "type": {"S": "opensearch"}}
    item = {"repositoryId": {"S": repository_id}, "config": {"M": config}, "status": {"S": "CREATE_COMPLETE"}, **attributes}
    await store.transport.call("PutItem", {"TableName": "LisaRagVectorStoreTable", "Item": item})


async def ids(store: AsyncStore, caller: Caller) -> list[str]:
    return [row.repository_id for row in await list_repositories(store, caller)]


async def entries(store: AsyncStore) -> list[str]:
    return [entry.place async for entry in store.query(RepositoryEntry.by_place())]


async def test_no_list_scans(caller: Callers) -> None:
    metrics = Metrics()
    async with AsyncStore.embedded(hooks=[metrics]) as own:
        await own.ensure_tables(*TABLES)
        await create_repository(own, caller("admin"), NewRepository(repository_id="legal"), "local:minilm")
        metrics.reset()
        for who in ("admin", "viewer", "outsider"):
            await list_repositories(own, caller(who))
            await page_repositories(own, caller(who))
        assert {operation for _, operation in metrics.by_pattern()} == {"Query", "BatchGetItem"}


async def test_members_read_the_part_of_their_tenant_alone(caller: Callers) -> None:
    metrics = Metrics()
    async with AsyncStore.embedded(hooks=[metrics]) as store:
        await store.ensure_tables(*TABLES)
        rows = [repository(None, f"r-{number}", tenant) for number, tenant in enumerate([None, "acme", "acme#1", "acmes", "zoo"])]
        for row in rows:
            await store.transact([create(row), create(entry_of(row))])
        metrics.reset()
        assert await ids(store, ACME) == ["r-0", "r-1"]
        tallies = metrics.reset()
        assert {operation: tally.items for (_, operation), tally in tallies.items()} == {"Query": 2, "BatchGetItem": 2}
        assert await ids(store, caller("outsider")) == ["r-0"]
        assert await ids(store, caller("viewer")) == ["r-0", "r-1", "r-2", "r-3", "r-4"]


async def test_pages_of_tenants_follow_each_other(store: AsyncStore) -> None:
    viewer = Caller(Principal("vera", Role.VIEWER))
    rows = [repository(None, f"r-{number}", tenant) for number, tenant in enumerate(["zoo", None, "acme", "acme", None])]
    for row in rows:
        await store.transact([create(row), create(entry_of(row))])
    token, found = None, list[list[str]]()
    while not found or token is not None:
        page = await page_repositories(store, viewer, size=2, token=token)
        token = page.next
        found.append([row.repository_id for row in page.rows])
    assert found == [["r-1", "r-4"], ["r-2", "r-3"], ["r-0"]]


async def test_rows_of_other_programs_are_listed_once_they_are_reconciled(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    await foreign_row(store, "old")
    assert await ids(store, caller("viewer")) == ["legal"]
    assert await reconcile(store) == 1
    assert await ids(store, caller("viewer")) == ["legal", "old"]
    assert await reconcile(store) == 0


async def test_entry_whose_row_is_gone_is_not_listed_and_then_removed(
    store: AsyncStore, legal: Repository, commons: Repository, caller: Callers
) -> None:
    key = {"repositoryId": {"S": "legal"}}
    await store.transport.call("DeleteItem", {"TableName": "LisaRagVectorStoreTable", "Key": key})
    assert await ids(store, caller("viewer")) == ["commons"]
    assert await reconcile(store) == 1
    assert await entries(store) == [place_of(commons)]


async def test_repository_that_moved_to_another_tenant_is_listed_there_alone(store: AsyncStore, caller: Callers) -> None:
    await foreign_row(store, "old")
    await reconcile(store)
    await foreign_row(store, "old", tenant={"S": "acme"})
    assert await ids(store, caller("outsider")) == []
    assert await reconcile(store) == 2
    assert (await ids(store, ACME), await ids(store, caller("outsider"))) == (["old"], [])


async def test_refused_repository_leaves_no_entry(store: AsyncStore, caller: Callers) -> None:
    await foreign_row(store, "old")
    with pytest.raises(Exception, match="already"):
        await create_repository(store, caller("admin"), NewRepository(repository_id="old"), "local:minilm")
    assert await entries(store) == []


async def test_more_repositories_than_one_batch_are_listed_in_order(store: AsyncStore) -> None:
    rows = [repository(None, f"r-{number:03}") for number in range(25)]
    for row in rows:
        await store.transact([create(row), create(entry_of(row))])
    found = [row.repository_id async for row in listed_repositories(store, batch=10, after=place_of(rows[3]))]
    assert found == [row.repository_id for row in rows[4:]]


async def test_host_lists_at_its_start_what_an_older_version_left(tmp_path: Path, caller: Callers) -> None:
    settings = load_settings(flags={"store": f"embedded:{tmp_path}/store", "data": tmp_path}, environ={})
    async with Host.open(settings, [application]) as host:
        await foreign_row(host.store, "old")
        assert await ids(host.store, caller("viewer")) == []
    async with Host.open(settings, [application]) as host:
        assert await ids(host.store, caller("viewer")) == ["old"]
