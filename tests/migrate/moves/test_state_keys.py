"""What the state of a move is stored under: moves of two applications may have one name, and moves of earlier releases go on."""

from gateleg.migrate import KeyMove, Migration, Migrator, MoveOptions, Moving, Phase
from gateleg.migrate.moves.control import enter_phase
from gateleg.migrate.moves.tables import Checkpoint, Fence, MoveState
from gateleg.model import Attr, Entity, Key, Table
from gateleg.store import Store
from tests.migrate.moves.layouts import ACME, NewAgent, OldAgent, agents_move, clients, new_agents, opened, raw

old_spies, new_spies = Table("Spies", hash="id"), Table("SpiesByName", hash="name")


class OldSpy(Entity, table=old_spies):
    """An agent of another application."""

    id: Attr[str]
    name: Attr[str]
    key = Key("{id}")


class NewSpy(Entity, table=new_spies):
    """By name."""

    name: Attr[str]
    id: Attr[str]
    key = Key("{name}")


spies_move = KeyMove(
    agents_move.name,
    OldSpy,
    NewSpy,
    convert=lambda old: NewSpy(name=old.name, id=old.id),
    revert=lambda new: OldSpy(id=new.id, name=new.name),
)


def migrator(store: Store, application: str, move: KeyMove) -> Migrator:
    return Migrator(store, application, [Migration(1, "first", moves=(move,))], by="ann", options=MoveOptions(segments=1, force=True))


def phase(one: Migrator) -> str:
    return str(one.status()[0].stages[0]["phase"]) if one.status()[0].stages else "off"


def test_moves_of_two_applications_with_one_name_do_not_share_their_state() -> None:
    store = opened()
    store.ensure_tables(old_spies, new_spies)
    store.put(OldAgent(endpoint_id="acme-prod", agent_uuid="1"))
    store.put(OldSpy(id="7", name="james"))
    agency, service = migrator(store, "agency", agents_move), migrator(store, "service", spies_move)
    agency.apply(until=Phase.CLEAN_UP)
    assert (phase(agency), phase(service)) == ("clean-up", "off")
    # A client of the other application still writes old items alone.
    spies = store.moving(Moving([spies_move]))
    spies.put(OldSpy(id="8", name="jane"))
    assert raw(store, new_spies) == []
    service.apply()
    assert {item["name"]["S"] for item in raw(store, new_spies)} == {"james", "jane"}
    service.rollback(1)
    assert (phase(agency), raw(store, new_spies), len(raw(store, new_agents))) == ("clean-up", [], 1)


def begun_by_an_earlier_release(store: Store) -> None:
    """The state, fences and checkpoints of a move as they were stored under its name alone."""
    (stage,) = agents_move.stages
    store.put(MoveState(move=agents_move.name, stage=stage.name))
    for one in (Phase.DUAL_WRITE, Phase.BACKFILL):
        store.drive(enter_phase(agents_move, stage, one, store.setup))
    done = {"segment": 0, "segments": 1, "seen": 5, "written": 5, "done": True}
    store.put(Checkpoint.model_validate({"move": agents_move.name, "stage": stage.name, "task": "backfill", **done}))


def test_a_move_that_began_under_its_name_alone_goes_on_under_it() -> None:
    store = opened()
    begun_by_an_earlier_release(store)
    client = clients(store)
    client.put(OldAgent(endpoint_id="acme-prod", agent_uuid="1", name="written twice"))
    assert store.get(NewAgent, partition_key=ACME, agent_uuid="1").title == "written twice"
    one = migrator(store, "agency", agents_move)
    one.apply(until=Phase.CUT_OVER)
    stage = one.status()[0].stages[0]
    # The backfill was done before, and is not done again.
    assert (stage["phase"], stage["passes"]["backfill"]["seen"]) == ("cut-over", 5)
    assert {state.move for state in store.query(MoveState.every)} == {agents_move.name}
    assert store.find(Fence, move=agents_move.state_key, stage="all", number=0) is None
