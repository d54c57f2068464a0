"""Repositories: creation, reading, changes by administrators and RAG administrators."""

from collections.abc import Callable
from typing import Any

import pytest

from gateleg.apps.rag import repositories
from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.drafts import NewRepository, PipelineDraft, RepositoryChanges
from gateleg.apps.rag.errors import BadValue, ImmutableField, RagAccessDenied, RepositoryExists, StaleVersion, UnknownRepository
from gateleg.apps.rag.repositories import create_repository, get_repository, list_repositories, page_repositories, update_repository
from gateleg.apps.rag.repository_list import entry_of
from gateleg.apps.rag.tables import TABLES, Collection, Repository, RepositoryStatus
from gateleg.store import AsyncStore, CursorRejected, Metrics, create
from tests.apps.rag.people import repository

Callers = Callable[[str], Caller]


async def test_repository_has_its_default_collection_from_the_beginning(store: AsyncStore, legal: Repository) -> None:
    assert (legal.status, legal.config.embedding_model_id, legal.config.allow_user_collections) == ("CREATE_COMPLETE", "local:minilm", True)
    found = await store.get(Collection, collection_id="local:minilm", repository_id="legal")
    assert (found.name, found.embedding_model, found.created_by) == ("Default", "local:minilm", "ada")


async def test_second_repository_of_an_id_is_refused_and_changes_nothing(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    with pytest.raises(RepositoryExists):
        await create_repository(store, caller("admin"), NewRepository(repository_id="legal", description="x"), "local:minilm")
    assert (await get_repository(store, caller("admin"), "legal")).config.description is None


@pytest.mark.parametrize("who", ["operator", "viewer", "rag admin", "lawyer"])
async def test_only_administrators_create_repositories(store: AsyncStore, caller: Callers, who: str) -> None:
    with pytest.raises(RagAccessDenied):
        await create_repository(store, caller(who), NewRepository(repository_id="mine"), "local:minilm")
    assert await list_repositories(store, caller("admin")) == []


async def test_model_with_the_separator_of_keys_is_refused(store: AsyncStore, caller: Callers) -> None:
    with pytest.raises(BadValue, match="#"):
        await create_repository(store, caller("admin"), NewRepository(repository_id="mine", embedding_model_id="a#b"), "local:minilm")


@pytest.mark.parametrize("who", ["outsider", "engineer", "stray rag admin"])
async def test_repository_of_other_groups_is_not_found(store: AsyncStore, legal: Repository, caller: Callers, who: str) -> None:
    with pytest.raises(UnknownRepository):
        await get_repository(store, caller(who), "legal")
    with pytest.raises(UnknownRepository):
        await get_repository(store, caller(who), "nowhere")


async def test_everybody_lists_what_they_can_read(store: AsyncStore, legal: Repository, commons: Repository, caller: Callers) -> None:
    assert [row.repository_id for row in await list_repositories(store, caller("lawyer"))] == ["commons", "legal"]
    assert [row.repository_id for row in await list_repositories(store, caller("outsider"))] == ["commons"]


async def test_change_of_groups_holds_at_once(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    await update_repository(store, caller("admin"), "legal", RepositoryChanges(allowed_groups=["engineers"]))
    with pytest.raises(UnknownRepository):
        await get_repository(store, caller("lawyer"), "legal")
    assert (await get_repository(store, caller("engineer"), "legal")).status is RepositoryStatus.UPDATE_COMPLETE


async def test_null_clears_and_what_was_not_sent_stays(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    changes = {"description": "Papers", "metadata": {"tags": ["v2"], "customFields": {"owner": "ml"}}, "allowUserCollections": False}
    await update_repository(store, caller("admin"), "legal", RepositoryChanges.model_validate(changes))
    found = await update_repository(store, caller("admin"), "legal", RepositoryChanges.model_validate({"description": None}))
    assert found.config.description is None
    assert found.config.metadata is not None
    assert (found.config.metadata.tags, found.config.metadata.custom_fields) == (["v2"], {"owner": "ml"})
    assert not found.config.allow_user_collections
    assert found.config.allowed_groups == ["lawyers", "partners"]


@pytest.mark.parametrize(
    ("sent", "word"),
    [({"embeddingModelId": "other"}, "embeddingModelId"), ({"repositoryId": "x"}, "repositoryId"), ({"type": "pgvector"}, "type")],
)
async def test_fixed_fields_are_refused_by_name(
    store: AsyncStore, legal: Repository, caller: Callers, sent: dict[str, Any], word: str
) -> None:
    with pytest.raises(ImmutableField, match=word):
        await update_repository(store, caller("admin"), "legal", RepositoryChanges.model_validate(sent))


async def test_fixed_fields_may_be_sent_as_they_are(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    sent = {"embeddingModelId": "local:minilm", "repositoryId": "legal", "type": "embedded", "description": "x"}
    assert (await update_repository(store, caller("admin"), "legal", RepositoryChanges.model_validate(sent))).config.description == "x"


async def test_older_version_is_refused(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    await update_repository(store, caller("admin"), "legal", RepositoryChanges(description="one"), expected=legal.version)
    with pytest.raises(StaleVersion):
        await update_repository(store, caller("admin"), "legal", RepositoryChanges(description="two"), expected=legal.version)


async def test_rag_administrators_change_pipelines_and_nothing_else(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    pipelines = [PipelineDraft(s3_bucket="archive", s3_prefix="contracts/")]
    found = await update_repository(store, caller("rag admin"), "legal", RepositoryChanges(pipelines=pipelines))
    assert found.config.pipelines is not None
    assert found.config.pipelines[0].s3_bucket == "archive"
    with pytest.raises(RagAccessDenied, match="allowedGroups, description"):
        await update_repository(store, caller("rag admin"), "legal", RepositoryChanges(description="x", allowed_groups=[], pipelines=None))
    for who in ("lawyer", "viewer"):
        with pytest.raises(RagAccessDenied):
            await update_repository(store, caller(who), "legal", RepositoryChanges(pipelines=pipelines))


async def test_pipeline_that_stays_keeps_its_id_and_its_metadata(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    sent = {"pipelines": [{"s3Bucket": "a", "s3Prefix": "x/", "metadata": {"tags": ["t"]}}, {"s3Bucket": "b"}]}
    first = (await update_repository(store, caller("admin"), "legal", RepositoryChanges.model_validate(sent))).config.pipelines
    again = {"pipelines": [{"s3Bucket": "b"}, {"s3Bucket": "a", "s3Prefix": "x/", "autoRemove": False}]}
    second = (await update_repository(store, caller("admin"), "legal", RepositoryChanges.model_validate(again))).config.pipelines
    assert first is not None
    assert second is not None
    assert [one.pipeline_id for one in second] == [first[1].pipeline_id, first[0].pipeline_id]
    assert second[1].metadata is not None
    assert (second[1].metadata.tags, second[1].auto_remove) == (["t"], False)


async def test_same_pipeline_twice_is_refused(store: AsyncStore, legal: Repository, caller: Callers) -> None:
    first = await update_repository(store, caller("admin"), "legal", RepositoryChanges(pipelines=[PipelineDraft(s3_bucket="a")]))
    assert first.config.pipelines is not None
    same = first.config.pipelines[0].pipeline_id
    twice = [PipelineDraft(s3_bucket="a", pipeline_id=same), PipelineDraft(s3_bucket="b", pipeline_id=same)]
    with pytest.raises(BadValue, match="pipelineId"):
        await update_repository(store, caller("admin"), "legal", RepositoryChanges(pipelines=twice))


async def test_repository_of_the_public_system_can_be_changed(store: AsyncStore, caller: Callers) -> None:
    item = {
        "repositoryId": {"S": "old"},
        "config": {"M": {"repositoryId": {"S": "old"}, "embeddingModelId": {"S": "titan"}, "type": {"S": "opensearch"}}},
        "status": {"S": "CREATE_COMPLETE"},
        "executionArn": {"S": "arn"},
    }
    await store.transport.call("PutItem", {"TableName": "LisaRagVectorStoreTable", "Item": item})
    found = await update_repository(store, caller("admin"), "old", RepositoryChanges(description="x"))
    assert (found.config.description, found.config.type, found.version) == ("x", "opensearch", 1)


async def test_a_page_of_repositories_reads_no_more_rows_than_it_has(caller: Callers) -> None:
    metrics = Metrics()
    async with AsyncStore.embedded(hooks=[metrics]) as store:
        await store.ensure_tables(*TABLES)
        wanted = [repository(["lawyers"] if number % 2 else None, f"r-{number:03}") for number in range(60)]
        for row in wanted:
            await store.transact([create(row), create(entry_of(row))])
        for who, size, ids in (
            ("admin", 20, [row.repository_id for row in wanted]),
            ("outsider", 7, [row.repository_id for row in wanted[::2]]),
        ):
            metrics.reset()
            found: list[str] = []
            token: str | None = None
            pages = 0
            while pages == 0 or token is not None:
                page = await page_repositories(store, caller(who), size=size, token=token)
                assert len(page.rows) <= size
                found += [row.repository_id for row in page.rows]
                token, pages = page.next, pages + 1
            assert found == ids
            tallies = metrics.reset()
            assert {operation for _, operation in tallies} == {"Query", "BatchGetItem"}
            # Repositories are read in batches of one more than a page has, to know whether another follows.
            read = sum(tally.items for (_, operation), tally in tallies.items() if operation == "BatchGetItem")
            assert read <= 60 + (2 * size + 2) * pages


async def test_the_token_of_a_page_is_its_callers_alone(store: AsyncStore, legal: Repository, commons: Repository, caller: Callers) -> None:
    first = await page_repositories(store, caller("admin"), size=1)
    assert first.next is not None
    second = await page_repositories(store, caller("admin"), size=1, token=first.next)
    assert {row.repository_id for row in (*first.rows, *second.rows)} == {"commons", "legal"}
    assert second.next is None
    with pytest.raises(CursorRejected):
        await page_repositories(store, caller("lawyer"), size=1, token=first.next)


async def test_rows_that_nobody_may_read_end_a_page_early(
    store: AsyncStore, legal: Repository, commons: Repository, caller: Callers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repositories, "_MAX_ROWS_PER_PAGE", 1)
    token, found, pages = None, [], 0
    while pages == 0 or token is not None:
        page = await page_repositories(store, caller("outsider"), token=token)
        found += [row.repository_id for row in page.rows]
        token, pages = page.next, pages + 1
    assert (found, pages) == (["commons"], 2)
