"""Items under legacy keys: every write first moves them to the current key."""

from typing import Any

import pytest

from gateleg.model import Attr, Entity, Key, Table, Version, field
from gateleg.store import AlreadyExists, LostRace, NotFound, Store, create, delete, patch, put, upsert
from gateleg.store.operations import batch_get, get
from gateleg.store.operations.older_items import migrate_to_current_key
from tests.store.doubles import play, quiet_setup, refusal

papers = Table("Papers", hash="pk", range="sk")


class Paper(Entity, table=papers):
    """A paper, whose legacy key contained only its repository."""

    repository: Attr[str]
    collection: Attr[str]
    paper: Attr[str]
    stars: Attr[int] = field(0)
    version: Attr[Version] = field(0)

    key = Key("{repository}#{collection}", "{paper}", legacy=["{repository}"])


REF = Paper.key(repository="r", collection="c", paper="p")
PAPER = Paper(repository="r", collection="c", paper="p")
OLDER = {
    "pk": {"S": "r"},
    "sk": {"S": "p"},
    "repository": {"S": "r"},
    "collection": {"S": "c"},
    "paper": {"S": "p"},
    "stars": {"N": "3"},
    "version": {"N": "5"},
    "extra": {"S": "kept"},
}


@pytest.fixture
def library(memory: Store) -> Store:
    memory.create_tables(papers)
    memory.transport.call("PutItem", {"TableName": "Papers", "Item": OLDER})
    return memory


def stored(store: Store) -> list[tuple[str, str | None]]:
    return [(item["pk"]["S"], item["stars"]["N"]) for item in store.scan(papers)]


def test_patch_moves_the_item_and_changes_it(library: Store) -> None:
    paper = library.get(REF)
    assert library.patch(paper, Paper.stars.set(4)).version == 6
    assert stored(library) == [("r#c", "4")]
    assert next(library.scan(papers))["extra"] == {"S": "kept"}


def test_put_leaves_no_legacy_item_behind(library: Store) -> None:
    library.put(library.get(REF).model_copy(update={"stars": 9}))
    assert stored(library) == [("r#c", "9")]


def test_create_sees_the_legacy_item(library: Store) -> None:
    with pytest.raises(AlreadyExists):
        library.create(PAPER)


def test_upsert_changes_the_legacy_item(library: Store) -> None:
    assert library.upsert(REF, Paper.stars.add(1)).stars == 4
    assert stored(library) == [("r#c", "4")]


def test_delete_also_deletes_the_legacy_item(library: Store) -> None:
    library.delete(REF)
    assert library.find(REF) is None
    assert stored(library) == []


def test_versions_are_checked_across_the_move(library: Store) -> None:
    with pytest.raises(LostRace) as caught:
        library.patch(library.get(REF).model_copy(update={"version": 4}), Paper.stars.set(4))
    assert caught.value.current.stars == 3


def test_transactions_and_batches_move_legacy_items_too(library: Store) -> None:
    library.transact([patch(REF, Paper.stars.set(1))])
    assert stored(library) == [("r#c", "1")]
    library.transport.call("PutItem", {"TableName": "Papers", "Item": OLDER})
    library.batch_write(deletes=[REF])
    assert stored(library) == []


def test_a_legacy_key_of_another_item_is_not_changed(library: Store) -> None:
    library.create(Paper(repository="r", collection="other", paper="p", stars=1))
    assert sorted(stored(library)) == [("r", "3"), ("r#other", "1")]


@pytest.mark.parametrize(
    "operation",
    [
        create(Paper(repository="r", collection="c", paper="p")),
        put(Paper(repository="r", collection="c", paper="p")),
        delete(REF),
        upsert(REF),
    ],
)
def test_a_dry_run_shows_the_write(operation: Any) -> None:
    assert "ConsistentRead" not in operation.params()


def test_a_move_that_another_writer_made_first_only_deletes_the_legacy_item() -> None:
    canceled = refusal("TransactionCanceledException", CancellationReasons=[{"Code": "ConditionalCheckFailed"}, {"Code": "None"}])
    played = play(migrate_to_current_key(REF, quiet_setup()), [{"Item": OLDER}, canceled, {}])
    assert played.result is True
    assert [request.operation for request in played.requests] == ["GetItem", "TransactWriteItems", "DeleteItem"]


def test_a_legacy_item_that_changed_meanwhile_is_read_again() -> None:
    canceled = refusal("TransactionCanceledException", CancellationReasons=[{"Code": "None"}, {"Code": "ConditionalCheckFailed"}])
    played = play(migrate_to_current_key(REF, quiet_setup()), [{"Item": OLDER}, canceled, {}])
    assert played.result is False
    assert [request.operation for request in played.requests] == ["GetItem", "TransactWriteItems", "GetItem"]


OTHER = Paper.key(repository="r", collection="else", paper="p")
PRESENT = OLDER | {"pk": {"S": "r#c"}}
READS: list[Any] = [
    lambda store: store.get(REF).stars,
    lambda store: store.get(REF, project=[Paper.stars])["stars"],
    lambda store: store.batch_get([REF])[0].stars,
    lambda store: store.transact_get([REF])[0].stars,
]


@pytest.mark.parametrize("read", READS)
def test_every_read_finds_the_legacy_item(library: Store, read: Any) -> None:
    assert read(library) == 3


def test_a_shared_legacy_key_belongs_to_one_reference_only(library: Store) -> None:
    found = library.transact_get([OTHER, REF, REF])
    assert [None if paper is None else paper.collection for paper in found] == [None, "c", "c"]
    assert library.batch_get([OTHER]) == [None]
    with pytest.raises(NotFound):
        library.get(OTHER, project=[Paper.stars])


@pytest.mark.parametrize("operation", [get(REF), get(REF, project=[Paper.stars])])
def test_an_item_that_is_moved_during_a_read_is_found(operation: Any) -> None:
    """The first read misses it under the current key, the second one under the legacy key."""
    played = play(operation.flow(quiet_setup()), [{}, {}, {"Item": PRESENT}])
    assert [request.payload["Key"]["pk"]["S"] for request in played.requests] == ["r#c", "r", "r#c"]
    assert played.result


def test_items_that_are_moved_during_a_batch_read_are_found() -> None:
    nothing: dict[str, Any] = {"Responses": {}, "UnprocessedKeys": {}}
    answers = [nothing, nothing, {"Responses": {"Papers": [PRESENT]}, "UnprocessedKeys": {}}]
    assert [paper.stars for paper in play(batch_get([REF]).flow(quiet_setup()), answers).result] == [3]
