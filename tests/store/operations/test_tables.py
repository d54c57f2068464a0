from gateleg.model import GSI, Index, Table
from gateleg.store import AsyncStore, Store
from gateleg.store.operations import health
from gateleg.store.transports import Unreachable
from tests.store.doubles import play, quiet_setup, refusal
from tests.store.notes import shelf, titles


def test_a_store_with_its_tables_is_healthy(store: Store) -> None:
    store.create_tables(shelf, titles)
    found = store.health(shelf, titles)
    assert found.ok
    assert found.seconds >= 0


def test_a_missing_table_is_named(memory: Store) -> None:
    assert memory.health(Table("Gone", hash="id")).problems == ("The table Gone is missing.",)


def test_a_missing_index_and_another_key_are_named(memory: Store) -> None:
    def declared(*indexes: Index, hash: str = "id") -> Table:
        return Table("Things", hash=hash, indexes=indexes)

    memory.create_tables(declared(GSI("by-kind", hash="kind")))
    assert memory.health(declared(GSI("by-kind", hash="kind"))).ok
    assert memory.health(declared(GSI("by-name", hash="name"))).problems == ("The index by-name of the table Things is missing.",)
    assert memory.health(declared(GSI("by-kind", hash="name"), hash="name")).problems == (
        "The table Things has the key (id S), but (name S) is declared.",
        "The index by-kind of the table Things has another key than declared.",
    )


def test_an_index_that_is_being_made_cannot_be_used_yet() -> None:
    made = {"TableStatus": "UPDATING", **shelf.definition()}
    indexes = [index | {"IndexStatus": "CREATING"} for index in made["GlobalSecondaryIndexes"]]
    played = play(health(shelf).flow(quiet_setup()), [{"Table": made | {"GlobalSecondaryIndexes": indexes}}])
    assert played.result.problems == tuple(f"The index {one['IndexName']} of the table Notes is creating." for one in indexes)
    assert played.result.problems


async def test_an_empty_store_that_answers_is_healthy(async_store: AsyncStore) -> None:
    assert (await async_store.health()).ok


def test_a_table_that_is_being_made_cannot_be_used_yet() -> None:
    played = play(health(shelf).flow(quiet_setup()), [{"Table": {"TableStatus": "CREATING"}}])
    assert played.result.problems == ("The table Notes is creating.",)


def test_no_answer_is_a_problem_and_does_not_raise() -> None:
    played = play(health().flow(quiet_setup()), [Unreachable("connection refused")])
    assert "connection refused" in played.result.problems[0]
    played = play(health().flow(quiet_setup()), [refusal("UnrecognizedClientException")])
    assert "access-denied" in played.result.problems[0]
