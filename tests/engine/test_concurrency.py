"""Several threads and several processes on one file, and clocks that jump."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateleg.engine import Engine, EngineError, check_integrity
from tests.engine.neighbour import Neighbour, neighbour
from tests.engine.operations.requests import attributes, index, table
from tests.engine.world import START, World, stream, text

THREADS = 4
TIMES = 50


@pytest.fixture(params=["file", "memory"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    path = str(tmp_path / "data.db") if request.param == "file" else ":memory:"
    with Engine(path, durability="relaxed", background=False) as engine:
        engine.call("CreateTable", table("a"))
        yield engine


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Neighbour]:
    with neighbour(str(tmp_path / "data.db")) as other:
        yield other


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Engine]:
    with Engine(str(tmp_path / "data.db"), durability="relaxed", background=False) as engine:
        yield engine


def in_threads(work: Callable[[int], None], count: int = THREADS) -> None:
    """Run something in several threads; the first error of one of them is the test's."""
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def get(engine: Engine, name: str) -> dict[str, Any]:
    item: dict[str, Any] = engine.call("GetItem", {"TableName": "Music", "Key": text(a=name)}).get("Item", {})
    return item


def raise_counter(engine: Engine, expected: int) -> bool:
    """Count from a number to the next; whether nobody else did."""
    try:
        engine.call(
            "UpdateItem",
            {
                "TableName": "Music",
                "Key": text(a="counter"),
                "UpdateExpression": "SET n = :next",
                "ConditionExpression": "n = :now",
                "ExpressionAttributeValues": {":now": {"N": str(expected)}, ":next": {"N": str(expected + 1)}},
            },
        )
    except EngineError as error:
        if error.code != "ConditionalCheckFailedException":
            raise
        return False
    return True


def test_no_count_of_several_threads_is_lost(engine: Engine) -> None:
    engine.call("PutItem", {"TableName": "Music", "Item": {**text(a="counter"), "n": {"N": "0"}}})

    def work(_: int) -> None:
        for _ in range(TIMES):
            while not raise_counter(engine, int(get(engine, "counter")["n"]["N"])):
                pass

    in_threads(work)
    assert get(engine, "counter")["n"] == {"N": str(THREADS * TIMES)}


def test_money_is_neither_made_nor_lost(engine: Engine) -> None:
    for name in ("x", "y"):
        engine.call("PutItem", {"TableName": "Music", "Item": {**text(a=name), "m": {"N": "100"}}})
    totals: set[int] = set()

    def move(number: int) -> None:
        for _ in range(TIMES):
            amounts = (("x", "-1"), ("y", "1")) if number % 2 else (("x", "1"), ("y", "-1"))
            actions = [
                {
                    "Update": {
                        "TableName": "Music",
                        "Key": text(a=name),
                        "UpdateExpression": "ADD m :m",
                        "ExpressionAttributeValues": {":m": {"N": m}},
                    }
                }
                for name, m in amounts
            ]
            engine.call("TransactWriteItems", {"TransactItems": actions})
            gets = [{"Get": {"TableName": "Music", "Key": text(a=name)}} for name in ("x", "y")]
            found = engine.call("TransactGetItems", {"TransactItems": gets})["Responses"]
            totals.add(sum(int(entry["Item"]["m"]["N"]) for entry in found))

    in_threads(move)
    assert totals == {200}


def test_threads_read_while_others_write_and_change_tables(engine: Engine) -> None:
    done = threading.Event()

    def work(number: int) -> None:
        if number:
            while not done.is_set():
                engine.call("Scan", {"TableName": "Music"})
                get(engine, "x")
            return
        try:
            for step in range(15):
                engine.call("CreateTable", table("a", name=f"Table{step}"))
                engine.call("PutItem", {"TableName": "Music", "Item": text(a=str(step))})
                engine.call("DeleteTable", {"TableName": f"Table{step}"})
        finally:
            done.set()

    in_threads(work)
    assert engine.call("ListTables", {})["TableNames"] == ["Music"]


def test_a_table_that_comes_and_goes_is_there_or_not_found(engine: Engine) -> None:
    done = threading.Event()
    codes: set[str] = set()

    def work(number: int) -> None:
        if number:
            while not done.is_set():
                try:
                    engine.call("PutItem" if number == 1 else "Scan", {"TableName": "Shy"} | ({"Item": text(a="x")} if number == 1 else {}))
                except EngineError as error:
                    codes.add(error.code)
            return
        try:
            for _ in range(40):
                engine.call("CreateTable", table("a", name="Shy"))
                engine.call("DeleteTable", {"TableName": "Shy"})
        finally:
            done.set()

    in_threads(work, 3)
    assert codes <= {"ResourceNotFoundException"}


def test_an_engine_may_be_closed_while_others_use_it(tmp_path: Path) -> None:
    path = str(tmp_path / "data.db")
    engine = Engine(path, background=False)
    engine.call("CreateTable", table("a"))
    acknowledged: list[str] = []
    started = threading.Barrier(THREADS + 1)

    def work(number: int) -> None:
        position = 0
        started.wait()
        while True:
            name = f"{number}-{position}"
            try:
                if number:
                    engine.call("PutItem", {"TableName": "Music", "Item": text(a=name)})
                    acknowledged.append(name)
                else:
                    engine.call("Scan", {"TableName": "Music"})
            except EngineError as error:
                if error.message != "The engine is closed: open it again to use it":
                    raise
                return
            position += 1

    def close() -> None:
        started.wait()
        while len(acknowledged) < 20:
            get(engine, "0")
        engine.close()

    in_threads(lambda number: close() if number == THREADS else work(number), THREADS + 1)
    with Engine(path, background=False) as again:
        found = {item["a"]["S"] for item in again.call("Scan", {"TableName": "Music"})["Items"]}
    assert found >= set(acknowledged)
    assert check_integrity(path) == []


def test_no_count_of_several_processes_is_lost(ours: Engine, other: Neighbour) -> None:
    ours.call("CreateTable", table("a"))
    add = {
        "TableName": "Music",
        "Key": text(a="counter"),
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    other.ask("UpdateItem", add, times=200)
    for _ in range(200):
        ours.call("UpdateItem", add)
    other.answer()
    assert get(ours, "counter")["n"] == {"N": "400"}


def test_a_table_that_another_process_made_is_there_at_once(ours: Engine, other: Neighbour) -> None:
    assert ours.call("ListTables", {})["TableNames"] == []
    other.call("CreateTable", table("a"))
    ours.call("PutItem", {"TableName": "Music", "Item": text(a="x")})
    assert other.call("GetItem", {"TableName": "Music", "Key": text(a="x")}) == {"Item": text(a="x")}


def test_a_table_that_another_process_deleted_is_gone_at_once(ours: Engine, other: Neighbour) -> None:
    ours.call("CreateTable", table("a"))
    ours.call("PutItem", {"TableName": "Music", "Item": text(a="x")})
    other.call("DeleteTable", {"TableName": "Music"})
    for operation, request in (
        ("GetItem", {"Key": text(a="x")}),
        ("PutItem", {"Item": text(a="x")}),
        ("Scan", {}),
        ("DescribeTable", {}),
    ):
        with pytest.raises(EngineError, match="ResourceNotFoundException"):
            ours.call(operation, {"TableName": "Music", **request})


def test_a_table_that_another_process_made_anew_is_the_new_one(ours: Engine, other: Neighbour) -> None:
    ours.call("CreateTable", table("a"))
    ours.call("PutItem", {"TableName": "Music", "Item": text(a="x")})
    other.call("DeleteTable", {"TableName": "Music"})
    other.call("CreateTable", table("b"))
    ours.call("PutItem", {"TableName": "Music", "Item": text(b="y")})
    assert other.call("Scan", {"TableName": "Music"})["Items"] == [text(b="y")]
    assert ours.call("Scan", {"TableName": "Music"})["Items"] == [text(b="y")]


def add_index() -> dict[str, Any]:
    update = index("ByGenre", "g")
    return {"TableName": "Music", "AttributeDefinitions": attributes(("a", "g")), "GlobalSecondaryIndexUpdates": [{"Create": update}]}


def by_genre(genre: str) -> dict[str, Any]:
    return {
        "TableName": "Music",
        "IndexName": "ByGenre",
        "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": {"S": genre}},
    }


def test_an_index_that_another_process_added_is_kept_at_once(ours: Engine, other: Neighbour) -> None:
    ours.call("CreateTable", table("a"))
    ours.call("PutItem", {"TableName": "Music", "Item": text(a="x", g="jazz")})
    other.call("UpdateTable", add_index())
    ours.call("PutItem", {"TableName": "Music", "Item": text(a="y", g="jazz")})
    assert ours.call("Query", by_genre("jazz"))["Count"] == 2
    assert other.call("Query", by_genre("jazz"))["Count"] == 2


def test_an_index_that_is_added_while_others_write_is_complete(ours: Engine, other: Neighbour) -> None:
    ours.call("CreateTable", table("a"))
    other.ask("PutItem", {"TableName": "Music", "Item": text(a="theirs", g="jazz")}, times=300)
    for number in range(100):
        ours.call("PutItem", {"TableName": "Music", "Item": text(a=str(number), g="jazz")})
        if number == 50:
            ours.call("UpdateTable", add_index())
    other.answer()
    assert ours.call("Query", by_genre("jazz"))["Count"] == 101
    assert check_integrity(ours.path) == []


def test_an_index_that_another_process_removed_is_not_written(ours: Engine, other: Neighbour) -> None:
    ours.call("CreateTable", table("a", defined=("a", "g"), GlobalSecondaryIndexes=[index("ByGenre", "g")]))
    ours.call("PutItem", {"TableName": "Music", "Item": text(a="x", g="jazz")})
    other.call("UpdateTable", {"TableName": "Music", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "ByGenre"}}]})
    ours.call("PutItem", {"TableName": "Music", "Item": text(a="y", g="jazz")})
    with pytest.raises(EngineError, match="ByGenre"):
        ours.call("Query", by_genre("jazz"))
    assert check_integrity(ours.path) == []


def test_a_stream_that_another_process_enabled_gets_our_writes(ours: Engine, other: Neighbour) -> None:
    ours.call("CreateTable", table("a"))
    ours.call("PutItem", {"TableName": "Music", "Item": text(a="x")})
    other.call("UpdateTable", {"TableName": "Music", **stream()})
    ours.call("PutItem", {"TableName": "Music", "Item": text(a="y")})
    assert ours.database.rows("SELECT count(*) FROM changes") == [(1,)]
    assert check_integrity(ours.path) == []


def test_processes_may_open_a_new_file_at_the_same_time(tmp_path: Path) -> None:
    path = str(tmp_path / "data.db")

    def work(_: int) -> None:
        with neighbour(path) as one:
            assert one.call("ListTables", {})["TableNames"] == []

    in_threads(work, 3)
    assert check_integrity(path) == []


@pytest.mark.parametrize("jump", [-86400.0 * 400, -1.0, 86400.0 * 400], ids=["a year back", "a second back", "a year ahead"])
def test_a_clock_that_jumps_does_no_harm(jump: float, tmp_path: Path) -> None:
    world = World(tmp_path / "data.db")
    world.create("a", **stream())
    world.put(text(a="x", b="1"))
    world.now += jump
    world.put(text(a="x", b="2"))
    world.call("TransactWriteItems", TransactItems=[{"Put": {"TableName": "Music", "Item": text(a="y")}}], ClientRequestToken="t")
    world.now = START + 10
    world.put(text(a="x", b="3"))
    world.engine.maintain()
    assert sorted(item["a"]["S"] for item in world.items()) == ["x", "y"]
    times = [at for (at,) in world.engine.database.rows("SELECT at FROM changes ORDER BY seq")]
    assert times == sorted(times)
    assert check_integrity(world.engine.path) == []
    world.engine.close()


def test_groups_and_readers_share_memory_without_meeting() -> None:
    with Engine(":memory:", background=False) as engine:
        engine.call("CreateTable", table("a"))
        done = threading.Event()

        def work(number: int) -> None:
            if number:
                while not done.is_set():
                    engine.call("Scan", {"TableName": table("a")["TableName"]})
                return
            try:
                for _ in range(300):
                    group = engine.try_begin_group()
                    assert group is not None
                    group.commit()
            finally:
                done.set()

        in_threads(work)
