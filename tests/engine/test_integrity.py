"""A check finds what contradicts itself in a file, in rows, indexes and the change log."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateleg.engine import Engine, EngineError, Namespace, check_integrity, compact
from tests.engine.operations.requests import index, table
from tests.engine.world import World, stream, text


@pytest.fixture
def music(tmp_path: Path) -> Iterator[World]:
    """Two songs in a table with a global index of everything, a local one of some attributes, and a stream."""
    world = World(tmp_path / "data.db")
    local = {**index("ByYear", "a", "y"), "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["note"]}}
    world.create(
        "a", "b", defined=("a", "b", "g", "y"), GlobalSecondaryIndexes=[index("ByGenre", "g")], LocalSecondaryIndexes=[local], **stream()
    )
    for title in ("x", "z"):
        world.put(text(a="Nina", b=title, g="jazz", y="1965", note="live"))
    yield world
    world.engine.close()


def names(world: World) -> tuple[str, str, str]:
    """The SQLite tables of the items and of the two indexes."""
    (layout,) = world.engine.catalog.cached_layouts()
    return layout.name, layout.index_by_name["ByGenre"].name, layout.index_by_name["ByYear"].name


def damage(world: World, sql: str, *bindings: Any) -> list[str]:
    """What the check finds after something was done behind the engine's back."""
    items, genres, years = names(world)
    world.engine.database.connection.execute(sql.format(items=items, genres=genres, years=years), bindings)
    return check_integrity(world.engine.path)


NINA_X = '{"a":{"S":"Nina"},"b":{"S":"x"}}'


def test_a_file_that_was_only_used_is_whole(music: World) -> None:
    music.delete(text(a="Nina", b="z"))
    music.put(text(a="Nina", b="x", g="soul"))
    assert check_integrity(music.engine.path) == []


def test_a_size_that_is_not_the_items_is_found(music: World) -> None:
    assert damage(music, "UPDATE {items} SET size = size + 7 WHERE CAST(v AS TEXT) LIKE '%\"x\"%'") == [
        f"Music: {NINA_X} has 25 bytes but is recorded with 32"
    ]


def test_a_row_under_another_key_is_found(music: World) -> None:
    faults = damage(music, "UPDATE {items} SET k = X'00' WHERE CAST(v AS TEXT) LIKE '%\"x\"%'")
    assert f"Music: the row of {NINA_X} is stored under another key" in faults


def test_a_row_that_cannot_be_read_is_found(music: World) -> None:
    faults = damage(music, "UPDATE {items} SET v = X'7B' WHERE CAST(v AS TEXT) LIKE '%\"x\"%'")
    assert any(fault.startswith("Music: the row ") and fault.endswith(" cannot be read") for fault in faults)


@pytest.mark.parametrize(("table_", "name"), [("genres", "ByGenre"), ("years", "ByYear")])
def test_a_missing_entry_of_an_index_is_found(music: World, table_: str, name: str) -> None:
    faults = damage(music, f"DELETE FROM {{{table_}}} WHERE b = (SELECT k FROM {{items}} WHERE CAST(v AS TEXT) LIKE '%\"x\"%')")
    assert faults == [f"Music.{name}: {NINA_X} is missing"]


@pytest.mark.parametrize(("table_", "name"), [("genres", "ByGenre"), ("years", "ByYear")])
def test_an_entry_without_an_item_is_found(music: World, table_: str, name: str) -> None:
    assert damage(music, f"INSERT INTO {{{table_}}} VALUES (X'01', X'02', 3, X'7B7D')") == [f"Music.{name}: 1 entries have no item"]


def test_an_entry_that_took_the_place_of_another_is_found(music: World) -> None:
    faults = damage(music, "UPDATE {genres} SET b = X'02' WHERE b = (SELECT k FROM {items} WHERE CAST(v AS TEXT) LIKE '%\"x\"%')")
    assert faults == [f"Music.ByGenre: {NINA_X} is missing", "Music.ByGenre: 1 entries have no item"]


def test_an_entry_that_is_out_of_date_is_found(music: World) -> None:
    faults = damage(music, "UPDATE {years} SET v = replace(v, 'live', 'dead') WHERE CAST(v AS TEXT) LIKE '%\"x\"%'")
    assert faults == [f"Music.ByYear: {NINA_X} is out of date"]


def test_the_size_of_an_entry_is_looked_at(music: World) -> None:
    (fault,) = damage(music, "UPDATE {years} SET size = 1 WHERE CAST(v AS TEXT) LIKE '%\"x\"%'")
    assert fault.startswith(f"Music.ByYear: {NINA_X} has ")
    assert fault.endswith("bytes but is recorded with 1")


def test_an_edited_log_is_found(music: World) -> None:
    faults = damage(music, "UPDATE changes SET new = replace(new, 'live', 'dead') WHERE seq = 1")
    assert faults == ["Music: the change log does not end with the current row"]


def test_a_row_written_behind_the_logs_back_is_found(music: World) -> None:
    faults = damage(music, "DELETE FROM {items} WHERE CAST(v AS TEXT) LIKE '%\"z\"%'")
    assert "Music: the change log does not end with the current row" in faults


def test_a_damaged_page_is_found(music: World) -> None:
    path = Path(music.engine.path)
    (page,) = music.engine.database.row("SELECT rootpage FROM sqlite_schema WHERE name = ?", (names(music)[0],)) or (0,)
    music.engine.close()
    content = bytearray(path.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = b"\x55" * 4096
    path.write_bytes(content)
    assert any(fault.startswith("SQLite: ") for fault in check_integrity(str(path)))


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    for look in (check_integrity, compact):
        with pytest.raises(EngineError, match="does not exist"):
            look(str(tmp_path / "nothing.db"))
    assert list(tmp_path.iterdir()) == []


def test_a_file_can_be_checked_while_it_is_written(music: World) -> None:
    group = music.engine.begin_group()
    music.put(text(a="Nina", b="y", g="jazz"))
    assert check_integrity(music.engine.path) == []
    group.commit()
    assert check_integrity(music.engine.path) == []


def test_compacting_shrinks_a_file_and_keeps_what_is_in_it(music: World) -> None:
    for number in range(300):
        music.put(text(a="many", b=str(number), g="jazz", note="long " * 400))
    for number in range(300):
        music.delete(text(a="many", b=str(number)))
    kept = music.items()
    records = music.engine.database.rows("SELECT * FROM changes")
    music.call("UpdateTable", TableName="Music", StreamSpecification={"StreamEnabled": False})
    music.engine.database.connection.execute("DELETE FROM changes WHERE seq > 2")
    music.engine.close()
    before, after = compact(music.engine.path)
    assert after < before / 4
    assert after == Path(music.engine.path).stat().st_size
    with Engine(music.engine.path, background=False) as again:
        assert again.call("Scan", {"TableName": "Music"})["Items"] == kept
        assert again.database.rows("SELECT * FROM changes") == records[:2]
    assert check_integrity(music.engine.path) == []


def test_compacting_a_file_that_is_open_is_refused(music: World) -> None:
    with pytest.raises(EngineError, match="is in use: stop the processes that have it open"):
        compact(music.engine.path)
    music.put(text(a="x", b="1"))


_titles = st.sampled_from(["x", "y", "z"])
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), _titles, st.sampled_from(["jazz", "soul", None]), st.sampled_from(["1965", "1966", None])),
        st.tuples(st.just("delete"), _titles, st.none(), st.none()),
        st.tuples(st.just("stream"), st.none(), st.none(), st.none()),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=_steps)
def test_whatever_was_done_the_file_is_whole(steps: list[tuple[str, Any, Any, Any]], tmp_path_factory: pytest.TempPathFactory) -> None:
    world = World(tmp_path_factory.mktemp("whole") / "data.db")
    local = {**index("ByYear", "a", "y"), "Projection": {"ProjectionType": "KEYS_ONLY"}}
    world.create("a", "b", defined=("a", "b", "g", "y"), GlobalSecondaryIndexes=[index("ByGenre", "g")], LocalSecondaryIndexes=[local])
    enabled = False
    for kind, title, genre, year in steps:
        if kind == "put":
            world.put(text(a="Nina", b=title) | (text(g=genre) if genre else {}) | (text(y=year) if year else {}))
        elif kind == "delete":
            world.delete(text(a="Nina", b=title))
        else:
            enabled = not enabled
            world.now += 1
            request = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"} if enabled else {"StreamEnabled": False}
            world.call("UpdateTable", TableName="Music", StreamSpecification=request)
    assert check_integrity(world.engine.path) == []
    world.engine.close()


def test_the_check_looks_at_tables_of_all_realms(tmp_path: Path) -> None:
    with Engine(str(tmp_path / "data.db"), background=False) as engine:
        engine.call("CreateTable", table("a"), Namespace("999999999999", "eu-west-1"))
        engine.call("PutItem", {"TableName": "Music", "Item": text(a="x")}, Namespace("999999999999", "eu-west-1"))
        (layout,) = engine.catalog.cached_layouts()
        with apsw.Connection(engine.path) as other:
            other.execute(f"UPDATE {layout.name} SET size = 0")
        other.close()
        assert check_integrity(engine.path) == ['Music: {"a":{"S":"x"}} has 2 bytes but is recorded with 0']


@pytest.fixture
def streamed(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "data.db")
    world.create("a", **stream())
    world.put(text(a="x", b="1"))
    yield world
    world.engine.close()


def switch(world: World, on: bool) -> None:
    world.now += 1
    world.call(
        "UpdateTable", TableName="Music", StreamSpecification={"StreamEnabled": on} | ({"StreamViewType": "KEYS_ONLY"} if on else {})
    )


def test_a_log_with_a_pause_is_whole(streamed: World) -> None:
    switch(streamed, False)
    streamed.put(text(a="x", b="2"))
    switch(streamed, True)
    streamed.put(text(a="x", b="3"))
    assert check_integrity(streamed.engine.path) == []


def test_a_change_that_was_not_logged_is_found(streamed: World) -> None:
    streamed.recoverable()
    streamed.put(text(a="x", b="2"))
    streamed.put(text(a="x", b="3"))
    streamed.engine.database.connection.execute("DELETE FROM changes WHERE seq = 2")
    assert check_integrity(streamed.engine.path) == ["Music: change 3 does not follow from the one before it"]


def test_an_item_that_no_index_takes_is_not_missed(streamed: World) -> None:
    streamed.put(text(a="y", b=""))
    streamed.call(
        "UpdateTable",
        TableName="Music",
        AttributeDefinitions=[{"AttributeName": "a", "AttributeType": "S"}, {"AttributeName": "b", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[{"Create": index("by-b", "b")}],
    )
    assert check_integrity(streamed.engine.path) == []


def test_a_restored_table_is_whole(streamed: World) -> None:
    streamed.recoverable()
    at = streamed.now
    streamed.now += 1
    streamed.put(text(a="x", b="2"))
    streamed.call("RestoreTableToPointInTime", SourceTableName="Music", TargetTableName="Restored", RestoreDateTime=at)
    streamed.expire_by("t")
    streamed.call("DeleteTable", TableName="Music")
    assert check_integrity(streamed.engine.path) == []
