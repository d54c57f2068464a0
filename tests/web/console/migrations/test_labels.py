from typing import Any

import pytest

from gateleg.migrate import MigrationStatus, MoveStage, Phase
from gateleg.web.console.migrations.actions import available_actions, earlier
from gateleg.web.console.migrations.labels import (
    MEANS,
    StageGroup,
    address_of,
    covered,
    fraction,
    grouped,
    not_begun,
    operator_of,
    parts_of,
    phases_text,
    state_of,
    wrong_text,
)
from tests.web.console.migrations.shop_migrations.m0001_customers_by_city import migration as customers_by_city
from tests.web.console.migrations.shop_migrations.m0002_orders_by_customer import migration as orders_by_customer


def status(state: str = "applying", **given: Any) -> MigrationStatus:
    return MigrationStatus(2, "orders-by-customer", "", state, **given)


def stage(phase: Phase, name: str = "all", move: str = "orders", **given: Any) -> dict[str, Any]:
    return {**not_begun(move, name), "phase": str(phase), **given}


def group(*phases: Phase, **given: Any) -> StageGroup:
    return StageGroup("all", "", tuple(stage(phase, **given) for phase in phases))


def texts(state: str, *groups: StageGroup, busy: bool = False, later: bool = False, **given: Any) -> list[str]:
    return [offer.text for offer in available_actions(status(state, **given), groups, busy=busy, later=later)]


def test_every_phase_has_a_meaning() -> None:
    assert set(MEANS) == set(Phase)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (status("pending"), "Pending"),
        (status(paused=True), "Paused"),
        (status(stages=[stage(Phase.BACKFILL, paused=True)]), "Paused"),
        (status("applied", paused=True), "Applied"),
        (status("applied", in_code=False), "Not in this release"),
    ],
)
def test_a_state_has_a_word(given: MigrationStatus, word: str) -> None:
    assert state_of(given).word == word


@pytest.mark.parametrize(
    ("given", "alone", "words"),
    [
        (MoveStage(), True, "all partitions"),
        (MoveStage("rest"), False, "all other partitions"),
        (MoveStage.share("tenth", 10), False, "10% of the partitions"),
        (MoveStage.tenants("pilot", "berlin"), False, "the partition berlin"),
        (MoveStage.tenants("some", *"abcdef"), False, "the partitions a, b, c, d and 2 more"),
    ],
)
def test_a_stage_says_what_it_takes(given: MoveStage, alone: bool, words: str) -> None:
    assert covered(given, alone=alone) == words


def test_stages_of_one_name_go_together_over_all_moves() -> None:
    found = grouped(status(stages=[stage(Phase.CUT_OVER, "pilot"), stage(Phase.VERIFY, "pilot", "lines")]), orders_by_customer)
    assert [(one.name, one.phase, one.farthest) for one in found] == [
        ("pilot", Phase.VERIFY, Phase.CUT_OVER),
        ("rest", Phase.OFF, Phase.OFF),
    ]
    assert phases_text(status(stages=[stage(Phase.CUT_OVER), stage(Phase.OFF)])) == "off to cut-over"


@pytest.mark.parametrize(
    ("progress", "part"),
    [
        ({"done": True, "seen": 0, "total": None, "segments": 4, "segments_done": 4}, 1.0),
        ({"done": False, "seen": 50, "total": 200, "segments": 4, "segments_done": 0}, 0.25),
        ({"done": False, "seen": 50, "total": None, "segments": 4, "segments_done": 2}, 0.5),
        ({"done": False, "seen": 300, "total": 200, "segments": 4, "segments_done": 0}, 1.0),
    ],
)
def test_progress_is_a_part_of_what_is_known(progress: dict[str, Any], part: float) -> None:
    assert fraction(progress) == part


def test_failed_items_are_counted_as_far_as_they_were_read() -> None:
    assert [wrong_text([stage(Phase.VERIFY, errors=[{}] * count)]) for count in (0, 3, 20)] == ["", "3", "20 or more"]


def test_who_did_something_is_told_from_the_job_that_did_it() -> None:
    job = "2dfef69b-fd74-4aa7-a600-926cefa0a0b4"
    assert [operator_of(text) for text in (f"ann, job {job}", f"job {job}", "ann@host", "")] == [
        ("ann", job),
        ("", job),
        ("ann@host", None),
        ("", None),
    ]


def test_the_parts_of_a_migration_are_named() -> None:
    assert [words.split()[0] for words in parts_of(customers_by_city)] == ["Brings", "Rewrites"]
    assert address_of("shop", 2, "orders", "pilot") == "/migrations/shop/2/orders/pilot"


def test_the_next_phase_is_offered_and_the_way_to_the_cut_over() -> None:
    assert texts("pending", group(Phase.OFF)) == ["Apply dual-write", "Apply all up to cut-over"]
    assert texts("applying", group(Phase.BACKFILL, Phase.VERIFY))[:2] == ["Apply verify", "Apply all up to cut-over"]
    assert texts("applied", group(Phase.CUT_OVER)) == ["Apply closing", "Verify", "Roll back"]
    assert texts("applied", group(Phase.CLEAN_UP)) == ["Roll back"]


def test_what_must_wait_is_not_offered() -> None:
    assert texts("applying", group(Phase.BACKFILL), busy=True) == ["Pause"]
    assert texts("applying", group(Phase.BACKFILL, paused=True)) == ["Resume"]
    assert texts("applying", group(Phase.BACKFILL), busy=True, paused=True) == ["Resume"]
    assert texts("pending", group(Phase.OFF), busy=True) == []
    assert "Roll back" not in texts("applied", group(Phase.CUT_OVER), later=True)
    assert texts("applied", in_code=False) == []
    # Another stage has begun, and this one has nothing to go back from.
    assert texts("failed", group(Phase.OFF)) == ["Apply dual-write", "Apply all up to cut-over"]


def test_failed_items_are_repeated_and_stages_that_have_not_begun_are_not_verified() -> None:
    wrong = group(Phase.VERIFY, errors=[{}])
    assert texts("failed", wrong) == ["Apply dual-read", "Apply all up to cut-over", "Verify", "Repeat failed items", "Pause", "Roll back"]
    assert "Verify" not in texts("failed", wrong, group(Phase.OFF))


def test_a_migration_without_moves_is_applied_and_rolled_back() -> None:
    assert texts("pending") == ["Apply"]
    assert texts("applied") == ["Roll back"]
    assert earlier([]) == [Phase.OFF]
    assert earlier([group(Phase.BACKFILL)]) == [Phase.DUAL_WRITE, Phase.OFF]
