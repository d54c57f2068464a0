import apsw
import pytest

from gateleg.engine import EngineError
from gateleg.engine.operations import paging
from tests.engine.world import World


@pytest.mark.parametrize("kind", [apsw.SQLError, apsw.SchemaChangeError])
def test_a_table_that_goes_while_it_is_read_is_not_found(world: World, monkeypatch: pytest.MonkeyPatch, kind: type[apsw.Error]) -> None:
    world.create("artist")

    def gone(*_: object) -> None:
        raise kind("no such table: items_1")

    monkeypatch.setattr(paging, "read_page", gone)
    with pytest.raises(EngineError) as caught:
        world.call("Scan", TableName="Music")
    assert caught.value.code == "ResourceNotFoundException"


def test_what_else_sqlite_refuses_is_not_hidden(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.create("artist")

    def wrong(*_: object) -> None:
        raise apsw.SQLError("near NOWHERE: syntax error")

    monkeypatch.setattr(paging, "read_page", wrong)
    with pytest.raises(apsw.SQLError):
        world.call("Scan", TableName="Music")
