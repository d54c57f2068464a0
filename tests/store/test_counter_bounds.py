"""Upper bounds of counters: the write of a child that would exceed one is refused."""

from typing import Any

import pytest

from gateleg.model import spec_of
from gateleg.store import (
    AsyncStore,
    ConditionFailed,
    ConstraintFailed,
    NotFound,
    Store,
    TransactionCanceled,
    check,
    create,
    delete,
    patch,
    put,
    upsert,
)
from tests.store.counting import Lending, Loan, Member, members

ANNA = Member.key(member="anna")


@pytest.fixture
def library(store: Store) -> Store:
    store.create_tables(members)
    store.create(Member(member="anna"))
    return store


def lending(number: int, loan: Loan = Loan.OUT, member: str = "anna") -> Lending:
    return Lending(lending_id=str(number), member=member, loan=loan)


def full(store: Store) -> list[Lending]:
    return [store.create(lending(number)) for number in range(3)]


def reasons_of(store: Store, *operations: Any) -> list[Any]:
    with pytest.raises(TransactionCanceled) as refused:
        store.transact(operations)
    return list(refused.value.reasons)


def is_bound(reason: Any, bound: str = "le=3") -> bool:
    attribute = "open_loans" if bound == "le=3" else "reserved"
    return isinstance(reason, ConstraintFailed) and (reason.attribute, reason.bound) == (attribute, bound)


def test_child_beyond_the_bound_is_not_created(library: Store) -> None:
    full(library)
    with pytest.raises(ConstraintFailed) as refused:
        library.create(lending(3))
    error = refused.value
    assert (error.attribute, error.bound, error.current) == ("open_loans", "le=3", library.get(ANNA))
    assert "Member(member='anna')" in error.message
    assert "open_loans must be at most 3" in error.message
    assert library.find(Lending, lending_id="3") is None
    assert library.get(ANNA).open_loans == 3


def test_exclusive_bound_is_kept_too(library: Store) -> None:
    for number in range(2):
        library.create(lending(number, Loan.IN))
    with pytest.raises(ConstraintFailed) as refused:
        library.create(lending(2, Loan.IN))
    assert is_bound(refused.value, "lt=3")
    assert library.get(ANNA).reserved == 2


def test_child_that_is_patched_into_the_count_is_refused(library: Store) -> None:
    full(library)
    held = library.create(lending(3, Loan.IN))
    with pytest.raises(ConstraintFailed):
        library.patch(held, Lending.loan.to(Loan.OUT))
    assert library.get(held).loan is Loan.IN


def test_child_that_moves_to_a_full_parent_is_refused(library: Store) -> None:
    full(library)
    library.create(Member(member="ben"))
    other = library.create(lending(3, member="ben"))
    with pytest.raises(ConstraintFailed):
        library.put(lending(3), replaces=other)
    assert library.get(Member, member="ben").open_loans == 1


def test_room_that_a_transaction_makes_can_be_used_by_it(library: Store) -> None:
    old = full(library)[0]
    library.transact([delete(old), create(lending(3))])
    assert library.get(ANNA).open_loans == 3


def test_the_operations_that_raise_the_count_get_the_error(library: Store) -> None:
    library.create(Member(member="ben"))
    old = full(library)[0]
    reasons = reasons_of(library, create(lending(5, member="ben")), create(lending(3)), delete(old), create(lending(4)))
    assert [None if reason is None else is_bound(reason) for reason in reasons] == [None, True, None, True]


@pytest.mark.parametrize("main", [patch(ANNA, Member.visits.add(1)), upsert(ANNA, Member.visits.add(1)), put(Member(member="anna"))])
def test_write_of_the_parent_does_not_get_the_error(library: Store, main: Any) -> None:
    full(library)
    reasons = reasons_of(library, main, create(lending(3)))
    assert reasons[0] is None
    assert is_bound(reasons[1])
    assert library.get(ANNA).visits == 0


def test_check_of_the_parent_that_may_be_true_does_not_get_the_error(library: Store) -> None:
    full(library)
    reasons = reasons_of(library, check(ANNA, Member.visits == 0), create(lending(3)))
    assert reasons[0] is None
    assert is_bound(reasons[1])


def test_check_that_fails_below_the_bound_gets_the_error(library: Store) -> None:
    reasons = reasons_of(library, check(ANNA, Member.visits == 1), create(lending(0)))
    assert isinstance(reasons[0], ConditionFailed)
    assert not isinstance(reasons[0], ConstraintFailed)
    assert reasons[1] is None


@pytest.mark.parametrize("begin", [create, put])
def test_new_parent_takes_no_more_than_its_bound(library: Store, begin: Any) -> None:
    ben = Member(member="ben")
    children = [create(lending(number, member="ben")) for number in range(4)]
    reasons = reasons_of(library, begin(ben), *children)
    assert reasons[0] is None
    assert all(is_bound(reason) for reason in reasons[1:])
    assert library.find(ben) is None
    library.transact([begin(ben), *children[:3]])
    assert library.get(ben).open_loans == 3


def test_parent_that_an_upsert_makes_takes_no_more_than_its_bound(library: Store) -> None:
    ben = Member.key(member="ben")
    reasons = reasons_of(library, upsert(ben, Member.visits.add(1)), *(create(lending(number, member="ben")) for number in range(4)))
    assert reasons[0] is None
    assert all(is_bound(reason) for reason in reasons[1:])


def test_missing_parent_is_still_reported_as_missing(library: Store) -> None:
    with pytest.raises(NotFound):
        library.create(lending(1, member="nobody"))
    reasons = reasons_of(library, *(create(lending(number, member="nobody")) for number in range(4)))
    assert all(isinstance(reason, NotFound) for reason in reasons)


def test_count_that_is_beyond_a_newer_bound_can_only_fall(library: Store) -> None:
    old = full(library)[0]
    item = spec_of(Member).encode(Member(member="anna")) | {"open_loans": {"N": "7"}}
    library.transport.call("PutItem", {"TableName": "Members", "Item": item})
    with pytest.raises(ConstraintFailed):
        library.create(lending(3))
    library.delete(old)
    assert library.get(ANNA).open_loans == 6


def test_count_that_would_become_negative_stays_at_zero_despite_a_bound(library: Store) -> None:
    old = full(library)[0]
    library.delete(ANNA)
    library.create(Member(member="anna"))
    library.delete(old)
    assert library.get(ANNA).open_loans == 0
    for number in range(2):
        library.create(lending(number + 5, Loan.IN))
    orphan = library.get(Lending, lending_id="1")
    with pytest.raises(ConstraintFailed) as refused:
        library.patch(orphan, Lending.loan.to(Loan.IN))
    assert is_bound(refused.value, "lt=3")


async def test_async_store_keeps_the_bound_too(async_store: AsyncStore) -> None:
    await async_store.create_tables(members)
    await async_store.create(Member(member="anna"))
    for number in range(3):
        await async_store.create(lending(number))
    with pytest.raises(ConstraintFailed) as refused:
        await async_store.create(lending(3))
    assert is_bound(refused.value)
    with pytest.raises(TransactionCanceled) as canceled:
        await async_store.transact([patch(ANNA, Member.visits.add(1)), create(lending(3))])
    assert canceled.value.reasons[0] is None
    assert is_bound(canceled.value.reasons[1])
    assert (await async_store.get(ANNA)).open_loans == 3
