"""Counters: they change only with the children, and no concurrent change is lost."""

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.model.errors import ReadOnlyAttribute
from gateleg.store import (
    AsyncStore,
    ConditionFailed,
    LostRace,
    NotFound,
    Store,
    StoreError,
    TransactionCanceled,
    check,
    create,
    delete,
    patch,
    put,
)
from gateleg.store.errors import DuplicateTarget, NotBatchable
from gateleg.store.flow import Request
from gateleg.store.transports import ServiceError
from gateleg.store.transports.embedded import open_embedded
from tests.store.counting import Case, Loan, Map, Shelf, Volume, shelves
from tests.store.doubles import quiet_setup

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def _tables(request: pytest.FixtureRequest) -> None:
    if "store" in request.fixturenames:
        request.getfixturevalue("store").create_tables(shelves)


def volume(number: int, shelf: str = "a", loan: Loan = Loan.IN) -> Volume:
    return Volume(shelf=shelf, number=number, loan=loan)


def counts(store: Store) -> tuple[int, int]:
    shelf = store.get(Shelf, shelf="a")
    return shelf.volumes, shelf.lent


# What a put, a save, a patch and an upsert do to counts


def test_put_of_an_older_instance_keeps_the_count(store: Store) -> None:
    old = store.create(Shelf(shelf="a"))
    store.create(volume(1))
    stored = store.put(old.model_copy(update={"room": "east"}))
    assert (stored.volumes, stored.room) == (1, "east")
    assert store.get(old) == stored
    store.delete(volume(1))
    assert counts(store) == (0, 0)


async def test_put_keeps_the_count_when_it_is_awaited(async_store: AsyncStore) -> None:
    await async_store.create_tables(shelves)
    old = await async_store.create(Shelf(shelf="a"))
    await async_store.create(volume(1))
    assert (await async_store.put(old)).volumes == 1
    assert (await async_store.get(old)).volumes == 1


def test_put_of_an_older_version_keeps_the_count(store: Store) -> None:
    case = store.create(Case(case_id="c"))
    store.create(Map(map_id="m", case_id="c"))
    stored = store.put(case)
    assert (stored.maps, stored.version) == (1, 2)
    with pytest.raises(LostRace):
        store.put(case)


def test_put_of_a_new_item_starts_at_zero(store: Store) -> None:
    assert store.put(Shelf(shelf="a", volumes=9)).volumes == 0
    assert store.put(Case(case_id="c", maps=9)).maps == 0
    assert store.create(Shelf(shelf="b", volumes=9)).volumes == 0
    assert store.get(Shelf, shelf="b").volumes == 0


def test_put_removes_attributes_that_the_new_instance_lacks(store: Store) -> None:
    store.create(Shelf(shelf="a", room="east"))
    store.create(volume(1))
    assert store.put(Shelf(shelf="a")) == Shelf(shelf="a", volumes=1)
    assert store.put(Shelf(shelf="a", room="west"), returning="old") == Shelf(shelf="a", volumes=1)
    assert store.put(Shelf(shelf="a"), returning="none") is None


def test_put_in_a_transaction_returns_the_count(store: Store) -> None:
    old = store.create(Shelf(shelf="a"))
    store.create(volume(1))
    assert store.transact([put(old), create(volume(2))]) == [Shelf(shelf="a", volumes=2), volume(2)]
    assert store.transact([put(old)]) == [Shelf(shelf="a", volumes=2)]


@pytest.mark.parametrize("action", [Shelf.volumes.set(77), Shelf.volumes.add(1), Shelf.volumes.remove(), Shelf.volumes.set(Shelf.lent)])
def test_counts_are_not_set_by_hand(memory: Store, action: Any) -> None:
    memory.create_tables(shelves)
    shelf = memory.create(Shelf(shelf="a"))
    with pytest.raises(ReadOnlyAttribute, match=r"Shelf\.volumes counts items .*`gateleg tables check --fix"):
        memory.patch(shelf, action)
    with pytest.raises(ReadOnlyAttribute):
        memory.upsert(shelf.key, action)
    with pytest.raises(ReadOnlyAttribute):
        memory.transact([patch(shelf.key, action)])


def test_count_that_was_changed_in_an_instance_is_not_saved(memory: Store) -> None:
    memory.create_tables(shelves)
    shelf = memory.create(Shelf(shelf="a"))
    with pytest.raises(ReadOnlyAttribute, match=r"Shelf\.volumes"), memory.edit(shelf) as draft:
        draft.volumes = 5


def test_upsert_of_a_parent_begins_and_keeps_the_count(store: Store) -> None:
    assert store.upsert(Shelf.key(shelf="a"), Shelf.room.set("east")).volumes == 0
    store.create(volume(1))
    assert store.upsert(Shelf.key(shelf="a"), Shelf.room.set("west")).volumes == 1


def test_batch_does_not_overwrite_counts(memory: Store) -> None:
    memory.create_tables(shelves)
    with pytest.raises(NotBatchable, match=r"counted attributes of Shelf \(lent, volumes\)"):
        memory.batch_write([Shelf(shelf="a")])
    memory.create(Shelf(shelf="a"))
    assert memory.batch_write(deletes=[Shelf.key(shelf="a")]) == 1


# Moves, and what else a transaction asks of the parent


def test_child_that_moves_to_another_parent_is_counted_there(store: Store) -> None:
    store.create(Case(case_id="c"))
    store.create(Case(case_id="d"))
    moved = store.create(Map(map_id="m", case_id="c"))
    moved = store.patch(moved, Map.case_id.set("d"))
    assert [store.get(Case, case_id=case).maps for case in "cd"] == [0, 1]
    with pytest.raises(NotFound, match="There is no Case"):
        store.patch(moved, Map.case_id.set("e"))
    store.put(Map(map_id="m", case_id="c"), replaces=moved)
    assert [store.get(Case, case_id=case).maps for case in "cd"] == [1, 0]


def test_stale_child_cannot_be_deleted_from_a_parent_it_has_left(store: Store) -> None:
    for case in "cd":
        store.create(Case(case_id=case))
    stale = store.create(Map(map_id="m", case_id="c"))
    store.patch(stale, Map.case_id.set("d"))
    with pytest.raises(LostRace):
        store.delete(stale)
    assert [store.get(Case, case_id=case).maps for case in "cd"] == [0, 1]


def test_check_of_the_parent_is_made_by_the_move(store: Store) -> None:
    shelf = store.create(Shelf(shelf="a"))
    for number in (1, 2):
        store.transact([check(shelf, Shelf.volumes < 2), create(volume(number))])
    with pytest.raises(TransactionCanceled, match=r"Shelf\(shelf='a'\) does not satisfy the condition of the check") as caught:
        store.transact([create(volume(3)), check(shelf.key, Shelf.volumes < 2)])
    assert [type(reason) for reason in caught.value.reasons] == [type(None), ConditionFailed]
    assert counts(store) == (2, 0)


def test_failed_condition_of_a_patched_parent_is_the_error_of_the_patch(store: Store) -> None:
    shelf = store.create(Shelf(shelf="a"))
    operations = [create(volume(1)), patch(shelf.key, Shelf.visits.add(1), condition=Shelf.volumes < 0)]
    with pytest.raises(TransactionCanceled) as caught:
        store.transact(operations)
    nothing, refused = caught.value.reasons
    assert nothing is None
    assert type(refused) is ConditionFailed
    assert refused.current == shelf


def test_check_and_patch_of_one_item_are_one_write(store: Store) -> None:
    case = store.create(Case(case_id="c"))
    store.transact([check(case.key, Case.label == ""), patch(case, Case.label.set("x")), create(Map(map_id="m", case_id="c"))])
    assert store.get(case) == Case(case_id="c", label="x", maps=1, version=2)
    with pytest.raises(TransactionCanceled) as caught:
        store.transact([check(case.key, Case.label == "x"), patch(case, Case.label.set("y"))])
    assert [type(reason) for reason in caught.value.reasons] == [type(None), LostRace]


def test_checks_of_one_item_are_one_check(store: Store) -> None:
    shelf = store.create(Shelf(shelf="a"))
    store.transact([check(shelf, Shelf.volumes == 0), check(shelf, Shelf.lent == 0)])


def test_missing_parent_is_named(store: Store) -> None:
    with pytest.raises(
        NotFound, match=r"There is no Shelf\(shelf='a'\), so Shelf\.volumes cannot count\. Create the Shelf first"
    ) as missing:
        store.create(volume(1))
    assert missing.value.public == "There is no Shelf(shelf='a')."
    with pytest.raises(TransactionCanceled) as caught:
        store.transact([create(Shelf(shelf="b")), create(volume(1))])
    assert [type(reason) for reason in caught.value.reasons] == [type(None), NotFound]
    assert caught.value.public == "The transaction was refused. There is no Shelf(shelf='a')."


# Parents that are deleted


def test_child_of_a_deleted_parent_can_be_changed_and_deleted(store: Store) -> None:
    shelf = store.create(Shelf(shelf="a"))
    orphan = store.create(volume(1))
    store.delete(shelf)
    orphan = store.patch(orphan, Volume.loan.to(Loan.OUT))
    store.delete(orphan)
    assert store.find(orphan) is None
    assert store.find(shelf) is None


async def test_child_of_a_deleted_parent_can_be_deleted_when_it_is_awaited(async_store: AsyncStore) -> None:
    await async_store.create_tables(shelves)
    shelf = await async_store.create(Shelf(shelf="a"))
    orphan = await async_store.create(volume(1))
    await async_store.delete(shelf)
    await async_store.delete(orphan)
    assert await async_store.find(orphan) is None


def test_all_children_of_a_deleted_parent_can_be_cleared(store: Store) -> None:
    shelf = store.create(Shelf(shelf="a"))
    for number in (1, 2, 3):
        store.create(volume(number))
    store.delete(shelf)
    assert store.delete_all(Volume.on_shelf, shelf="a") == 3


def test_parent_and_children_go_in_one_transaction(store: Store) -> None:
    shelf = store.create(Shelf(shelf="a"))
    children = [store.create(volume(number)) for number in (1, 2)]
    store.transact([*map(delete, children), delete(shelf)])
    assert list(store.scan(shelves)) == []


def test_orphans_of_an_earlier_parent_do_not_take_the_count_below_zero(store: Store) -> None:
    shelf = store.create(Shelf(shelf="a"))
    orphans = [store.create(volume(number, loan=Loan.OUT)) for number in (1, 2)]
    store.delete(shelf)
    store.create(shelf)
    store.delete(orphans[0])
    assert counts(store) == (0, 0)
    store.transact([patch(shelf.key, Shelf.visits.add(1)), delete(orphans[1])])
    assert counts(store) == (0, 0)


class Meanwhile:
    """A transport that calls a function before its nth transaction."""

    def __init__(self, store: Store, deeds: dict[int, Any]) -> None:
        self.inner = store.transport
        self.deeds = deeds
        self.sent = 0
        self.tokens: list[str] = []

    def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        if operation == "TransactWriteItems":
            self.sent += 1
            self.tokens.append(request["ClientRequestToken"])
            if self.sent in self.deeds:
                self.deeds[self.sent]()
        return self.inner.call(operation, request, timeout=timeout)

    def close(self) -> None:
        self.inner.close()


def test_parent_that_comes_back_between_two_attempts_is_counted_down(memory: Store) -> None:
    memory.create_tables(shelves)
    shelf = memory.create(Shelf(shelf="a"))
    orphan = memory.create(volume(1))
    memory.delete(shelf)

    def back() -> None:
        memory.create(Shelf(shelf="a"))
        memory.create(volume(2))

    racing = Meanwhile(memory, {2: back})
    memory.using(racing).delete(orphan)
    assert racing.sent == 3
    # The parent counts one volume; the orphan was none of its own, and there is no telling.
    assert counts(memory) == (0, 0)


def test_attempts_of_one_transaction_have_different_but_repeatable_tokens(memory: Store) -> None:
    memory.create_tables(shelves)
    shelf = memory.create(Shelf(shelf="a"))
    orphan = memory.create(volume(1))
    memory.delete(shelf)
    racing = Meanwhile(memory, {})
    for _ in range(2):
        # The second time everything is done already, and the token says so.
        memory.using(racing).transact([delete(orphan)], token="mine")
    first, second = racing.tokens[:2]
    assert (first, racing.tokens) == ("mine", [first, second] * 2)
    assert len(second) <= 36


# The law


_NUMBERS = st.integers(1, 3)
_DEEDS = st.one_of(
    st.tuples(st.just("create"), _NUMBERS),
    st.tuples(st.just("delete"), _NUMBERS),
    st.tuples(st.just("lend"), _NUMBERS),
    st.tuples(st.just("return"), _NUMBERS),
    st.tuples(st.sampled_from(["put", "patch", "upsert", "save", "read", "put fresh"]), st.just(0)),
    st.tuples(st.just("remove all"), st.just(0)),
    st.tuples(st.just("replace"), _NUMBERS),
)


class World:
    """Several concurrent writers of one shelf, each with instances that it read earlier."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.shelf = store.create(Shelf(shelf="a"))
        self.known: dict[int, Volume] = {}

    def operation(self, deed: str, number: int) -> Any:
        known = self.known.get(number, volume(number))
        deeds: dict[str, Callable[[], Any]] = {
            "create": lambda: create(volume(number)),
            "delete": lambda: delete(known),
            "lend": lambda: patch(known, Volume.loan.to(Loan.OUT)),
            "return": lambda: patch(known, Volume.loan.to(Loan.IN)),
            "put": lambda: put(self.shelf),
            "put fresh": lambda: put(Shelf(shelf="a", volumes=8)),
            "patch": lambda: patch(self.shelf, Shelf.visits.add(1)),
            "upsert": lambda: patch(self.shelf.key, Shelf.room.set("x")),
            "save": lambda: patch(self.shelf, Shelf.room.set("y")),
            "replace": lambda: put(volume(number, loan=Loan.OUT), replaces=known),
        }
        return deeds[deed]()

    def remember(self) -> None:
        self.shelf = self.store.get(Shelf, shelf="a")
        self.known = {each.number: each for each in self.store.query(Volume.on_shelf, shelf="a")}

    def check(self) -> None:
        stored = list(self.store.query(Volume.on_shelf, shelf="a"))
        assert counts(self.store) == (len(stored), sum(each.loan is Loan.OUT for each in stored))


@settings(max_examples=60)
@given(st.lists(st.lists(_DEEDS, min_size=1, max_size=3), max_size=12))
def test_count_is_the_number_of_children_after_any_writes(deeds: list[list[tuple[str, int]]]) -> None:
    with Store(open_embedded()) as store:
        store.create_tables(shelves)
        world = World(store)
        for together in deeds:
            if together[0][0] == "read":
                world.remember()
            elif together[0][0] == "remove all":
                found = list(store.query(Volume.on_shelf, shelf="a"))
                store.transact([delete(Shelf.key(shelf="a")), *map(delete, found)])
                store.create(Shelf(shelf="a"))
            else:
                _attempt(world, [deed for deed in together if deed[0] not in ("read", "remove all")])
            world.check()


def _attempt(world: World, deeds: list[tuple[str, int]]) -> None:
    """Try several writes in one transaction, which may be refused."""
    with contextlib.suppress(TransactionCanceled, DuplicateTarget):
        world.store.transact([world.operation(*deed) for deed in deeds])


_FLOWS = st.lists(_DEEDS.filter(lambda deed: deed[0] not in ("read", "remove all")), min_size=2, max_size=4)


@settings(max_examples=60)
@given(_FLOWS, st.lists(st.integers(0, 3), max_size=30), st.sets(_NUMBERS))
def test_count_is_the_number_of_children_after_any_interleaving(deeds: list[Any], turns: list[int], there: set[int]) -> None:
    with Store(open_embedded()) as store:
        store.create_tables(shelves)
        world = World(store)
        for number in sorted(there):
            store.create(volume(number))
        world.remember()
        setup = quiet_setup()
        flows = {number: world.operation(*deed).flow(setup) for number, deed in enumerate(deeds)}
        waiting = {number: next(flow) for number, flow in flows.items()}
        for turn in [*turns, *range(4), *(list(range(4)) * 40)]:
            if turn in waiting:
                _advance(store, flows[turn], waiting, turn)
        assert not waiting
        world.check()


def _advance(store: Store, flow: Any, waiting: dict[int, Any], turn: int) -> None:
    step = waiting.pop(turn)
    try:
        try:
            reply = store.transport.call(step.operation, step.payload) if isinstance(step, Request) else None
        except ServiceError as error:
            waiting[turn] = flow.throw(error)
        else:
            waiting[turn] = flow.send(reply)
    except (StopIteration, StoreError):
        pass
