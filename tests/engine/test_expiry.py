from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.engine import expiry, long_work
from gateleg.engine.integrity import check_integrity
from gateleg.engine.maintenance import EXPIRED_CHUNK_ITEMS
from tests.engine.operations.requests import index
from tests.engine.operations.test_streams import arn, records
from tests.engine.world import START, World, stream, text

YEAR = 365.25 * 86400


@pytest.fixture
def music(world: World) -> World:
    world.create("a")
    world.expire_by("t")
    return world


def put(world: World, key: str, expires: float | str) -> None:
    world.put({"a": {"S": key}, "t": {"N": str(expires)}})


def keys(world: World) -> str:
    return "".join(item["a"]["S"] for item in world.items())


def test_an_expired_item_is_visible_until_it_is_swept(music: World) -> None:
    put(music, "x", START - 1)
    assert keys(music) == "x"
    music.engine.maintain()
    assert keys(music) == ""


def test_an_item_goes_when_its_time_is_past(music: World) -> None:
    put(music, "x", START + 10)
    music.now += 10
    music.engine.maintain()
    assert keys(music) == "x"
    music.now += 1
    music.engine.maintain()
    assert keys(music) == ""


@pytest.mark.parametrize("value", [{"S": "1"}, {"NULL": True}, {"M": {"N": {"N": "1"}}}, {"L": [{"N": "1"}]}, {"NS": ["1"]}])
def test_an_attribute_that_is_no_number_does_not_expire(music: World, value: dict[str, object]) -> None:
    music.put({"a": {"S": "x"}, "t": value})
    music.put(text(a="y"))
    music.engine.maintain()
    assert keys(music) == "xy"


def test_an_item_of_long_ago_stays(music: World) -> None:
    put(music, "x", int(START - 5 * YEAR) - 1)
    put(music, "y", int(START - 5 * YEAR) + 1)
    music.engine.maintain()
    assert keys(music) == "x"


@pytest.mark.parametrize("expires", ["1699999999.5", "16999999.99e2", "1.699999999E9"])
def test_all_ways_to_write_a_number_expire(music: World, expires: str) -> None:
    put(music, "x", expires)
    music.engine.maintain()
    assert keys(music) == ""


def test_an_item_whose_time_was_put_off_stays(music: World) -> None:
    put(music, "x", START - 1)
    put(music, "x", START + 100)
    music.engine.maintain()
    assert keys(music) == "x"


def test_items_from_before_expiry_was_switched_on_expire(world: World) -> None:
    world.create("a")
    put(world, "x", START - 1)
    world.engine.maintain()
    assert keys(world) == "x"
    world.expire_by("t")
    world.engine.maintain()
    assert keys(world) == ""


def test_nothing_expires_once_it_is_switched_off(music: World) -> None:
    put(music, "x", START - 1)
    music.expire_by(None)
    music.engine.maintain()
    assert keys(music) == "x"


def test_another_attribute_can_be_named_afterwards(music: World) -> None:
    put(music, "x", START - 1)
    music.expire_by(None)
    music.expire_by("u")
    music.engine.maintain()
    assert keys(music) == "x"


def test_more_items_than_one_chunk_expire_in_one_round(music: World) -> None:
    for number in range(EXPIRED_CHUNK_ITEMS + 1):
        put(music, f"{number:04d}", START - 1)
    music.engine.maintain()
    assert keys(music) == ""


def test_an_expired_item_leaves_its_indexes(world: World) -> None:
    world.create("a", defined=["a", "b"], GlobalSecondaryIndexes=[index("by-b", "b")])
    world.expire_by("t")
    world.put({**text(a="x", b="1"), "t": {"N": str(START - 1)}})
    world.engine.maintain()
    assert world.items(IndexName="by-b") == []


def test_the_service_is_named_in_the_record_of_an_expiry(world: World) -> None:
    world.create("a", **stream())
    world.expire_by("t")
    put(world, "x", START - 1)
    put(world, "y", START - 1)
    world.delete(text(a="y"))
    world.engine.maintain()
    by = {r["dynamodb"]["Keys"]["a"]["S"]: r.get("userIdentity") for r in records(world, arn(world)) if r["eventName"] == "REMOVE"}
    assert by == {"x": {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}, "y": None}


def test_expiry_by_the_key_works(world: World) -> None:
    world.create("t:N")
    world.expire_by("t")
    world.put({"t": {"N": str(int(START - 1))}})
    world.put({"t": {"N": str(int(START + 1))}})
    world.engine.maintain()
    assert world.items() == [{"t": {"N": str(int(START + 1))}}]


def test_looking_for_expired_items_reads_no_others(music: World) -> None:
    put(music, "x", START - 1)
    put(music, "y", START + 1)
    layout = music.engine.catalog.cached_layouts()[0]
    with music.engine.database.reading() as connection:
        assert len(expiry.due(connection, layout, START, 10)) == 1
    name = f"expiry_index_{layout.table.id}"
    plan = music.engine.database.rows(f"EXPLAIN QUERY PLAN SELECT b FROM {name} WHERE k < 5 AND k >= 1 ORDER BY k LIMIT 1")
    assert [row[3] for row in plan] == [f"SEARCH {name} USING PRIMARY KEY (k>? AND k<?)"]


def faults(world: World) -> tuple[int, int]:
    with world.engine.database.reading() as connection:
        return expiry.faults(connection, world.engine.catalog.cached_layouts()[0].table)


def pending(world: World) -> bool:
    with world.engine.database.reading() as connection:
        return expiry.pending(connection, world.engine.catalog.cached_layouts()[0].table)


def step(world: World, most: int) -> None:
    with world.engine.database.write() as connection:
        expiry.fill(connection, world.engine.catalog.cached_layouts()[0].table, most)


CHANGES = st.tuples(st.integers(0, 11), st.one_of(st.none(), st.just("never"), st.integers(int(START) - 3, int(START) + 3)))


@settings(deadline=None, max_examples=60)
@given(st.lists(CHANGES, max_size=12), st.lists(st.one_of(CHANGES, st.integers(1, 4)), max_size=25))
def test_the_index_is_right_however_writes_and_steps_interleave(before: list[Any], after: list[Any]) -> None:
    world = World()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_work, "SMALL_TABLE_ROWS", 2)
        world.create("a")
        for change in before:
            write(world, *change)
        world.expire_by("t")
        for one in after:
            step(world, one) if isinstance(one, int) else write(world, *one)
        world.engine.maintain()
    kept = {item["a"]["S"] for item in world.items() if float(item.get("t", {}).get("N", START)) < START}
    assert (kept, faults(world), pending(world)) == (set(), (0, 0), False)
    world.engine.close()


def write(world: World, number: int, expires: int | str | None) -> None:
    key = {"a": {"S": f"k{number}"}}
    if expires is None:
        world.delete(key)
    else:
        world.put(key | ({} if expires == "never" else {"t": {"N": str(expires)}}))


@pytest.fixture
def large(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A table that is too large to be taken in at once, and too large for its index to be dropped at once."""
    monkeypatch.setattr(long_work, "SMALL_TABLE_ROWS", 2)
    world.create("a")
    for number in range(9):
        put(world, f"{number}", START + 1)
    world.expire_by("t")
    return world


def test_switching_it_on_leaves_most_of_a_large_table_for_later(large: World) -> None:
    assert pending(large)
    large.engine.maintain()
    assert not pending(large)
    assert faults(large) == (0, 0)


def test_it_can_be_switched_off_and_on_before_what_was_there_is_removed(large: World) -> None:
    for attribute in (None, "t", None, "t"):
        large.engine.maintain() if attribute is None else None
        large.expire_by(attribute)
    large.now += 2
    large.engine.maintain()
    assert keys(large) == ""
    assert large.engine.database.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'dropped%'") == []


def test_what_an_earlier_version_made_is_replaced(music: World) -> None:
    put(music, "x", START - 1)
    table = music.engine.catalog.cached_layouts()[0].table
    with music.engine.database.write() as connection:
        expiry.remove(connection, table)
        connection.execute(f"CREATE INDEX expiry_{table.id} ON items_{table.id}(size)")
    music.engine.maintain()
    assert keys(music) == ""
    assert music.engine.database.rows("SELECT 1 FROM sqlite_schema WHERE name = ?", (f"expiry_{table.id}",)) == []


@pytest.mark.parametrize("recoverable", [False, True])
def test_nothing_of_it_is_left_of_a_deleted_table(music: World, recoverable: bool) -> None:
    music.recoverable(recoverable) if recoverable else None
    put(music, "x", START + 1)
    music.call("DeleteTable", TableName="Music")
    music.engine.maintain()
    assert music.engine.database.rows("SELECT name FROM sqlite_schema WHERE name LIKE '%expiry%'") == []


def test_a_check_finds_items_that_would_not_expire(tmp_path: Path) -> None:
    world = World(tmp_path / "data.db")
    world.create("a")
    world.expire_by("t")
    put(world, "x", START - 1)
    world.engine.database.connection.execute("UPDATE expiry_index_1 SET k = k + 1")
    world.engine.close()
    found = check_integrity(str(tmp_path / "data.db"))
    assert [fault.split(":")[0] for fault in found] == ["Music", "Music"]
    assert "1 items would not expire" in found[0]


@settings(deadline=None, max_examples=50)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(lambda name: name != "a"))
def test_any_attribute_can_hold_the_time(name: str) -> None:
    world = World()
    world.create("a")
    world.expire_by(name)
    world.put({"a": {"S": "x"}, name: {"N": str(int(START - 1))}})
    world.put({"a": {"S": "y"}, name: {"N": str(int(START + 1))}})
    world.engine.maintain()
    left = world.items()
    world.engine.close()
    assert left == [{"a": {"S": "y"}, name: {"N": str(int(START + 1))}}]
