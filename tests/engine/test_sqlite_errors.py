import apsw
import pytest

from gateleg.engine import EngineError
from gateleg.engine.operations import query
from tests.engine.world import World


@pytest.mark.parametrize("kind", [apsw.SQLError, apsw.SchemaChangeError])
def test_a_table_that_goes_while_it_is_read_is_not_found(world: World, monkeypatch: pytest.MonkeyPatch, kind: type[apsw.Error]) -> None:
    world.create("artist")

    def gone(*_: object) -> None:
        raise kind("no such table: items_1")

    monkeypatch.setattr(query, "read_page", gone)
    with pytest.raises(EngineError) as caught:
        world.call("Scan", TableName="Music")
    assert caught.value.code == "ResourceNotFoundException"


def test_what_else_sqlite_refuses_is_not_hidden(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.create("artist")

    def wrong(*_: object) -> None:
        raise apsw.SQLError("near NOWHERE: syntax error")

    monkeypatch.setattr(query, "read_page", wrong)
    with pytest.raises(apsw.SQLError):
        world.call("Scan", TableName="Music")


@pytest.mark.parametrize("kind", [apsw.ConnectionClosedError, apsw.CursorClosedError, apsw.ThreadingViolationError])
def test_a_read_that_is_cut_off_by_closing_says_that_the_engine_is_closed(
    world: World, monkeypatch: pytest.MonkeyPatch, kind: type[apsw.Error]
) -> None:
    world.create("artist")

    def closed(*_: object) -> None:
        raise kind("closed meanwhile")

    monkeypatch.setattr(query, "read_page", closed)
    with pytest.raises(EngineError, match="The engine is closed"):
        world.call("Scan", TableName="Music")
