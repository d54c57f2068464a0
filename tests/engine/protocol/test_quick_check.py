import copy
from typing import Any

import botocore.session
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.engine.protocol import OPERATIONS, check
from gateleg.engine.protocol.check import compiled, enforce, read
from gateleg.engine.protocol.shapes import Boolean, Kind, ListOf, MapOf, Number, Structure, TableName, Text

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def near(kind: Kind) -> st.SearchStrategy[Any]:
    """Values that are mostly of a kind, and sometimes anything."""
    return st.one_of(_likely(kind), _likely(kind), _likely(kind), JUNK)


def _likely(kind: Kind) -> st.SearchStrategy[Any]:
    match kind:
        case Structure():
            return st.fixed_dictionaries({}, optional={name: near(member) for name, member in kind.members.items()})
        case ListOf():
            return st.lists(near(kind.item), max_size=3)
        case MapOf():
            return st.dictionaries(st.sampled_from(["abc", "Music", "x!"]), near(kind.value), max_size=2)
        case Number():
            return st.integers(-1, 30)
        case Boolean():
            return st.booleans() | st.sampled_from(["true", "no", "maybe"])
        case TableName():
            return st.sampled_from(["abc", "", "a;", "arn:aws:dynamodb:us-east-1:123456789012:table/abc"])
        case Text():
            return st.sampled_from([*kind.enum, "abc", "x" * (kind.min or 1), "!", ""])


REQUESTS = {name: _likely(shape) for name, shape in OPERATIONS.items()}


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_glance_passes_only_what_a_closer_look_would_pass(data: st.DataObject) -> None:
    operation = data.draw(st.sampled_from(sorted(OPERATIONS)))
    shape = OPERATIONS[operation]
    request = data.draw(REQUESTS[operation])
    _, test = compiled(shape)
    if test is None or test(request):
        before = copy.deepcopy(request)
        read(shape, request)
        enforce(shape, request)
        assert request == before


def test_common_requests_pass_at_a_glance() -> None:
    requests: dict[str, dict[str, Any]] = {
        "GetItem": {"TableName": "Music", "Key": {"a": {"S": "x"}}, "ConsistentRead": True},
        "PutItem": {"TableName": "Music", "Item": {}, "ConditionExpression": "a = :a", "ExpressionAttributeValues": {":a": {"S": "x"}}},
        "UpdateItem": {"TableName": "Music", "Key": {}, "UpdateExpression": "SET #a = :a", "ExpressionAttributeNames": {"#a": "a"}},
        "Query": {"TableName": "Music", "KeyConditionExpression": "a = :a", "Limit": 10, "ScanIndexForward": False},
        "BatchWriteItem": {"RequestItems": {"Music": [{"PutRequest": {"Item": {}}}, {"DeleteRequest": {"Key": {}}}]}},
        "TransactWriteItems": {"TransactItems": [{"Put": {"TableName": "Music", "Item": {}}}], "ClientRequestToken": "t"},
    }
    for operation, request in requests.items():
        _, test = compiled(OPERATIONS[operation])
        assert test is not None
        assert test(request), operation
        check(operation, request)


@pytest.mark.peer
def test_the_operations_are_those_of_the_published_api() -> None:
    session = botocore.session.get_session()
    published: set[str] = set()
    for service in ("dynamodb", "dynamodbstreams"):
        model: Any = session.get_service_model(service)
        published |= set(model.operation_names)
    assert published <= set(OPERATIONS)


@pytest.mark.peer
def test_no_member_of_the_published_api_is_missing() -> None:
    session = botocore.session.get_session()
    for service in ("dynamodb", "dynamodbstreams"):
        model: Any = session.get_service_model(service)
        for name in model.operation_names:
            members = model.operation_model(name).input_shape
            assert set(members.members if members else ()) <= set(OPERATIONS[name].members), name
