"""The shapes of requests that read and write items."""

from gateleg.engine.protocol.kinds import NAME_PATTERN, Boolean, Kind, ListOf, MapOf, Number, Structure, TableName, Text, structure

#: An attribute value, whose content is validated where it is used.
VALUE = Structure("AttributeValue")
#: A map of attribute values: an item, a key, or the values of an expression.
VALUES = MapOf(VALUE, walked=False)
NAMES = MapOf(Text())
TABLE = TableName()
INDEX = Text(3, 255, NAME_PATTERN)
EXPRESSION = Text()

CAPACITY = Text(enum=("INDEXES", "TOTAL", "NONE"))
METRICS = Text(enum=("SIZE", "NONE"))
RETURN = Text(enum=("ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"))
RETURN_ON_FAILURE = Text(enum=("ALL_OLD", "NONE"))
SELECT = Text(enum=("SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"))
CONDITIONAL = Text(enum=("OR", "AND"))
COMPARISON = Text(
    enum=(
        *("IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT"),
        *("NOT_NULL", "NE", "LE", "BEGINS_WITH", "GE", "CONTAINS"),
    )
)
ATTRIBUTES_TO_GET = ListOf(Text(), 1, 255)

CONDITIONS = MapOf(structure("Condition", {"AttributeValueList": ListOf(VALUE), "ComparisonOperator!": COMPARISON}))
EXPECTED = MapOf(
    structure(
        "ExpectedAttributeValue",
        {"AttributeValueList": ListOf(VALUE), "ComparisonOperator": COMPARISON, "Exists": Boolean(), "Value": VALUE},
    )
)
UPDATES = MapOf(structure("AttributeValueUpdate", {"Action": Text(enum=("ADD", "PUT", "DELETE")), "Value": VALUE}))

_PLACEHOLDERS: dict[str, Kind] = {"ExpressionAttributeNames": NAMES, "ExpressionAttributeValues": VALUES}
_CONDITIONED: dict[str, Kind] = {
    "ConditionExpression": EXPRESSION,
    **_PLACEHOLDERS,
    "ReturnValuesOnConditionCheckFailure": RETURN_ON_FAILURE,
}

_GET = structure("Get", {"Key!": VALUES, "TableName!": TABLE, "ProjectionExpression": EXPRESSION, "ExpressionAttributeNames": NAMES})
_WRITE = structure(
    "TransactWriteItem",
    {
        "ConditionCheck": structure(
            "ConditionCheck", {"Key!": VALUES, "TableName!": TABLE, "ConditionExpression!": EXPRESSION, **_CONDITIONED}
        ),
        "Put": structure("Put", {"Item!": VALUES, "TableName!": TABLE, **_CONDITIONED}),
        "Delete": structure("Delete", {"Key!": VALUES, "TableName!": TABLE, **_CONDITIONED}),
        "Update": structure("Update", {"Key!": VALUES, "UpdateExpression!": EXPRESSION, "TableName!": TABLE, **_CONDITIONED}),
    },
)

_STATEMENT = Text(1, 8192)
_PARAMETERS = ListOf(VALUE, 1)
_TOKEN = Text(1, 36)

OPERATIONS = (
    structure(
        "PutItem",
        {
            "ReturnConsumedCapacity": CAPACITY,
            "TableName!": TABLE,
            "Item!": VALUES,
            "ConditionalOperator": CONDITIONAL,
            "Expected": EXPECTED,
            "ReturnValues": RETURN,
            "ReturnItemCollectionMetrics": METRICS,
            **_CONDITIONED,
        },
    ),
    structure(
        "GetItem",
        {
            "ReturnConsumedCapacity": CAPACITY,
            "AttributesToGet": ATTRIBUTES_TO_GET,
            "TableName!": TABLE,
            "Key!": VALUES,
            "ConsistentRead": Boolean(),
            "ProjectionExpression": EXPRESSION,
            "ExpressionAttributeNames": NAMES,
        },
    ),
    structure(
        "UpdateItem",
        {
            "ReturnConsumedCapacity": CAPACITY,
            "TableName!": TABLE,
            "ReturnItemCollectionMetrics": METRICS,
            "ReturnValues": RETURN,
            "ConditionalOperator": CONDITIONAL,
            "Key!": VALUES,
            "Expected": EXPECTED,
            "AttributeUpdates": UPDATES,
            "UpdateExpression": EXPRESSION,
            **_CONDITIONED,
        },
    ),
    structure(
        "DeleteItem",
        {
            "ReturnConsumedCapacity": CAPACITY,
            "TableName!": TABLE,
            "ReturnValues": RETURN,
            "ReturnItemCollectionMetrics": METRICS,
            "Key!": VALUES,
            "ConditionalOperator": CONDITIONAL,
            "Expected": EXPECTED,
            **_CONDITIONED,
        },
    ),
    structure(
        "Query",
        {
            "Select": SELECT,
            "IndexName": INDEX,
            "ReturnConsumedCapacity": CAPACITY,
            "QueryFilter": CONDITIONS,
            "TableName!": TABLE,
            "ConditionalOperator": CONDITIONAL,
            "AttributesToGet": ATTRIBUTES_TO_GET,
            "Limit": Number("Integer", 1, terse=True),
            "KeyConditions": CONDITIONS,
            "ExclusiveStartKey": VALUES,
            "ConsistentRead": Boolean(),
            "ScanIndexForward": Boolean(),
            "KeyConditionExpression": EXPRESSION,
            "FilterExpression": EXPRESSION,
            "ProjectionExpression": EXPRESSION,
            **_PLACEHOLDERS,
        },
    ),
    structure(
        "Scan",
        {
            "Select": SELECT,
            "IndexName": INDEX,
            "TotalSegments": Number("Integer", 1, 1_000_000),
            "ReturnConsumedCapacity": CAPACITY,
            "TableName!": TABLE,
            "ConditionalOperator": CONDITIONAL,
            "ScanFilter": CONDITIONS,
            "Segment": Number("Integer", 0, 999_999),
            "Limit": Number("Integer", 1),
            "AttributesToGet": ATTRIBUTES_TO_GET,
            "ExclusiveStartKey": VALUES,
            "ConsistentRead": Boolean(),
            "FilterExpression": EXPRESSION,
            "ProjectionExpression": EXPRESSION,
            **_PLACEHOLDERS,
        },
    ),
    structure(
        "BatchGetItem",
        {
            "RequestItems!": MapOf(
                structure(
                    "KeysAndAttributes",
                    {
                        "Keys!": ListOf(VALUES, 1, 100, terse=True),
                        "AttributesToGet": ATTRIBUTES_TO_GET,
                        "ConsistentRead": Boolean(),
                        "ProjectionExpression": EXPRESSION,
                        "ExpressionAttributeNames": NAMES,
                    },
                ),
                names=True,
                json=True,
            ),
            "ReturnConsumedCapacity": CAPACITY,
        },
    ),
    structure(
        "BatchWriteItem",
        {
            "ReturnConsumedCapacity": CAPACITY,
            "ReturnItemCollectionMetrics": METRICS,
            "RequestItems!": MapOf(
                ListOf(
                    structure(
                        "WriteRequest",
                        {
                            "PutRequest": structure("PutRequest", {"Item!": VALUES}),
                            "DeleteRequest": structure("DeleteRequest", {"Key!": VALUES}),
                        },
                    )
                ),
                names=True,
                sizes=(1, 25),
            ),
        },
    ),
    structure(
        "TransactGetItems",
        {
            "TransactItems!": ListOf(structure("TransactGetItem", {"Get!": _GET}), 1, 100),
            "ReturnConsumedCapacity": CAPACITY,
        },
    ),
    structure(
        "TransactWriteItems",
        {
            "ClientRequestToken": _TOKEN,
            "ReturnConsumedCapacity": CAPACITY,
            "ReturnItemCollectionMetrics": METRICS,
            "TransactItems!": ListOf(_WRITE, 1, 100),
        },
    ),
    structure(
        "ExecuteStatement",
        {
            "Statement!": _STATEMENT,
            "Parameters": _PARAMETERS,
            "ConsistentRead": Boolean(),
            "NextToken": Text(1, 32768),
            "ReturnConsumedCapacity": CAPACITY,
            "Limit": Number("Integer", 1),
            "ReturnValuesOnConditionCheckFailure": RETURN_ON_FAILURE,
        },
    ),
    structure(
        "BatchExecuteStatement",
        {
            "Statements!": ListOf(
                structure(
                    "BatchStatementRequest",
                    {
                        "Statement!": _STATEMENT,
                        "Parameters": _PARAMETERS,
                        "ConsistentRead": Boolean(),
                        "ReturnValuesOnConditionCheckFailure": RETURN_ON_FAILURE,
                    },
                ),
                1,
                25,
            ),
            "ReturnConsumedCapacity": CAPACITY,
        },
    ),
    structure(
        "ExecuteTransaction",
        {
            "TransactStatements!": ListOf(
                structure(
                    "ParameterizedStatement",
                    {"Statement!": _STATEMENT, "Parameters": _PARAMETERS, "ReturnValuesOnConditionCheckFailure": RETURN_ON_FAILURE},
                ),
                1,
                100,
            ),
            "ClientRequestToken": _TOKEN,
            "ReturnConsumedCapacity": CAPACITY,
        },
    ),
    structure(
        "SearchVectors",
        {
            "TableName!": TABLE,
            "IndexName!": INDEX,
            "ReturnConsumedCapacity": CAPACITY,
            "ProjectionExpression": EXPRESSION,
            "SearchVector!": ListOf(VALUE, 1, 4096),
            "SearchConditionExpression": EXPRESSION,
            "TopK!": Number("Integer", 1),
            **_PLACEHOLDERS,
        },
    ),
)
