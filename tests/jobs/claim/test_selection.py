from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from gateleg.jobs.claim import Candidate, CandidateSelector, queue_order, rank_of, worker_hash
from gateleg.jobs.tables.job import Job
from gateleg.jobs.testing import ManualClock
from gateleg.model import spec_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def crew(clock: ManualClock, number: int, **options: Any) -> list[CandidateSelector]:
    """Workers that know each other."""
    names = [f"w{one}" for one in range(number)]
    selectors = [CandidateSelector(clock, name, **options) for name in names]
    for selector in selectors:
        selector.set_workers(names)
    return selectors


def candidate(number: int, **values: Any) -> Candidate:
    usual: dict[str, Any] = {"version": 1, "queue": "q", "priority": 50}
    return Candidate(UUID(int=number), **(usual | values))


def taken(selector: CandidateSelector) -> list[int]:
    found = []
    while chosen := selector.take_candidates("q", 1):
        found += [one.job_id.int for one in chosen]
    return found


def test_one_worker_takes_the_list_as_it_is() -> None:
    selector = CandidateSelector(ManualClock())
    selector.set_candidates("q", [candidate(number) for number in range(5)])
    assert taken(selector) == [0, 1, 2, 3, 4]


def test_a_list_is_good_for_a_moment() -> None:
    clock = ManualClock()
    selector = CandidateSelector(clock, fresh_for=0.2)
    selector.set_candidates("q", [candidate(1), candidate(2)])
    assert selector.has_candidates("q")
    clock.advance(0.3)
    assert not selector.has_candidates("q")


_NUMBERS = st.sets(st.integers(0, 2**64), min_size=1)


@given(numbers=_NUMBERS, peers=st.integers(1, 8), priorities=st.lists(st.integers(0, 100), min_size=1))
def test_everyone_gets_everything_in_the_end_and_priority_comes_first(numbers: set[int], peers: int, priorities: list[int]) -> None:
    jobs = [candidate(number, priority=priorities[place % len(priorities)]) for place, number in enumerate(sorted(numbers))]
    clock = ManualClock()
    for selector in crew(clock, peers, reserved_while_busy=2.0):
        selector.set_candidates("q", jobs)
        clock.advance(2)
        selector.set_candidates("q", jobs)
        order = []
        while chosen := selector.take_candidates("q", 3):
            order += chosen
        assert sorted(one.job_id for one in order) == sorted(one.job_id for one in jobs)
        assert [one.priority for one in order] == sorted((one.priority for one in jobs), reverse=True)


@given(numbers=_NUMBERS, peers=st.integers(1, 8))
def test_at_first_every_job_is_one_workers_own(numbers: set[int], peers: int) -> None:
    chosen = []
    for selector in crew(ManualClock(), peers):
        selector.set_candidates("q", [candidate(number) for number in numbers])
        chosen += taken(selector)
    assert sorted(chosen) == sorted(numbers)


@given(number=st.integers(0, 2**64), workers=st.sets(st.text(), min_size=3), known=st.data())
def test_who_knows_fewer_workers_has_those_in_the_same_order(number: int, workers: set[str], known: st.DataObject) -> None:
    def line(names: set[str]) -> list[str]:
        return sorted(names, key=lambda one: rank_of(UUID(int=number), worker_hash(one), [worker_hash(other) for other in names - {one}]))

    some = known.draw(st.sets(st.sampled_from(sorted(workers)), min_size=1))
    assert line(some) == [one for one in line(workers) if one in some]


def test_jobs_are_shared_evenly() -> None:
    shares = []
    for selector in crew(ManualClock(), 4):
        selector.set_candidates("q", [candidate(number * 7919) for number in range(400)])
        shares.append(len(taken(selector)))
    assert all(60 < share < 140 for share in shares)


def test_a_job_that_its_worker_leaves_lying_goes_down_the_line() -> None:
    clock = ManualClock()
    selectors = crew(clock, 4, reserved_for=0.4)
    begun: list[str] = []
    for _ in range(4):
        for selector in selectors:
            selector.set_candidates("q", [candidate(1)])
            if taken(selector) and selector.worker_id not in begun:
                begun.append(selector.worker_id)
        clock.advance(0.101)
    line = sorted(selectors, key=lambda one: rank_of(UUID(int=1), worker_hash(one.worker_id), one._others))
    assert begun == [selector.worker_id for selector in line]


def test_meeting_others_divides_the_list_anew() -> None:
    selector = CandidateSelector(ManualClock(), "a")
    selector.set_candidates("q", [candidate(1)])
    assert not selector.set_workers(["a"])
    assert selector.has_candidates("q")
    assert selector.set_workers(["a", "b"])
    assert not selector.has_candidates("q")
    assert not selector.set_workers(["b"])


def test_a_worker_knows_when_its_turn_comes() -> None:
    clock = ManualClock()
    selectors = crew(clock, 4, reserved_for=0.4)
    turns = []
    for selector in selectors:
        selector.set_candidates("q", [candidate(1)])
        turns.append(selector.seconds_until_unreserved())
    assert sorted(round(turn, 3) for turn in turns if turn is not None) == [0.1, 0.2, 0.3]


def test_a_worker_with_jobs_of_its_own_leaves_those_of_others_for_longer() -> None:
    clock = ManualClock()
    one, _ = crew(clock, 2, reserved_for=0.2, reserved_while_busy=2.0)
    one.set_candidates("q", [candidate(number) for number in range(20)])
    mine = taken(one)
    theirs = next(number for number in range(20) if number not in mine)
    both = [candidate(mine[0]), candidate(theirs)]
    one.set_candidates("q", both)
    clock.advance(0.5)
    one.set_candidates("q", both)
    assert taken(one) == [mine[0]]
    one.set_candidates("q", [candidate(theirs)])
    assert taken(one) == [theirs]
    one.set_candidates("q", [candidate(mine[0]), candidate(theirs, priority=90)])
    assert taken(one) == [theirs, mine[0]]


def test_what_a_list_says_of_the_jobs_of_others_is_soon_out_of_date() -> None:
    clock = ManualClock()
    one, _ = crew(clock, 2, reserved_for=0.0, reserved_while_busy=0.0, fresh_for=10)
    one.set_candidates("q", [candidate(number) for number in range(20)])
    assert len(one.take_candidates("q", 1)) == 1
    clock.advance(1)
    assert 0 < len(taken(one)) < 18


def test_a_candidate_is_read_from_the_wire() -> None:
    job = Job(job_type="x", queue="q", priority=7, start_by=NOW, concurrency_key="k", concurrency_limit=3, version=4)
    read = Candidate.read(spec_of(Job).encode(job))
    assert read == Candidate(job.job_id, 4, "q", 7, NOW, "k", 3, "x")
    bare = Candidate.read(spec_of(Job).encode(Job(job_type="x")))
    assert (bare.start_by, bare.concurrency_key, bare.concurrency_limit) == (None, None, 1)


def test_a_job_that_is_claimed_is_not_tried_again_but_its_next_version_is() -> None:
    selector = CandidateSelector(ManualClock())
    selector.record_claimed(candidate(1))
    selector.set_candidates("q", [candidate(1), candidate(2)])
    assert taken(selector) == [2]
    selector.set_candidates("q", [candidate(1, version=3)])
    assert taken(selector) == [1]


def test_losses_and_full_keys_are_left_alone_for_a_while() -> None:
    clock = ManualClock()
    selector = CandidateSelector(clock, claimed_for=5, full_for=1)
    selector.record_lost(candidate(1))
    selector.record_key_full("k")
    jobs = [candidate(1), candidate(2, concurrency_key="k"), candidate(3)]
    selector.set_candidates("q", jobs)
    assert taken(selector) == [3]
    clock.advance(2)
    selector.set_candidates("q", jobs)
    assert taken(selector) == [2, 3]
    clock.advance(5)
    selector.set_candidates("q", jobs)
    assert taken(selector) == [1, 2, 3]


def test_a_key_that_fills_up_is_skipped_in_the_list_at_hand() -> None:
    selector = CandidateSelector(ManualClock())
    selector.set_candidates("q", [candidate(1, concurrency_key="k"), candidate(2, concurrency_key="k"), candidate(3)])
    selector.take_candidates("q", 1)
    selector.record_key_full("k")
    assert taken(selector) == [3]
    selector.record_key_freed("k")


def test_several_jobs_are_chosen_at_once_but_one_of_each_key() -> None:
    selector = CandidateSelector(ManualClock())
    keys = [None, "k", "k", None, "l", None]
    selector.set_candidates("q", [candidate(number, concurrency_key=key) for number, key in enumerate(keys)])
    assert [one.job_id.int for one in selector.take_candidates("q", 4)] == [0, 1, 3, 4]
    assert [one.job_id.int for one in selector.take_candidates("q", 4)] == [2, 5]
    assert selector.take_candidates("q", 4) == []


@given(weights=st.dictionaries(st.text(min_size=1), st.integers(1, 10), min_size=1), chance=st.floats(0, 1, exclude_max=True))
def test_every_queue_has_its_turn_once(weights: dict[str, int], chance: float) -> None:
    assert sorted(queue_order(weights, chance)) == sorted(weights)


def test_the_first_queue_is_drawn_by_weight() -> None:
    firsts = [queue_order({"a": 3, "b": 1}, number / 100)[0] for number in range(100)]
    assert firsts.count("a") == 75
