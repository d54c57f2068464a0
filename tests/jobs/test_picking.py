from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from gateleg.jobs.clocks import ManualClock
from gateleg.jobs.picking import Candidate, Picker, share_of, turn

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def candidate(number: int, **values: Any) -> Candidate:
    usual: dict[str, Any] = {"version": 1, "queue": "q", "priority": 50, "job_type": "x", "created_at": NOW}
    return Candidate(UUID(int=number), **(usual | values))


def taken(picker: Picker) -> list[int]:
    found = []
    while chosen := picker.choose("q", 1):
        found += [one.job_id.int for one in chosen]
    return found


def test_one_worker_takes_the_list_as_it_is() -> None:
    picker = Picker(ManualClock())
    picker.learn("q", [candidate(number) for number in range(5)])
    assert taken(picker) == [0, 1, 2, 3, 4]


def test_a_list_is_good_for_a_moment() -> None:
    clock = ManualClock()
    picker = Picker(clock, fresh_for=0.2)
    picker.learn("q", [candidate(1), candidate(2)])
    assert picker.known("q")
    clock.advance(0.3)
    assert not picker.known("q")


@given(numbers=st.sets(st.integers(0, 2**64), min_size=1), peers=st.integers(1, 8), priorities=st.lists(st.integers(0, 100), min_size=1))
def test_everyone_gets_everything_in_the_end_and_priority_comes_first(numbers: set[int], peers: int, priorities: list[int]) -> None:
    jobs = [candidate(number, priority=priorities[place % len(priorities)]) for place, number in enumerate(sorted(numbers))]
    for rank in range(peers):
        clock = ManualClock()
        picker = Picker(clock, rank=rank, peers=peers, patience=0.5)
        picker.learn("q", jobs)
        clock.advance(0.5)
        picker.learn("q", jobs)
        order = []
        while chosen := picker.choose("q", 3):
            order += chosen
        assert sorted(one.job_id for one in order) == sorted(one.job_id for one in jobs)
        assert [one.priority for one in order] == sorted((one.priority for one in jobs), reverse=True)


@given(numbers=st.sets(st.integers(0, 2**64), min_size=1), peers=st.integers(1, 8))
def test_at_first_every_job_is_one_workers_own(numbers: set[int], peers: int) -> None:
    jobs = [candidate(number) for number in numbers]
    chosen = []
    for rank in range(peers):
        picker = Picker(ManualClock(), rank=rank, peers=peers)
        picker.learn("q", jobs)
        chosen += taken(picker)
    assert sorted(chosen) == sorted(numbers)


def test_workers_begin_with_different_jobs() -> None:
    jobs = [candidate(number) for number in range(100)]
    firsts = []
    for rank in range(4):
        picker = Picker(ManualClock(), rank=rank, peers=4)
        picker.learn("q", jobs)
        (one,) = picker.choose("q", 1)
        assert share_of(one.job_id, 4) == rank
        firsts.append(one.job_id)
    assert len(set(firsts)) == 4


def test_a_job_that_its_worker_leaves_lying_goes_down_the_line() -> None:
    clock = ManualClock()
    number = next(number for number in range(100) if share_of(UUID(int=number), 4) == 1)
    pickers = {rank: Picker(clock, rank=rank, peers=4, patience=0.4, fresh_for=10) for rank in range(4)}
    for picker in pickers.values():
        picker.learn("q", [candidate(number)])
    assert {rank: round(picker.next_turn() or 0, 3) for rank, picker in pickers.items()} == {1: 0.0, 2: 0.1, 3: 0.2, 0: 0.3}
    begun = []
    for _ in range(4):
        begun += [rank for rank, picker in pickers.items() if taken(picker)]
        clock.advance(0.101)
    assert begun == [1, 2, 3, 0]


def test_a_job_that_is_claimed_is_not_tried_again_but_its_next_version_is() -> None:
    picker = Picker(ManualClock())
    picker.had(candidate(1))
    picker.learn("q", [candidate(1), candidate(2)])
    assert taken(picker) == [2]
    picker.learn("q", [candidate(1, version=3)])
    assert taken(picker) == [1]


def test_losses_and_full_keys_are_left_alone_for_a_while() -> None:
    clock = ManualClock()
    picker = Picker(clock, lost_for=5, full_for=1)
    picker.lost(candidate(1))
    picker.full("k")
    jobs = [candidate(1), candidate(2, concurrency_key="k"), candidate(3)]
    picker.learn("q", jobs)
    assert taken(picker) == [3]
    clock.advance(2)
    picker.learn("q", jobs)
    assert taken(picker) == [2, 3]
    clock.advance(5)
    picker.learn("q", jobs)
    assert taken(picker) == [1, 2, 3]


def test_a_key_that_fills_up_is_skipped_in_the_list_at_hand() -> None:
    picker = Picker(ManualClock())
    picker.learn("q", [candidate(1, concurrency_key="k"), candidate(2, concurrency_key="k"), candidate(3)])
    picker.choose("q", 1)
    picker.full("k")
    assert taken(picker) == [3]
    picker.freed("k")


def test_several_jobs_are_chosen_at_once_but_one_of_each_key() -> None:
    picker = Picker(ManualClock())
    keys = [None, "k", "k", None, "l", None]
    picker.learn("q", [candidate(number, concurrency_key=key) for number, key in enumerate(keys)])
    assert [one.job_id.int for one in picker.choose("q", 4)] == [0, 1, 3, 4]
    assert [one.job_id.int for one in picker.choose("q", 4)] == [2, 5]
    assert picker.choose("q", 4) == []


@given(weights=st.dictionaries(st.text(min_size=1), st.integers(1, 10), min_size=1), chance=st.floats(0, 1, exclude_max=True))
def test_every_queue_has_its_turn_once(weights: dict[str, int], chance: float) -> None:
    assert sorted(turn(weights, chance)) == sorted(weights)


def test_the_first_queue_is_drawn_by_weight() -> None:
    firsts = [turn({"a": 3, "b": 1}, number / 100)[0] for number in range(100)]
    assert firsts.count("a") == 75
