"""Writing one item: requirements, results and errors."""

from typing import Any

import pytest

from gateleg.store import (
    AlreadyExists,
    AsyncStore,
    ConditionFailed,
    LostRace,
    NotFound,
    Store,
    TooLarge,
    create,
    delete,
    patch,
    put,
    upsert,
)
from gateleg.store.transports import ServiceError
from tests.store.doubles import Scripted, refusal
from tests.store.notes import Draft, Note, shelf, titles


@pytest.fixture
def store(memory: Store) -> Store:
    memory.create_tables(shelf, titles)
    return memory


def test_create_refuses_an_existing_item_and_returns_it(store: Store) -> None:
    first = store.create(Note(book="b", number=1, text="first"))
    with pytest.raises(AlreadyExists) as caught:
        store.create(Note(book="b", number=1, text="second"))
    assert caught.value.current == first


def test_put_replaces_any_item(store: Store) -> None:
    store.put(Note(book="b", number=1, text="old"))
    assert store.put(Note(book="b", number=1, text="new"), returning="old") == Note(book="b", number=1, text="old")
    assert store.put(Note(book="b", number=2), returning="old") is None
    assert store.put(Note(book="b", number=2), returning="none") is None


def test_writes_do_not_change_their_instance(store: Store) -> None:
    draft = Draft(book="b", title="t")
    stored = store.create(draft)
    changed = store.patch(stored, Draft.text.set("x"))
    assert [draft.version, stored.version, changed.version] == [0, 1, 2]


def test_put_of_a_versioned_item_needs_the_stored_version(store: Store) -> None:
    stored = store.put(Draft(book="b", title="t"))
    newer = store.put(stored.model_copy(update={"text": "newer"}))
    with pytest.raises(LostRace) as caught:
        store.put(stored)
    assert caught.value.current == newer
    assert caught.value.failed == {"version"}
    with pytest.raises(AlreadyExists):
        store.put(Draft(book="b", title="t"))


def test_put_without_version_check_increments_the_stored_version(store: Store) -> None:
    stored = store.put(Draft(book="b", title="t", text="first"))
    newer = store.put(stored.model_copy(update={"text": "second"}))
    fresh = store.put(Draft(book="b", title="t", text="third"), check_version=False)
    assert (fresh.version, fresh.text) == (3, "third")
    assert store.get(Draft, book="b", title="t") == fresh
    # Nobody who has read an earlier one takes the new one for it.
    for earlier in (stored, newer):
        with pytest.raises(LostRace):
            store.put(earlier)
    assert store.put(stored, check_version=False, returning="old") == fresh
    store.transact([put(Draft(book="b", title="t"), check_version=False)])
    assert store.get(Draft, book="b", title="t").version == 5
    # Over nothing, it counts on from the instance.
    store.delete(Draft.key(book="b", title="t"))
    assert store.put(newer, check_version=False).version == 3


def test_deleted_versioned_item_is_a_lost_race_without_current(store: Store) -> None:
    stored = store.create(Draft(book="b", title="t"))
    store.delete(stored)
    with pytest.raises(LostRace, match="deleted") as caught:
        store.put(stored)
    assert caught.value.current is None
    with pytest.raises(LostRace):
        store.delete(stored)


def test_patch_requires_that_the_item_exists(store: Store) -> None:
    with pytest.raises(NotFound, match=r"no Note\(book='b', number=1\) to patch"):
        store.patch(Note.key(book="b", number=1), Note.stars.add(1))


def test_patch_returns_the_requested_values(store: Store) -> None:
    note = store.put(Note(book="b", number=1, stars=1))
    assert store.patch(note, Note.stars.add(1)).stars == 2
    assert store.patch(note, Note.stars.add(1), returning="old").stars == 2
    assert store.patch(note, Note.stars.add(1), returning="changed") == {"stars": 4}
    assert store.patch(note, Note.stars.add(1), returning="none") is None


def test_condition_of_the_caller_fails_with_the_item(store: Store) -> None:
    note = store.put(Note(book="b", number=1, stars=1))
    with pytest.raises(ConditionFailed) as caught:
        store.patch(note, Note.text.set("x"), condition=Note.stars > 3)
    assert type(caught.value) is ConditionFailed
    assert caught.value.current == note
    with pytest.raises(ConditionFailed):
        store.put(note, condition=Note.stars > 3)
    with pytest.raises(ConditionFailed):
        store.delete(note, condition=Note.stars > 3)
    with pytest.raises(ConditionFailed, match="does not exist"):
        store.put(Note(book="b", number=2), condition=Note.stars > 3)


def test_upsert_creates_or_changes(store: Store) -> None:
    ref = Note.key(book="b", number=1)
    assert store.upsert(ref, Note.stars.add(2), Note.topic.set("t")).stars == 2
    assert store.upsert(ref, Note.stars.add(2), Note.topic.set("t")).stars == 4


def test_delete_of_a_missing_item_is_allowed_unless_it_must_exist(store: Store) -> None:
    ref = Note.key(book="b", number=1)
    assert store.delete(ref, returning="old") is None
    with pytest.raises(NotFound):
        store.delete(ref, must_exist=True)
    note = store.put(Note(book="b", number=1))
    assert store.delete(Note, book="b", number=1, returning="old") == note


def test_stale_version_does_not_delete(store: Store) -> None:
    stored = store.create(Draft(book="b", title="t"))
    newer = store.patch(stored, Draft.text.set("x"))
    with pytest.raises(LostRace) as caught:
        store.delete(stored)
    assert caught.value.current == newer
    assert store.delete(stored, check_version=False, returning="old") == newer


def test_patch_moves_the_item_in_its_sharded_index(store: Store) -> None:
    note = store.put(Note(book="b", number=1, topic="a"))
    store.patch(note, Note.topic.set("b"))
    assert [found.number for found in store.query(Note.on_topic, topic="b")] == [1]
    assert list(store.query(Note.on_topic, topic="a")) == []


def test_item_over_the_limit_is_refused_with_its_size(store: Store) -> None:
    with pytest.raises(TooLarge, match="Note has 450,0") as caught:
        store.put(Note(book="b", number=1, text="x" * 450_000))
    assert store.find(Note, book="b", number=1) is None
    assert caught.value.limit == 409_600
    assert caught.value.size is not None
    assert caught.value.size > 450_000


def test_update_that_makes_an_item_too_large_is_the_same_kind_of_failure(store: Store) -> None:
    note = store.put(Note(book="b", number=1, text="x" * 390_000))
    with pytest.raises(TooLarge) as caught:
        store.patch(note, Note.footnote.set("y" * 30_000))
    assert caught.value.size is None


def test_conflict_with_a_transaction_is_retried() -> None:
    transport = Scripted(refusal("TransactionConflictException"), {})
    slept: list[float] = []
    Store(transport, sleep=slept.append).put(Note(book="b", number=1))
    assert len(transport.calls) == 2
    assert len(slept) == 1


@pytest.mark.parametrize(
    ("operation", "member"),
    [
        (create(Note(book="b", number=1)), "Item"),
        (put(Note(book="b", number=1)), "Item"),
        (patch(Note.key(book="b", number=1), Note.stars.add(1)), "UpdateExpression"),
        (upsert(Note.key(book="b", number=1), Note.stars.add(1), Note.topic.set("t")), "UpdateExpression"),
        (delete(Note.key(book="b", number=1)), "Key"),
    ],
)
def test_every_write_has_a_dry_run(operation: Any, member: str) -> None:
    params = operation.params(prefix="dev-")
    assert params["TableName"] == "dev-Notes"
    assert member in params


def test_refused_condition_asks_for_the_item_by_default() -> None:
    assert create(Note(book="b", number=1)).params()["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"


@pytest.mark.parametrize("note", [Note(book="b", number=1), Draft(book="b", title="t"), Draft(book="b", title="t", version=3)])
def test_a_store_sends_the_request_of_the_dry_run(note: Any) -> None:
    transport = Scripted({}, {})
    store = Store(transport, prefix="dev-")
    store.create(note)
    store.put(note)
    assert [request for _, request, _ in transport.calls] == [create(note).params(prefix="dev-"), put(note).params(prefix="dev-")]


def test_a_service_that_refuses_an_item_over_the_limit_is_translated() -> None:
    transport = Scripted(ServiceError("ValidationException", "Item size has exceeded the maximum allowed size"))
    with pytest.raises(TooLarge) as caught:
        Store(transport).put(Note(book="b", number=1, text="x" * 450_000))
    assert caught.value.request is not None


def test_a_refusal_after_a_conflict_is_explained() -> None:
    transport = Scripted(refusal("TransactionConflictException"), refusal("ConditionalCheckFailedException"))
    with pytest.raises(LostRace, match="deleted"):
        Store(transport, sleep=lambda seconds: None).put(Draft(book="b", title="t", version=3))


class Awaited(Scripted):
    """The same for asyncio."""

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:  # type: ignore[override]
        return super().call(operation, request, timeout=timeout)

    async def close(self) -> None:  # type: ignore[override]
        pass


async def test_an_async_store_sends_the_request_of_the_dry_run() -> None:
    transport = Awaited({}, {})
    store, draft = AsyncStore(transport, prefix="dev-"), Draft(book="b", title="t", version=3)
    assert (await store.create(draft)).version == 4
    assert (await store.put(draft)).version == 4
    assert [request for _, request, _ in transport.calls] == [create(draft).params(prefix="dev-"), put(draft).params(prefix="dev-")]


async def test_an_async_store_retries_and_explains() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    transport = Awaited(refusal("TransactionConflictException"), refusal("ConditionalCheckFailedException"))
    with pytest.raises(LostRace, match="deleted"):
        await AsyncStore(transport, sleep=sleep).put(Draft(book="b", title="t", version=3))
    assert len(slept) == 1
