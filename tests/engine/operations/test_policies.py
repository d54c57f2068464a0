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


@pytest.mark.parametrize("operation", ["GetResourcePolicy", "PutResourcePolicy", "DeleteResourcePolicy"])
@pytest.mark.parametrize(
    ("resource", "code", "message"),
    [
        ("table/Musicx", "ResourceNotFoundException", "Requested resource not found: Table: Musicx not found"),
        (
            "table/Music/stream/2000-01-01T00:00:00.000",
            "ResourceNotFoundException",
            "Requested resource not found: Stream: 2000-01-01T00:00:00.000 not found for Table: Music",
        ),
        (
            "table/Music/index/gsi",
            "ValidationException",
            "One or more parameter values were invalid: Invalid resource arn provided, only table or stream is accepted. "
            "Provided resource arn: arn:aws:dynamodb:us-east-1:123456789012:table/Music/index/gsi",
        ),
    ],
)
@pytest.mark.usefixtures("arn")
def test_a_resource_that_is_not_there(engine: Engine, operation: str, resource: str, code: str, message: str) -> None:
    policy = {"Policy": POLICY} if operation == "PutResourcePolicy" else {}
    error = refusal(engine, operation, {"ResourceArn": engine.namespace.arn(resource), **policy})
    assert (error.code, error.message) == (code, message)


@pytest.mark.parametrize(
    ("arn", "message"),
    [
        ("Music", "One or more parameter values were invalid: ARNs must start with 'arn:': Music"),
        (
            "arn:aws:dynamodb:us-east-1:999999999999:table/Music",
            "This action is only supported by accounts that match the resource owner\u2019s account.",
        ),
        (
            "arn:aws:dynamodb:eu-west-1:123456789012:table/Music",
            "One or more parameter values were invalid: Invalid resource Arn: arn:aws:dynamodb:eu-west-1:123456789012:table/Music",
        ),
    ],
)
def test_what_is_no_arn_of_ours_is_refused(engine: Engine, arn: str, message: str) -> None:
    error = refusal(engine, "GetResourcePolicy", {"ResourceArn": arn})
    assert (error.code, error.message) == ("ValidationException", message)


def test_another_revision_than_the_one_expected_is_named(engine: Engine, arn: str) -> None:
    first = engine.call("PutResourcePolicy", {"ResourceArn": arn, "Policy": POLICY})["RevisionId"]
    told = "Resource-based policy not found for the provided ResourceArn:"
    for operation, more in (("PutResourcePolicy", {"Policy": OTHER}), ("DeleteResourcePolicy", {})):
        error = refusal(engine, operation, {"ResourceArn": arn, "ExpectedRevisionId": "7", **more})
        assert error.message == (
            f"{told} Requested update for policy with revision id 7, "
            f"but the policy associated to target table Music has revision id {first}."
        )
    error = refusal(engine, "PutResourcePolicy", {"ResourceArn": arn, "Policy": OTHER, "ExpectedRevisionId": "NO_POLICY"})
    assert error.message == (
        f"{told} Requested policy update expecting none to be present for table Music, but a policy exists with revision id {first}."
    )


def test_there_is_no_policy_of_any_revision(engine: Engine, arn: str) -> None:
    error = refusal(engine, "DeleteResourcePolicy", {"ResourceArn": arn, "ExpectedRevisionId": "7"})
    assert error.message == f"Resource-based policy not found for the provided ResourceArn: {arn}"
