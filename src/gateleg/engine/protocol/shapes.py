"""The shapes of requests: kinds of members with their constraints, from AWS's published API model (`model.json`).

`bench/request_shapes.py` writes the model's facts from botocore's data. The tables here are where DynamoDB itself differs from it, as
observed: in which order it reports members and values, which limits it does not check, and how it words what it finds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import orjson

#: The pattern of table and index names, as DynamoDB prints it.
NAME_PATTERN = "[a-zA-Z0-9_.-]+"

#: The members of structures (or operations) that are reported first; the others follow in the order of the model.
_FIRST = {
    "PutItem": "ReturnConsumedCapacity TableName Item ConditionalOperator",
    "GetItem": "ReturnConsumedCapacity AttributesToGet",
    "UpdateItem": "ReturnConsumedCapacity TableName ReturnItemCollectionMetrics ReturnValues ConditionalOperator Key Expected",
    "DeleteItem": "ReturnConsumedCapacity TableName ReturnValues ReturnItemCollectionMetrics Key ConditionalOperator",
    "Query": "Select IndexName ReturnConsumedCapacity QueryFilter TableName ConditionalOperator AttributesToGet Limit KeyConditions "
    "ExclusiveStartKey ConsistentRead ScanIndexForward KeyConditionExpression FilterExpression",
    "Scan": "Select IndexName TotalSegments ReturnConsumedCapacity TableName ConditionalOperator ScanFilter Segment Limit AttributesToGet "
    "ExclusiveStartKey ConsistentRead FilterExpression",
    "BatchWriteItem": "ReturnConsumedCapacity ReturnItemCollectionMetrics",
    "TransactWriteItems": "ClientRequestToken ReturnConsumedCapacity ReturnItemCollectionMetrics",
    "SearchVectors": "TableName IndexName ReturnConsumedCapacity ProjectionExpression SearchVector SearchConditionExpression TopK",
    "CreateTable": "AttributeDefinitions TableName BillingMode ProvisionedThroughput KeySchema GlobalSecondaryIndexes",
    "UpdateTable": "TableName",
    "ListTables": "Limit",
    "RestoreTableFromBackup": "BackupArn",
    "RestoreTableToPointInTime": "SourceTableArn SourceTableName UseLatestRestorableTime RestoreDateTime",
    "AttributeValueUpdate": "Action",
    "CreateGlobalSecondaryIndexAction": "Projection",
    "ExpectedAttributeValue": "AttributeValueList ComparisonOperator Exists",
    "ProvisionedThroughput": "WriteCapacityUnits",
    "TimeToLiveSpecification": "AttributeName",
}

#: The values of enums in the order in which they are reported.
_ENUMS = {
    "ComparisonOperator": "IN NULL BETWEEN LT NOT_CONTAINS EQ GT NOT_NULL NE LE BEGINS_WITH GE CONTAINS",
    "ConditionalOperator": "OR AND",
    "ProjectionType": "ALL INCLUDE KEYS_ONLY",
    "ReturnValue": "ALL_NEW UPDATED_OLD ALL_OLD NONE UPDATED_NEW",
    "ScalarAttributeType": "B N S",
    "Select": "SPECIFIC_ATTRIBUTES COUNT ALL_ATTRIBUTES ALL_PROJECTED_ATTRIBUTES",
    "ShardIteratorType": "AFTER_SEQUENCE_NUMBER LATEST AT_TIMESTAMP AT_SEQUENCE_NUMBER TRIM_HORIZON",
}

#: The members that are required, where that differs. An invalid ARN is reported before missing parameters, so the operations on tags check
#: both themselves.
_REQUIRED = {
    "CreateTable": ("AttributeDefinitions", "TableName", "KeySchema"),
    "TagResource": (),
    "UntagResource": (),
    "ListTagsOfResource": (),
}

#: Other limits of a shape, wherever it is used.
_SHAPES: dict[str, dict[str, Any]] = {
    "AttributeName": {"max": None},
    "AttributeNameList": {"max": 255},
    "KeySchema": {"max": 2},
    "WriteRequests": {"min": None, "max": None},
    # The patterns of these two are Java's, and the operations that take them are not offered.
    "AutoScalingPolicyName": {"pattern": None},
    "AutoScalingRoleArn": {"pattern": None},
}

#: The same for a member of one structure (or operation), after the changes of its shape.
_MEMBERS: dict[str, dict[str, Any]] = {
    "BatchGetItem.RequestItems": {"names": True, "json": True},
    "BatchWriteItem.RequestItems": {"names": True, "sizes": (1, 25)},
    "KeysAndAttributes.Keys": {"terse": True},
    "Query.Limit": {"terse": True},
    # Only GSIs may have several key attributes; the operations check how many.
    "GlobalSecondaryIndex.KeySchema": {"max": None},
    "CreateGlobalSecondaryIndexAction.KeySchema": {"max": None},
    "SearchSchemaElement.AttributeName": {"max": 65535},
    "TagResource.ResourceArn": {"min": None},
    "UntagResource.ResourceArn": {"min": None},
    "ListTagsOfResource.ResourceArn": {"min": None},
}

#: The structures in which the faults of a table name are reported with all others.
_NAMED_AMONG_MEMBERS = frozenset(
    {
        *("PutItem", "GetItem", "UpdateItem", "DeleteItem", "Query", "Scan", "SearchVectors"),
        *("ConditionCheck", "Get", "Put", "Update", "Delete"),
    }
)

_NUMBERS: dict[str, Literal["Integer", "Long", "Double", "Date"]] = {
    "integer": "Integer",
    "long": "Long",
    "double": "Double",
    "timestamp": "Date",
}


@dataclass(frozen=True, slots=True)
class Text:
    """A string, with its length limits, its pattern or its set of values (in DynamoDB's order)."""

    min: int | None = None
    max: int | None = None
    pattern: str | None = None
    enum: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableName:
    """A table name or ARN.

    What is wrong with it is worded in three ways: with the other constraints (`member`), with these but a missing name on its own
    (`created`), and all of them on their own (`named`).
    """

    wording: Literal["member", "created", "named"] = "member"


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the given Java type; `terse` bounds are reported in the newer form, without the value."""

    java: Literal["Integer", "Long", "Double", "Date"]
    min: int | None = None
    max: int | None = None
    terse: bool = False


@dataclass(frozen=True, slots=True)
class Boolean:
    """A boolean."""


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of members of one kind; `terse` limits are reported in the newer form, without the value."""

    item: "Kind"
    min: int | None = None
    max: int | None = None
    terse: bool = False


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map from strings to members of one kind.

    `names` says that the keys are names of tables, `sizes` are the limits on the length of the values as DynamoDB states them
    for the whole map. The values of a map that is not `walked` are checked by the operations. A `json` map is printed as it came.
    """

    value: "Kind"
    names: bool = False
    sizes: tuple[int, int] | None = None
    walked: bool = True
    json: bool = False


@dataclass(frozen=True, slots=True)
class Structure:
    """A structure; errors are reported in the order of `members`."""

    name: str
    members: Mapping[str, "Kind"] = field(default_factory=dict)
    required: frozenset[str] = frozenset()


Kind = Text | TableName | Number | Boolean | ListOf | MapOf | Structure

#: An attribute value, whose content is validated where it is used.
VALUE = Structure("AttributeValue")


class RequestShapes(Mapping[str, Structure]):
    """Every operation of DynamoDB and of DynamoDB Streams, with the shape of its request, which is built when it is asked for."""

    def __getitem__(self, operation: str) -> Structure:
        return _request(operation)

    def __contains__(self, operation: object) -> bool:
        return operation in _model()["operations"]

    def __iter__(self) -> Iterator[str]:
        return iter(_model()["operations"])

    def __len__(self) -> int:
        return len(_model()["operations"])


@cache
def _model() -> Any:
    return orjson.loads(Path(__file__).with_name("model.json").read_bytes())


@cache
def _request(operation: str) -> Structure:
    return _structure(operation, _model()["shapes"][_model()["operations"][operation]])


@cache
def _kind(name: str) -> Kind:
    """The kind of a shape of the model."""
    shape = _model()["shapes"][name]
    kind = _published_kind(name, shape)
    return replace(kind, **_SHAPES[name]) if name in _SHAPES else kind


def _published_kind(name: str, shape: dict[str, Any]) -> Kind:
    low, high = shape.get("min"), shape.get("max")
    match shape["type"]:
        case "structure":
            return VALUE if name == VALUE.name else _structure(name, shape)
        case "list":
            return ListOf(_kind(shape["member"]), low, high)
        case "map":
            value = _kind(shape["value"])
            return MapOf(value, walked=value is not VALUE)
        case "string":
            enum = _ENUMS[name].split() if name in _ENUMS else shape.get("enum", ())
            return Text(low, high, shape.get("pattern"), tuple(enum))
        case "boolean":
            return Boolean()
        case number:
            return Number(_NUMBERS[number], low, high)


def _structure(name: str, shape: dict[str, Any]) -> Structure:
    published: dict[str, str] = {member.removesuffix("!"): inner for member, inner in shape["members"].items()}
    required = frozenset(_REQUIRED.get(name, (member[:-1] for member in shape["members"] if member.endswith("!"))))
    order = dict.fromkeys((*_FIRST.get(name, "").split(), *published))
    return Structure(name, {member: _member(name, member, published[member]) for member in order}, required)


def _member(structure: str, member: str, shape: str) -> Kind:
    if (member, shape) == ("TableName", "TableArn"):
        if structure in _NAMED_AMONG_MEMBERS:
            return TableName("member")
        return TableName("created" if structure == "CreateTable" else "named")
    kind, changes = _kind(shape), _MEMBERS.get(f"{structure}.{member}")
    return replace(kind, **changes) if changes else kind
