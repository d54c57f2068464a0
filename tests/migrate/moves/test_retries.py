"""Items that could not be moved, or that differ, are tried again on demand."""

import pytest

from gateleg.migrate import Migration, Phase
from gateleg.migrate.errors import PhaseRefused
from tests.migrate.moves.layouts import ACME, NewAgent, OldAgent, agents_move
from tests.migrate.test_migrator import filled, migrator

move = Migration(1, "agents-by-tenant", moves=(agents_move,))


def test_items_that_could_not_be_copied_are_copied_once_they_are_mended() -> None:
    store = filled()
    store.put(OldAgent(endpoint_id="unknown", agent_uuid="x"))
    one = migrator(store, move)
    with pytest.raises(PhaseRefused):
        one.apply()
    assert one.repeat(1) == {"agents/all": 1}
    store.delete(OldAgent.key(endpoint_id="unknown", agent_uuid="x"))
    assert one.repeat(1) == {"agents/all": 0}
    assert one.status()[0].stages[0]["errors"] == []


def test_a_copy_that_is_missing_is_written_again_while_the_old_item_counts() -> None:
    store = filled()
    one = migrator(store, move)
    one.apply(until=Phase.VERIFY)
    store.delete(NewAgent.key(partition_key=ACME, agent_uuid="3"))
    assert one.verify(1)["agents/all"].wrong == 1
    assert one.repeat(1) == {"agents/all": 0}
    assert store.get(NewAgent, partition_key=ACME, agent_uuid="3").title == "agent 3"


def test_later_differing_items_are_compared_again_and_not_overwritten() -> None:
    store = filled()
    one = migrator(store, move)
    one.apply()
    store.patch(NewAgent, NewAgent.title.set("newer"), partition_key=ACME, agent_uuid="3")
    assert one.repeat(1)["agents/all"] == 2
    assert store.get(NewAgent, partition_key=ACME, agent_uuid="3").title == "newer"
