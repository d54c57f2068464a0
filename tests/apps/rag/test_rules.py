"""Names, tags, custom fields and groups."""

import pytest

from gateleg.apps.rag.drafts import PipelineDraft
from gateleg.apps.rag.errors import BadGroups, BadValue, ImmutableField, NotActive
from gateleg.apps.rag.rules import (
    check_accepts_documents,
    check_custom_fields,
    check_groups,
    check_metadata,
    check_name,
    check_repository_id,
    is_default,
    merge_pipelines,
)
from gateleg.apps.rag.tables import Collection, CollectionStatus, Metadata, Repository, RepositoryConfig, RepositoryStatus


def repository(groups: list[str] | None = None, status: RepositoryStatus = RepositoryStatus.CREATE_COMPLETE) -> Repository:
    config = RepositoryConfig(repository_id="repo-123", embedding_model_id="local:minilm", allowed_groups=groups)
    return Repository(repository_id="repo-123", config=config, status=status)


def collection(status: CollectionStatus = CollectionStatus.ACTIVE, collection_id: str = "c") -> Collection:
    return Collection(
        collection_id=collection_id, repository_id="repo-123", name="Legal", embedding_model="local:minilm", created_by="ann", status=status
    )


@pytest.mark.parametrize("name", ["", "x" * 101, "a/b", " a", "a ", "a\nb", "a\x00b", "<b>", "a\u202eb"])
def test_bad_names_are_refused(name: str) -> None:
    with pytest.raises(BadValue, match="name"):
        check_name(name)


def test_names_are_composed_so_that_equal_names_are_equal() -> None:
    assert check_name("U\u0308n\u0131code") == "Ün\u0131code"


@pytest.mark.parametrize("repository_id", ["ab", "-abc", "abc-", "Abc", "a_b", "a" * 21, "", "a#b", "../evil"])
def test_bad_repository_ids_are_refused(repository_id: str) -> None:
    with pytest.raises(BadValue, match="repositoryId"):
        check_repository_id(repository_id)


@pytest.mark.parametrize("repository_id", ["abc", "a-b", "a" * 20, "repo-123"])
def test_good_repository_ids(repository_id: str) -> None:
    assert check_repository_id(repository_id) == repository_id


@pytest.mark.parametrize("tag", ["", "a b", "ä", "x" * 51, "a,b"])
def test_bad_tags_are_refused(tag: str) -> None:
    with pytest.raises(BadValue, match="tag"):
        check_metadata(Metadata(tags=[tag]))


def test_ten_kilobytes_of_custom_fields_and_no_byte_more() -> None:
    room = 10 * 1024 - len('{"k":""}')
    assert check_metadata(Metadata(custom_fields={"k": "x" * room})) is not None
    with pytest.raises(BadValue, match="10,241 bytes"):
        check_metadata(Metadata(custom_fields={"k": "x" * (room + 1)}))


def test_custom_fields_are_counted_in_bytes() -> None:
    with pytest.raises(BadValue, match="bytes"):
        check_metadata(Metadata(custom_fields={"k": "ü" * 6_000}))


def test_groups_of_a_collection_are_among_those_of_its_repository() -> None:
    assert check_groups(["a", "a"], repository(["a", "b"])) == ["a"]
    with pytest.raises(BadGroups, match="c, d"):
        check_groups(["a", "d", "c"], repository(["a", "b"]))


def test_repository_for_everybody_allows_any_group() -> None:
    assert check_groups(["a"], repository()) == ["a"]


@pytest.mark.parametrize("none", [None, []])
def test_no_groups_inherit(none: list[str] | None) -> None:
    assert check_groups(none, repository(["a"])) is None


def test_default_collection_has_the_id_of_the_embedding_model() -> None:
    assert is_default(collection(collection_id="local:minilm"), repository())
    assert not is_default(collection(), repository())


@pytest.mark.parametrize("status", [status for status in CollectionStatus if status is not CollectionStatus.ACTIVE])
def test_only_an_active_collection_takes_documents(status: CollectionStatus) -> None:
    check_accepts_documents(repository(), collection())
    with pytest.raises(NotActive, match=status.value):
        check_accepts_documents(repository(), collection(status))


@pytest.mark.parametrize(
    "status", [RepositoryStatus.CREATE_FAILED, RepositoryStatus.DELETE_IN_PROGRESS, RepositoryStatus.CREATE_IN_PROGRESS]
)
def test_only_a_ready_repository_takes_documents(status: RepositoryStatus) -> None:
    with pytest.raises(NotActive, match=status.value):
        check_accepts_documents(repository(status=status), collection())


def test_pipelines_of_two_folders_are_two() -> None:
    first = merge_pipelines([PipelineDraft(folder="/inbox/a")], None) or []
    both = merge_pipelines([PipelineDraft(folder="/inbox/a"), PipelineDraft(folder="/inbox/b")], first) or []
    assert (both[0].pipeline_id, len({one.pipeline_id for one in both})) == (first[0].pipeline_id, 2)
    with pytest.raises(BadValue, match="same source"):
        merge_pipelines([PipelineDraft(folder="/inbox/a"), PipelineDraft(folder="/inbox/a")], first)


def test_names_of_custom_fields_are_bounded() -> None:
    check_custom_fields({"a" * 100: 1})
    for name in ("", "a" * 101):
        with pytest.raises(BadValue, match="customFields"):
            check_custom_fields({name: 1})


def test_the_source_of_a_pipeline_never_changes() -> None:
    before = merge_pipelines([PipelineDraft(s3_bucket="docs", s3_prefix="legal/", pipeline_id="p")], None)
    kept = merge_pipelines([PipelineDraft(s3_bucket="docs", s3_prefix="legal/", pipeline_id="p", paused=True)], before)
    assert kept is not None
    assert kept[0].paused
    with pytest.raises(ImmutableField, match="s3Prefix"):
        merge_pipelines([PipelineDraft(s3_bucket="docs", s3_prefix="other/", pipeline_id="p")], before)
    assert merge_pipelines([PipelineDraft(s3_bucket="docs", s3_prefix="other/")], before) is not None
