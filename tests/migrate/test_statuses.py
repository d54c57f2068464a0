"""Where migrations stand, as the command line and the console read it."""

import pytest

from gateleg.migrate.errors import CodeOlder
from tests.migrate.moves.layouts import ACME, NewAgent
from tests.migrate.test_migrator import filled, migrator, move, upper


def test_what_a_verification_found_is_part_of_a_stage() -> None:
    store = filled()
    one = migrator(store, move)
    one.apply()
    (stage,) = one.status()[0].stages
    assert stage["verification"] == {"old": 5, "new": 5, "compared": 10, "wrong": 0, "holds": True}
    store.delete(NewAgent.key(partition_key=ACME, agent_uuid="3"))
    one.verify(2)
    (stage,) = one.status()[0].stages
    assert (stage["verification"]["wrong"], stage["verification"]["holds"], stage["errors"][0]["reason"]) == (1, False, "missing")


def test_a_migration_that_only_the_data_has_is_listed() -> None:
    store = filled()
    migrator(store).apply()
    shown = migrator(store, upper).status()
    assert [(one.number, one.name, one.state, one.in_code) for one in shown] == [
        (1, "upper-case", "applied", True),
        (2, "agents-by-tenant", "applied", False),
    ]


def test_a_migration_that_was_rolled_back_may_leave_the_code() -> None:
    store = filled()
    one = migrator(store)
    one.apply()
    one.rollback(2)
    assert [status.in_code for status in migrator(store, upper).status()] == [True]


def test_older_code_may_pause_a_migration_but_neither_verify_nor_resume_it() -> None:
    store = filled()
    migrator(store).apply()
    older = migrator(store, upper)
    older.pause(1)
    assert older.status()[0].paused
    for refused in (lambda: older.verify(1), lambda: older.repeat(1), lambda: older.pause(1, paused=False)):
        with pytest.raises(CodeOlder, match="0002"):
            refused()
