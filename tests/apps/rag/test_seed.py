"""What the public design asks for, demand by demand. Where a demand has a module of tests of its own, one of its cases stands here."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.collection_list import CollectionFilter, list_collections, list_own_collections
from gateleg.apps.rag.collections import create_collection, open_collection, soft_delete_collection, update_collection
from gateleg.apps.rag.drafts import CollectionChanges, MetadataDraft, NewCollection, NewRepository, PipelineDraft
from gateleg.apps.rag.operations import COLLECTIONS_PER_REPOSITORY, PLAN
from gateleg.apps.rag.repositories import create_repository, get_repository
from gateleg.apps.rag.settings import RagSettings
from gateleg.apps.rag.tables import (
    TABLES,
    Collection,
    CollectionStatus,
    Document,
    Repository,
    chunks_table,
    collections_table,
    documents_table,
    repositories_table,
)
from gateleg.host.settings import load_settings
from gateleg.jobs import ManualClock
from gateleg.model import spec_of
from gateleg.ops import cloudformation, compare_billing, operations
from gateleg.ops.operating_plan import RecoveryDrill
from gateleg.store import AsyncStore, Metrics
from gateleg.store.sizes import item_size

Callers = Callable[[str], Caller]


async def add(store: AsyncStore, who: Caller, name: str = "Contracts", **fields: Any) -> Collection:
    return (await create_collection(store, who, "legal", NewCollection.model_validate({"name": name, **fields}))).collection


async def test_01_collections_table_with_uuids_and_a_name_from_the_environment(
    store: AsyncStore, legal: Repository, caller: Callers
) -> None:
    settings = load_settings(environ={"GATELEG_TABLE_NAMES": "LisaRagCollectionsTable=prod-collections"})
    assert settings.table_names == {"LisaRagCollectionsTable": "prod-collections"}
    async with AsyncStore.embedded(table_names=settings.table_names) as named:
        await named.ensure_tables(*TABLES)
        tables = await named.transport.call("ListTables", {})
        assert "prod-collections" in tables["TableNames"]
    made = await add(store, caller("creator"))
    assert str(UUID(made.collection_id)) == made.collection_id


async def test_02_repository_index_lists_twenty_newest_first(
    store: AsyncStore, legal: Repository, caller: Callers, clock: ManualClock
) -> None:
    for number in range(25):
        clock.advance(1)
        await add(store, caller("creator"), f"c{number}")
    page = await list_collections(store, caller("lawyer"), legal, CollectionFilter())
    assert [row.collection.name for row in page.rows] == [f"c{number}" for number in reversed(range(5, 25))]
    rest = await list_collections(store, caller("lawyer"), legal, CollectionFilter(), token=page.next)
    assert len(rest.rows) == 6


async def test_03_status_index_finds_active_archived_and_deleted(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    for name in ("A", "B"):
        await add(store, caller("creator"), name)
    await update_collection(store, caller("creator"), "legal", "A", CollectionChanges(status=CollectionStatus.ARCHIVED))
    await soft_delete_collection(store, caller("creator"), "legal", "B", days=90)
    found = {}
    for status in (CollectionStatus.ACTIVE, CollectionStatus.ARCHIVED, CollectionStatus.DELETED):
        found[status.value] = [row.name async for row in store.query(Collection.with_status, repository_id="legal", status=status)]
    assert found == {"ACTIVE": ["Default"], "ARCHIVED": ["A"], "DELETED": ["B"]}


async def test_04_creator_index_serves_my_collections_and_the_audit_trail(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    await add(store, caller("creator"))
    mine = await list_own_collections(store, caller("creator"), CollectionFilter())
    trail = await list_own_collections(store, caller("admin"), CollectionFilter(), creator="ann")
    assert [row.collection.name for row in mine.rows] == [row.collection.name for row in trail.rows] == ["Contracts"]


async def test_05_attributes_with_their_required_flags(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    item = spec_of(Collection).encode(await add(store, caller("creator"), private=True))
    required = {"collectionId", "repositoryId", "allowChunkingOverride", "embeddingModel", "createdBy", "createdAt", "updatedAt", "status"}
    assert required | {"private", "name"} <= item.keys()
    assert not {"description", "chunkingStrategy", "metadata", "allowedGroups", "pipelines"} & item.keys()
    assert item["embeddingModel"] == {"S": "local:minilm"}


async def test_06_chunking_strategy_is_a_map_of_type_size_overlap_and_separators(
    store: AsyncStore, legal: Repository, caller: Callers
) -> None:
    sent = {"type": "RECURSIVE", "chunkSize": 1000, "chunkOverlap": 200, "separators": ["\n\n", "\n", ". ", " "]}
    assert (await add(store, caller("creator"), chunkingStrategy=sent)).chunking_strategy == sent


async def test_07_metadata_is_a_map_of_tags_and_custom_fields(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    sent = {"tags": ["legal", "contracts"], "customFields": {"department": "legal"}}
    item = spec_of(Collection).encode(await add(store, caller("creator"), metadata=sent))
    assert item["metadata"]["M"]["customFields"] == {"M": {"department": {"S": "legal"}}}


async def test_08_pipelines_name_a_bucket_of_their_own(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    sent: dict[str, Any] = {
        "autoRemove": True,
        "chunkOverlap": 200,
        "chunkSize": 1000,
        "s3Bucket": "archive",
        "s3Prefix": "legal/",
        "trigger": "event",
    }
    item = spec_of(Collection).encode(await add(store, caller("rag admin"), pipelines=[sent]))
    stored = item["pipelines"]["L"][0]["M"]
    assert {name: next(iter(stored[name].values())) for name in sent} == {**sent, "chunkOverlap": "200", "chunkSize": "1000"}


def test_09_capacity_follows_the_load() -> None:
    scaling = PLAN.scaling
    assert (scaling.read, scaling.write, scaling.target, scaling.least, scaling.most) == (5, 5, 70, 5, 100)
    found = operations([collections_table], PLAN, billing="provisioned")
    resources = {one["Properties"].get("ResourceId") for one in found.values()}
    assert "table/LisaRagCollectionsTable/index/CreatorIndex" in resources


async def test_10_items_are_as_large_as_planned(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    fields: dict[str, Any] = {
        "description": "d" * 1_000,
        "metadata": {"tags": [f"tag-{n}" for n in range(10)], "customFields": {"owner": "x" * 200}},
    }
    usual = await add(store, caller("creator"), **fields)
    assert item_size(spec_of(Collection).encode(usual)) <= PLAN.load.item_bytes
    assert (PLAN.load.largest_item_bytes, PLAN.load.items, PLAN.load.reads, COLLECTIONS_PER_REPOSITORY) == (10_240, 10_000, 0.8, (10, 100))


async def test_11_documents_are_keyed_by_repository_and_collection_and_found_by_collection(store: AsyncStore) -> None:
    for number in range(3):
        await store.create(Document(repository_id="legal", collection_id="c", upload_date=number))
    found = Document.in_collection(repository_id="legal", collection_id="c")
    assert [row.upload_date async for row in store.query(found)] == [2, 1, 0]
    assert await store.count(found) == 3
    assert await store.delete_all(found) == 3


async def test_12_old_documents_belong_to_the_default_collection_without_a_migration(store: AsyncStore, legal: Repository) -> None:
    item = {"pk": {"S": "legal"}, "document_id": {"S": "doc-789"}, "repository_id": {"S": "legal"}}
    await store.transport.call("PutItem", {"TableName": "LisaRagDocumentTable", "Item": item})
    ids: dict[str, Any] = {"repository_id": "legal", "collection_id": "local:minilm"}
    assert (await store.get(Document, document_id="doc-789", **ids)).collection_id == "local:minilm"
    assert await store.count(Document.in_collection(**ids)) == 1


async def test_13_repository_has_its_new_attributes_inside_its_config(store: AsyncStore, caller: Callers) -> None:
    new = NewRepository(repository_id="repo-1", metadata=MetadataDraft(tags=["production"], custom_fields={"owner": "ml-team"}))
    item = spec_of(Repository).encode(await create_repository(store, caller("admin"), new, "titan"))
    config = item["config"]["M"]
    assert (config["allowUserCollections"], config["embeddingModelId"], item["status"]) == (
        {"BOOL": True},
        {"S": "titan"},
        {"S": "CREATE_COMPLETE"},
    )
    assert config["metadata"]["M"]["tags"] == {"L": [{"S": "production"}]}
    assert not {"allowUserCollections", "metadata"} & item.keys()


@pytest.mark.parametrize(
    "pattern", ["Collection.in_repository", "Collection.with_status", "Collection.of_creator", "Document.in_collection"]
)
def test_14_every_access_pattern_is_declared_and_named(pattern: str) -> None:
    entity, _, name = pattern.partition(".")
    patterns = spec_of(Collection).patterns if entity == "Collection" else spec_of(Document).patterns
    assert patterns[name].pattern.title


async def test_15_use_of_each_pattern_is_measured(legal: Repository, store: AsyncStore, caller: Callers) -> None:
    metrics = Metrics()
    async with AsyncStore.embedded(hooks=[metrics]) as measured:
        await measured.ensure_tables(*TABLES)
        await create_repository(measured, caller("admin"), NewRepository(repository_id="legal"), "local:minilm")
        repository = await get_repository(measured, caller("admin"), "legal")
        await list_collections(measured, caller("admin"), repository, CollectionFilter())
    assert ("Collection.in_repository", "Query") in metrics.by_pattern()


async def test_16_caps_on_pipelines_tags_and_custom_fields(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    bad: list[dict[str, Any]] = [
        {"pipelines": [{"s3Bucket": f"b{n}"} for n in range(11)]},
        {"metadata": {"tags": [f"t{n}" for n in range(51)]}},
        {"metadata": {"customFields": {"k": "x" * 10_240}}},
    ]
    for fields in bad:
        with pytest.raises(Exception, match=r"10|50"):
            await add(store, caller("rag admin"), **fields)
    good: dict[str, Any] = {
        "pipelines": [PipelineDraft(s3_bucket=f"b{n}") for n in range(10)],
        "metadata": {"tags": [f"t{n}" for n in range(50)]},
    }
    assert (await add(store, caller("rag admin"), **good)).pipelines is not None


def test_17_the_index_that_is_ours_is_sparse_and_projects_keys_alone() -> None:
    (index,) = chunks_table.definition()["GlobalSecondaryIndexes"]
    assert index["Projection"] == {"ProjectionType": "KEYS_ONLY"}
    assert {one["Projection"]["ProjectionType"] for one in collections_table.definition()["GlobalSecondaryIndexes"]} == {"ALL"}


async def test_18_rights_are_never_stale(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    """Nothing is cached: reading a collection with its repository takes a fraction of a millisecond, and knows every change."""
    made = await add(store, caller("creator"))
    await open_collection(store, caller("lawyer"), "legal", made.collection_id)
    await store.patch(made, Collection.private.set(True))
    with pytest.raises(Exception, match="There is no collection"):
        await open_collection(store, caller("lawyer"), "legal", made.collection_id)


def test_19_on_demand_first_and_provisioned_after_a_baseline() -> None:
    template = cloudformation([collections_table])
    table = next(iter(template["Resources"].values()))["Properties"]
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert compare_billing(0.1, 0.02, PLAN.scaling).cheaper == "on-demand"
    assert compare_billing(60, 15, PLAN.scaling).cheaper == "provisioned"


async def test_20_deleted_collections_expire_after_ninety_days(
    store: AsyncStore, legal: Repository, caller: Callers, clock: ManualClock
) -> None:
    made = await add(store, caller("creator"))
    days = RagSettings().restore_days
    deleted = (await soft_delete_collection(store, caller("creator"), "legal", made.collection_id, days=days)).collection
    assert deleted.deleted_at == store.setup.now() + timedelta(days=90)
    assert collections_table.ttl() == "deletedAt"
    clock.advance(91 * 86_400)
    assert await store.find(made.key) is None


def test_21_and_22_alarms_on_throttling_latency_and_errors() -> None:
    found = operations(TABLES, PLAN)
    limits = {name: one["Properties"]["Threshold"] for name, one in found.items() if name.startswith("LisaRagCollectionsTable")}
    assert limits == {
        "LisaRagCollectionsTableThrottledAlarm": 0.01,
        "LisaRagCollectionsTableUserErrorsAlarm": 0.05,
        "LisaRagCollectionsTableSystemErrorsAlarm": 0.01,
        "LisaRagCollectionsTableLatencyAlarm": 100.0,
    }


def test_23_recovery_of_35_days_and_a_daily_backup_at_two() -> None:
    assert PLAN.backups.recovery_days == 35
    found = operations((collections_table, documents_table, repositories_table), PLAN)
    (rule,) = found["DailyBackup"]["Properties"]["BackupPlan"]["BackupPlanRule"]
    assert (rule["ScheduleExpression"], rule["Lifecycle"]["DeleteAfterDays"]) == ("cron(0 2 * * ? *)", 30)


def test_24_recovery_is_judged_by_its_targets() -> None:
    assert RecoveryDrill(4 * 3600, 5 * 60, PLAN.backups).passed
    assert not RecoveryDrill(4 * 3600 + 1, 0, PLAN.backups).passed
