"""Collections: creation, reading by id and name, changes, archive, soft delete and restore."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.chunking import BadChunking
from gateleg.apps.rag.collections import OpenedCollection, create_collection, open_collection, soft_delete_collection, update_collection
from gateleg.apps.rag.drafts import CollectionChanges, NewCollection, NewRepository
from gateleg.apps.rag.errors import (
    BadGroups,
    BadValue,
    DefaultCollection,
    ImmutableField,
    NameTaken,
    NotActive,
    RagAccessDenied,
    StaleVersion,
    UnknownCollection,
)
from gateleg.apps.rag.repositories import create_repository
from gateleg.apps.rag.tables import Collection, CollectionStatus, Repository
from gateleg.jobs import ManualClock
from gateleg.model import spec_of
from gateleg.store import AsyncStore

Callers = Callable[[str], Caller]


def new(name: str = "Contracts", **fields: Any) -> NewCollection:
    return NewCollection.model_validate({"name": name, **fields})


def changes(**fields: Any) -> CollectionChanges:
    return CollectionChanges.model_validate(fields)


@pytest.fixture
async def contracts(store: AsyncStore, legal: Repository, caller: Callers) -> OpenedCollection:
    return await create_collection(store, caller("creator"), "legal", new())


async def test_collection_inherits_model_and_groups(store: AsyncStore, contracts: OpenedCollection) -> None:
    made = contracts.collection
    assert (made.embedding_model, made.allowed_groups, made.created_by, made.status) == (
        "local:minilm",
        None,
        "ann",
        CollectionStatus.ACTIVE,
    )
    assert (made.private, made.allow_chunking_override, made.version) == (False, True, 1)


async def test_collection_is_read_by_id_and_by_name(store: AsyncStore, contracts: OpenedCollection, caller: Callers) -> None:
    for text in (contracts.collection.collection_id, "Contracts", "contracts"):
        assert (await open_collection(store, caller("lawyer"), "legal", text)).collection == contracts.collection
    with pytest.raises(UnknownCollection):
        await open_collection(store, caller("lawyer"), "legal", "nothing")


async def test_name_of_a_hidden_collection_is_refused_as_one_that_is_not_there(
    store: AsyncStore, legal: Repository, caller: Callers
) -> None:
    hidden = await create_collection(store, caller("creator"), "legal", new("Hidden", private=True))
    with pytest.raises(UnknownCollection) as refused:
        await open_collection(store, caller("lawyer"), "legal", "hidden")
    assert "'hidden'" in str(refused.value)
    assert hidden.collection.collection_id not in str(refused.value)


async def test_collection_of_another_repository_is_not_found(
    store: AsyncStore, contracts: OpenedCollection, commons: Repository, caller: Callers
) -> None:
    with pytest.raises(UnknownCollection):
        await open_collection(store, caller("admin"), "commons", contracts.collection.collection_id)


@pytest.mark.parametrize("text", ["default", "local:minilm"])
async def test_default_collection_has_one_id(store: AsyncStore, legal: Repository, caller: Callers, text: str) -> None:
    found = await open_collection(store, caller("lawyer"), "legal", text)
    assert (found.collection.collection_id, found.is_default) == ("local:minilm", True)


@pytest.mark.parametrize("name", ["Contracts", "CONTRACTS", "contracts", "default"])
async def test_names_are_unique(store: AsyncStore, contracts: OpenedCollection, caller: Callers, name: str) -> None:
    with pytest.raises(NameTaken):
        await create_collection(store, caller("partner"), "legal", new(name))


async def test_same_name_in_another_repository(
    store: AsyncStore, contracts: OpenedCollection, commons: Repository, caller: Callers
) -> None:
    assert (await create_collection(store, caller("outsider"), "commons", new())).collection.name == "Contracts"


async def test_users_create_collections_where_that_is_allowed(store: AsyncStore, caller: Callers) -> None:
    closed = NewRepository(repository_id="closed", allow_user_collections=False, allowed_groups=["lawyers"])
    await create_repository(store, caller("admin"), closed, "local:minilm")
    with pytest.raises(RagAccessDenied):
        await create_collection(store, caller("lawyer"), "closed", new())
    assert (await create_collection(store, caller("rag admin"), "closed", new())).collection.created_by == "rita"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"allowedGroups": ["engineers"]}, BadGroups),
        ({"chunkingStrategy": {"type": "FIXED", "chunkSize": 100, "chunkOverlap": 99}}, BadChunking),
        ({"metadata": {"customFields": {"x": "y" * 10_300}}}, BadValue),
        ({"metadata": {"tags": ["a b"]}}, BadValue),
    ],
)
async def test_bad_collections_are_refused(
    store: AsyncStore, legal: Repository, caller: Callers, fields: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await create_collection(store, caller("lawyer"), "legal", new(**fields))


async def test_pipelines_read_whole_buckets_so_that_only_administrators_make_them(
    store: AsyncStore, contracts: OpenedCollection, caller: Callers
) -> None:
    bucket, folder = {"pipelines": [{"s3Bucket": "b"}]}, {"pipelines": [{"folder": "/srv/papers"}]}
    for fields, allowed in [(bucket, {"rag admin", "operator", "admin"}), (folder, {"admin"})]:
        for who in ("creator", "rag admin", "operator", "admin"):
            if who in allowed:
                await update_collection(store, caller(who), "legal", "Contracts", changes(**fields))
                continue
            with pytest.raises(RagAccessDenied):
                await create_collection(store, caller(who), "legal", new("Other", **fields))
            with pytest.raises(RagAccessDenied):
                await update_collection(store, caller(who), "legal", "Contracts", changes(**fields))


async def test_strategy_is_stored_in_the_shape_of_the_design(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    sent = {"type": "recursive", "parameters": {"chunkSize": 500, "chunkOverlap": 50}}
    made = await create_collection(store, caller("lawyer"), "legal", new(chunkingStrategy=sent))
    assert made.collection.chunking_strategy == {
        "type": "RECURSIVE",
        "chunkSize": 500,
        "chunkOverlap": 50,
        "separators": ["\n\n", "\n", ". ", " "],
    }


async def test_creator_and_administrators_change_it(store: AsyncStore, contracts: OpenedCollection, caller: Callers) -> None:
    for who in ("creator", "rag admin", "operator", "admin"):
        found = await update_collection(store, caller(who), "legal", "Contracts", changes(description=who))
        assert found.opened.collection.description == who
    for who in ("lawyer", "partner", "namesake", "viewer"):
        with pytest.raises(RagAccessDenied):
            await update_collection(store, caller(who), "legal", "Contracts", changes(description=who))


async def test_null_clears_and_what_was_not_sent_stays(store: AsyncStore, contracts: OpenedCollection, caller: Callers) -> None:
    fields = {"description": "d", "allowedGroups": ["partners"], "metadata": {"tags": ["a"]}, "pipelines": [{"s3Bucket": "b"}]}
    await update_collection(store, caller("rag admin"), "legal", "Contracts", changes(**fields))
    cleared = dict.fromkeys(["description", "allowedGroups", "pipelines", "chunkingStrategy"])
    found = (await update_collection(store, caller("creator"), "legal", "Contracts", changes(**cleared))).opened.collection
    assert (found.description, found.allowed_groups, found.pipelines) == (None, None, None)
    assert found.metadata is not None
    assert found.metadata.tags == ["a"]
    item = await store.transport.call(
        "GetItem",
        {
            "TableName": "LisaRagCollectionsTable",
            "Key": {"collectionId": {"S": found.collection_id}, "repositoryId": {"S": "legal"}},
        },
    )
    assert "description" not in item["Item"]


@pytest.mark.parametrize("name", ["name", "private", "allowChunkingOverride", "status"])
async def test_what_cannot_be_absent_cannot_be_cleared(store: AsyncStore, contracts: OpenedCollection, caller: Callers, name: str) -> None:
    with pytest.raises(BadValue, match=name):
        await update_collection(store, caller("creator"), "legal", "Contracts", changes(**{name: None}))


@pytest.mark.parametrize("name", ["collectionId", "repositoryId", "embeddingModel", "createdBy", "createdAt", "updatedAt", "default"])
async def test_fixed_fields_are_refused_by_name(store: AsyncStore, contracts: OpenedCollection, caller: Callers, name: str) -> None:
    with pytest.raises(ImmutableField, match=name):
        await update_collection(store, caller("creator"), "legal", "Contracts", changes(**{name: "other"}))


async def test_what_was_read_may_be_sent_back(store: AsyncStore, contracts: OpenedCollection, caller: Callers) -> None:
    made = contracts.collection
    whole = {
        "collectionId": made.collection_id,
        "createdAt": made.created_at.isoformat(),
        "embeddingModel": "local:minilm",
        "default": False,
    }
    found = await update_collection(store, caller("creator"), "legal", "Contracts", changes(**whole, description="new"))
    assert found.opened.collection.description == "new"


@pytest.mark.parametrize("bad", [{"name": "a/b"}, {"metadata": {"tags": ["ä"]}}, {"allowedGroups": ["engineers"]}])
async def test_bad_changes_write_nothing(store: AsyncStore, contracts: OpenedCollection, caller: Callers, bad: dict[str, Any]) -> None:
    with pytest.raises((BadValue, BadGroups)):
        await update_collection(store, caller("creator"), "legal", "Contracts", changes(**bad, description="x"))
    assert (await open_collection(store, caller("creator"), "legal", "Contracts")).collection == contracts.collection


async def test_change_without_a_difference_writes_nothing(store: AsyncStore, contracts: OpenedCollection, caller: Callers) -> None:
    found = await update_collection(store, caller("creator"), "legal", "Contracts", changes(name="Contracts"))
    assert found.opened.collection.version == 1


async def test_older_version_is_refused(store: AsyncStore, contracts: OpenedCollection, caller: Callers) -> None:
    await update_collection(store, caller("creator"), "legal", "Contracts", changes(description="one"), expected=1)
    with pytest.raises(StaleVersion):
        await update_collection(store, caller("creator"), "legal", "Contracts", changes(description="two"), expected=1)


async def test_rename_frees_the_name_and_takes_no_other(store: AsyncStore, contracts: OpenedCollection, caller: Callers) -> None:
    await create_collection(store, caller("creator"), "legal", new("Letters"))
    with pytest.raises(NameTaken):
        await update_collection(store, caller("creator"), "legal", "Contracts", changes(name="LETTERS"))
    await update_collection(store, caller("creator"), "legal", "Contracts", changes(name="contracts"))
    await update_collection(store, caller("creator"), "legal", "Contracts", changes(name="Deals"))
    assert (await create_collection(store, caller("creator"), "legal", new("CONTRACTS"))).collection.name == "CONTRACTS"


async def test_new_strategy_comes_with_a_warning(store: AsyncStore, contracts: OpenedCollection, caller: Callers) -> None:
    found = await update_collection(store, caller("creator"), "legal", "Contracts", changes(chunkingStrategy={"type": "NONE"}))
    assert "ingested from now on" in found.warnings[0]


async def test_archive_and_back(store: AsyncStore, contracts: OpenedCollection, caller: Callers) -> None:
    archived = await update_collection(store, caller("creator"), "legal", "Contracts", changes(status="ARCHIVED"))
    assert archived.opened.collection.status is CollectionStatus.ARCHIVED
    active = await update_collection(store, caller("creator"), "legal", "Contracts", changes(status="ACTIVE"))
    assert active.opened.collection.status is CollectionStatus.ACTIVE


@pytest.mark.parametrize("status", ["DELETED", "DELETE_IN_PROGRESS", "DELETE_FAILED"])
async def test_no_change_of_the_status_deletes(store: AsyncStore, contracts: OpenedCollection, caller: Callers, status: str) -> None:
    with pytest.raises(BadValue, match=status):
        await update_collection(store, caller("creator"), "legal", "Contracts", changes(status=status))


async def test_deleted_collection_can_be_restored_for_ninety_days(
    store: AsyncStore, contracts: OpenedCollection, caller: Callers, clock: ManualClock
) -> None:
    deleted = (await soft_delete_collection(store, caller("creator"), "legal", "Contracts", days=90)).collection
    assert deleted.status is CollectionStatus.DELETED
    assert deleted.deleted_at is not None
    assert deleted.deleted_at - store.setup.now() == timedelta(days=90)
    with pytest.raises(UnknownCollection):
        await open_collection(store, caller("lawyer"), "legal", deleted.collection_id)
    with pytest.raises(NotActive):
        await update_collection(store, caller("creator"), "legal", deleted.collection_id, changes(description="x"))
    clock.advance(89 * 86_400)
    again = (await update_collection(store, caller("creator"), "legal", deleted.collection_id, changes(status="ACTIVE"))).opened.collection
    assert (again.status, again.deleted_at) == (CollectionStatus.ACTIVE, None)
    clock.advance(2 * 86_400)
    assert (await open_collection(store, caller("lawyer"), "legal", "Contracts")).collection.status is CollectionStatus.ACTIVE


async def test_second_soft_delete_changes_nothing(
    store: AsyncStore, contracts: OpenedCollection, caller: Callers, clock: ManualClock
) -> None:
    first = await soft_delete_collection(store, caller("creator"), "legal", "Contracts", days=90)
    clock.advance(60)
    assert (await soft_delete_collection(store, caller("creator"), "legal", "Contracts", days=90)).collection == first.collection


async def test_default_collection_is_not_deleted(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    with pytest.raises(DefaultCollection):
        await soft_delete_collection(store, caller("admin"), "legal", "default", days=90)


async def test_default_collection_of_an_older_repository_is_always_the_same_and_can_be_changed(
    store: AsyncStore, legal: Repository, caller: Callers
) -> None:
    await store.delete(await store.get(Collection, collection_id="local:minilm", repository_id="legal"))
    await store.create(Collection(repository_id="legal", name="Default", embedding_model="local:minilm", created_by="ann"))
    first = await open_collection(store, caller("lawyer"), "legal", "local:minilm")
    assert first == await open_collection(store, caller("lawyer"), "legal", "local:minilm")
    changed = await update_collection(store, caller("admin"), "legal", "local:minilm", changes(description="Old papers"), expected=0)
    assert changed.opened.collection.description == "Old papers"
    assert (await open_collection(store, caller("lawyer"), "legal", "local:minilm")).collection.description == "Old papers"


async def test_a_name_is_taken_also_by_a_row_that_another_program_has_written(
    store: AsyncStore, caller: Callable[[str], Caller], legal: Repository
) -> None:
    """It reserves no name: see pattern 1 of the design."""
    row = Collection(repository_id="legal", name="Legal Documents", embedding_model="local:minilm", created_by="user-456")
    await store.transport.call("PutItem", {"TableName": "LisaRagCollectionsTable", "Item": spec_of(Collection).encode(row)})
    with pytest.raises(NameTaken):
        await create_collection(store, caller("admin"), "legal", NewCollection(name="legal documents"))
    other = (await create_collection(store, caller("admin"), "legal", NewCollection(name="Other"))).collection
    with pytest.raises(NameTaken):
        await update_collection(store, caller("admin"), "legal", other.collection_id, CollectionChanges(name="LEGAL DOCUMENTS"))
    renamed = await update_collection(store, caller("admin"), "legal", other.collection_id, CollectionChanges(name="OTHER"))
    assert renamed.opened.collection.name == "OTHER"
