"""The shapes of requests that read and write items."""

from gateleg.engine.protocol.kinds import NAME_PATTERN, Dictionary, Flag, Kind, Listing, Number, Structure, TableName, Text, structure

#: An attribute value. What it holds is checked where it is read.
VALUE = Structure("AttributeValue")
#: A map of attribute values: an item, a key, or the values of an expression.
VALUES = Dictionary(VALUE, walked=False)
NAMES = Dictionary(Text())
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
ATTRIBUTES_TO_GET = Listing(Text(), 1, 255)

CONDITIONS = Dictionary(structure("Condition", {"AttributeValueList": Listing(VALUE), "ComparisonOperator!": COMPARISON}))
EXPECTED = Dictionary(
    structure(
        "ExpectedAttributeValue",
        {"AttributeValueList": Listing(VALUE), "ComparisonOperator": COMPARISON, "Exists": Flag(), "Value": VALUE},
    )
)
UPDATES = Dictionary(structure("AttributeValueUpdate", {"Action": Text(enum=("ADD", "PUT", "DELETE")), "Value": VALUE}))

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
_PARAMETERS = Listing(VALUE, 1)
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
            "ConsistentRead": Flag(),
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
            "ConsistentRead": Flag(),
            "ScanIndexForward": Flag(),
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
            "ConsistentRead": Flag(),
            "FilterExpression": EXPRESSION,
            "ProjectionExpression": EXPRESSION,
            **_PLACEHOLDERS,
        },
    ),
    structure(
        "BatchGetItem",
        {
            "RequestItems!": Dictionary(
                structure(
                    "KeysAndAttributes",
                    {
                        "Keys!": Listing(VALUES, 1, 100, terse=True),
                        "AttributesToGet": ATTRIBUTES_TO_GET,
                        "ConsistentRead": Flag(),
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
            "RequestItems!": Dictionary(
                Listing(
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
            "TransactItems!": Listing(structure("TransactGetItem", {"Get!": _GET}), 1, 100),
            "ReturnConsumedCapacity": CAPACITY,
        },
    ),
    structure(
        "TransactWriteItems",
        {
            "ClientRequestToken": _TOKEN,
            "ReturnConsumedCapacity": CAPACITY,
            "ReturnItemCollectionMetrics": METRICS,
            "TransactItems!": Listing(_WRITE, 1, 100),
        },
    ),
    structure(
        "ExecuteStatement",
        {
            "Statement!": _STATEMENT,
            "Parameters": _PARAMETERS,
            "ConsistentRead": Flag(),
            "NextToken": Text(1, 32768),
            "ReturnConsumedCapacity": CAPACITY,
            "Limit": Number("Integer", 1),
            "ReturnValuesOnConditionCheckFailure": RETURN_ON_FAILURE,
        },
    ),
    structure(
        "BatchExecuteStatement",
        {
            "Statements!": Listing(
                structure(
                    "BatchStatementRequest",
                    {
                        "Statement!": _STATEMENT,
                        "Parameters": _PARAMETERS,
                        "ConsistentRead": Flag(),
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
            "TransactStatements!": Listing(
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
            "SearchVector!": Listing(VALUE, 1, 4096),
            "SearchConditionExpression": EXPRESSION,
            "TopK!": Number("Integer", 1),
            **_PLACEHOLDERS,
        },
    ),
)
