import pytest

from gateleg.engine.engine import Engine
from tests.engine.operations.requests import refusal, table

POLICY = '{"Version": "2012-10-17", "Statement": []}'
OTHER = '{"Version": "2012-10-17", "Statement": [], "Id": "other"}'


@pytest.fixture
def arn(engine: Engine) -> str:
    arn: str = engine.call("CreateTable", table("a"))["TableDescription"]["TableArn"]
    return arn


def test_a_policy_is_stored_replaced_and_deleted(engine: Engine, arn: str) -> None:
    first = engine.call("PutResourcePolicy", {"ResourceArn": arn, "Policy": POLICY})["RevisionId"]
    assert engine.call("GetResourcePolicy", {"ResourceArn": arn}) == {"Policy": POLICY, "RevisionId": first}
    second = engine.call("PutResourcePolicy", {"ResourceArn": arn, "Policy": OTHER})["RevisionId"]
    assert int(second) > int(first)
    assert engine.call("DeleteResourcePolicy", {"ResourceArn": arn}) == {"RevisionId": second}
    assert refusal(engine, "GetResourcePolicy", {"ResourceArn": arn}).code == "PolicyNotFoundException"
    assert engine.call("DeleteResourcePolicy", {"ResourceArn": arn}) == {}


def test_the_same_policy_keeps_its_revision(engine: Engine, arn: str) -> None:
    request = {"ResourceArn": arn, "Policy": POLICY}
    assert engine.call("PutResourcePolicy", request) == engine.call("PutResourcePolicy", request)


def test_a_writer_may_expect_a_revision(engine: Engine, arn: str) -> None:
    request = {"ResourceArn": arn, "Policy": POLICY, "ExpectedRevisionId": "NO_POLICY"}
    revision = engine.call("PutResourcePolicy", request)["RevisionId"]
    assert refusal(engine, "PutResourcePolicy", request).code == "PolicyNotFoundException"
    engine.call("PutResourcePolicy", {"ResourceArn": arn, "Policy": OTHER, "ExpectedRevisionId": revision})


def test_a_table_is_created_with_a_policy(engine: Engine) -> None:
    engine.call("CreateTable", table("a", ResourcePolicy=POLICY))
    assert engine.call("GetResourcePolicy", {"ResourceArn": engine.namespace.arn("table/Music")})["Policy"] == POLICY


@pytest.mark.parametrize("policy", ["", "x", "[]", "{}", "[" * 5000, '{"Statement": "' + "x" * 20 * 1024 + '"}'])
def test_a_policy_is_a_policy_document(engine: Engine, arn: str, policy: str) -> None:
    assert refusal(engine, "PutResourcePolicy", {"ResourceArn": arn, "Policy": policy}).code == "ValidationException"


def test_a_resource_that_is_not_there(engine: Engine, arn: str) -> None:
    for resource in (f"{arn}x", f"{arn}/index/gsi"):
        assert refusal(engine, "GetResourcePolicy", {"ResourceArn": resource}).code == "ResourceNotFoundException"
