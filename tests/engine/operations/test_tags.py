from typing import Any

import pytest

from gateleg.engine.engine import Engine
from tests.engine.operations.requests import refusal, table


@pytest.fixture
def arn(engine: Engine) -> str:
    arn: str = engine.call("CreateTable", table("a"))["TableDescription"]["TableArn"]
    return arn


def tags(**pairs: str) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in pairs.items()]


def listed(engine: Engine, arn: str) -> Any:
    return engine.call("ListTagsOfResource", {"ResourceArn": arn})["Tags"]


def test_tags_are_added_replaced_and_removed(engine: Engine, arn: str) -> None:
    assert engine.call("TagResource", {"ResourceArn": arn, "Tags": tags(a="1", b="2")}) == {}
    engine.call("TagResource", {"ResourceArn": arn, "Tags": tags(b="3", c="")})
    assert listed(engine, arn) == tags(a="1", b="3", c="")
    assert engine.call("UntagResource", {"ResourceArn": arn, "TagKeys": ["a", "unknown"]}) == {}
    assert listed(engine, arn) == tags(b="3", c="")


def test_a_table_is_created_with_tags(engine: Engine) -> None:
    engine.call("CreateTable", table("a", Tags=tags(a="1")))
    assert listed(engine, engine.namespace.arn("table/Music")) == tags(a="1")


def test_a_resource_has_at_most_fifty_tags(engine: Engine, arn: str) -> None:
    engine.call("TagResource", {"ResourceArn": arn, "Tags": tags(**{str(i): "" for i in range(50)})})
    engine.call("TagResource", {"ResourceArn": arn, "Tags": tags(**{"1": "again"})})
    assert refusal(engine, "TagResource", {"ResourceArn": arn, "Tags": tags(more="")}).code == "ValidationException"
    assert len(listed(engine, arn)) == 50


@pytest.mark.parametrize("key", ["hi!", "d%g", '"hello"', "aws:mine", ""])
def test_some_keys_are_refused(engine: Engine, arn: str, key: str) -> None:
    assert refusal(engine, "TagResource", {"ResourceArn": arn, "Tags": [{"Key": key, "Value": "x"}]}).code == "ValidationException"


def test_letters_of_all_scripts_are_allowed(engine: Engine, arn: str) -> None:
    given = [{"Key": "законные буквы", "Value": "א" * 256}]
    engine.call("TagResource", {"ResourceArn": arn, "Tags": given})
    assert listed(engine, arn) == given


def test_no_tags_at_all(engine: Engine, arn: str) -> None:
    assert refusal(engine, "TagResource", {"ResourceArn": arn, "Tags": []}).message == "Atleast one Tag needs to be provided as Input."
    assert (
        refusal(engine, "UntagResource", {"ResourceArn": arn, "TagKeys": []}).message
        == "Atleast one Tag Key needs to be provided as Input."
    )
    missing = "1 validation error detected: Value null at 'tags' failed to satisfy constraint: Member must not be null"
    assert refusal(engine, "TagResource", {"ResourceArn": arn}).message == missing


def test_a_table_that_is_not_there(engine: Engine, arn: str) -> None:
    other = f"{arn}x"
    error = refusal(engine, "TagResource", {"ResourceArn": other, "Tags": tags(a="1")})
    assert (error.code, error.message) == ("ResourceNotFoundException", f"Requested resource not found: ResourcArn: {other} not found")
    assert refusal(engine, "UntagResource", {"ResourceArn": other, "TagKeys": ["a"]}).message == "Requested resource not found"


def test_a_table_of_another_account_is_out_of_reach(engine: Engine) -> None:
    other = "arn:aws:dynamodb:us-east-1:999999999999:table/Music"
    error = refusal(engine, "ListTagsOfResource", {"ResourceArn": other})
    assert error.code == "AccessDeniedException"
    assert (error.message or "").endswith(f"is not authorized to perform: dynamodb:ListTagsOfResource on resource: {other}")


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        ("not-a-valid-arn", "ARNs must start with 'arn:'"),
        ("arn:not/a/good/format", "Invalid TableArn: Invalid ResourceArn provided as input arn:not/a/good/format"),
        (
            "arn:aws:dynamodb:us-east-1:123456789012:table/Music/index/gsi",
            "One or more parameter values were invalid: Invalid resource arn provided, only table or stream is accepted. "
            "Provided resource arn: arn:aws:dynamodb:us-east-1:123456789012:table/Music/index/gsi",
        ),
    ],
)
def test_malformed_arns(engine: Engine, resource: str, message: str) -> None:
    error = refusal(engine, "ListTagsOfResource", {"ResourceArn": resource})
    assert (error.code, error.message) == ("ValidationException", message)
