import pytest

from gateleg.engine.engine import Engine
from tests.engine.operations.requests import refusal, table


@pytest.fixture
def music(engine: Engine) -> Engine:
    engine.call("CreateTable", table("a"))
    return engine


def specification(enabled: bool, attribute: str = "expiry") -> dict[str, object]:
    return {"TableName": "Music", "TimeToLiveSpecification": {"Enabled": enabled, "AttributeName": attribute}}


def state(engine: Engine) -> object:
    return engine.call("DescribeTimeToLive", {"TableName": "Music"})["TimeToLiveDescription"]


def test_items_do_not_expire_at_first(music: Engine) -> None:
    assert state(music) == {"TimeToLiveStatus": "DISABLED"}


def test_expiry_is_switched_on_and_off(music: Engine) -> None:
    answer = music.call("UpdateTimeToLive", specification(True))
    assert answer == {"TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expiry"}}
    assert state(music) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expiry"}
    music.call("UpdateTimeToLive", specification(False))
    assert state(music) == {"TimeToLiveStatus": "DISABLED"}


def test_what_is_on_is_not_switched_on(music: Engine) -> None:
    music.call("UpdateTimeToLive", specification(True))
    assert refusal(music, "UpdateTimeToLive", specification(True)).message == "TimeToLive is already enabled"


def test_what_is_off_is_not_switched_off(music: Engine) -> None:
    assert refusal(music, "UpdateTimeToLive", specification(False)).message == "TimeToLive is already disabled"


@pytest.mark.parametrize("enabled", [True, False])
def test_the_attribute_must_be_the_one_in_use(music: Engine, enabled: bool) -> None:
    music.call("UpdateTimeToLive", specification(True))
    expected = "TimeToLive is active on a different AttributeName: current AttributeName is expiry"
    assert refusal(music, "UpdateTimeToLive", specification(enabled, "other")).message == expected


def test_a_table_that_is_not_there(engine: Engine) -> None:
    error = refusal(engine, "UpdateTimeToLive", specification(True))
    assert (error.code, error.message) == ("ResourceNotFoundException", "Requested resource not found: Table: Music not found")
