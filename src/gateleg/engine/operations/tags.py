"""TagResource, UntagResource and ListTagsOfResource."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, invalid_parameter, not_found, validation
from gateleg.engine.operations.definition import Wire
from gateleg.engine.schema import Table

MAX_TAGS = 50
_ARN = re.compile(r"arn:[^:]+:dynamodb:([^:]*):(\d+):(.+)")
_SHAPE = re.compile(r"([^:]+:){5}[^/]+/.+")
_TABLE = re.compile(r"table/([a-zA-Z0-9_.-]{3,255})")
_TAG_SYMBOLS = frozenset("_.:/=+-@")


def tag_resource(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Add tags to a table, or change their values."""
    name = _table_name(context, "TagResource", request.get("ResourceArn"), request.get("Tags"), "tags")
    if not request["Tags"]:
        raise validation("Atleast one Tag needs to be provided as Input.")
    with context.database.write() as connection:
        table = _require_table(context, name, f"Requested resource not found: ResourcArn: {request['ResourceArn']} not found")
        context.catalog.replace(connection, replace(table, tags=add_tags(table.tags, request["Tags"])))
    return {}


def untag_resource(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Remove tags from a table; those it does not have are ignored."""
    name = _table_name(context, "UntagResource", request.get("ResourceArn"), request.get("TagKeys"), "tagKeys")
    if not request["TagKeys"]:
        raise validation("Atleast one Tag Key needs to be provided as Input.")
    with context.database.write() as connection:
        table = _require_table(context, name, "Requested resource not found")
        left = {key: value for key, value in table.tags.items() if key not in request["TagKeys"]}
        context.catalog.replace(connection, replace(table, tags=left))
    return {}


def list_tags_of_resource(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """List the tags of a table on one page."""
    arn = request.get("ResourceArn")
    name = _table_name(context, "ListTagsOfResource", arn, (), "")
    table = _require_table(context, name, f"Requested resource not found: ResourcArn: {arn} not found")
    return {"Tags": [{"Key": key, "Value": value} for key, value in table.tags.items()]}


def add_tags(tags: dict[str, str], given: Sequence[Wire]) -> dict[str, str]:
    """Tags with others added; raises DynamoDB's error for invalid ones."""
    for tag in given:
        if tag["Key"].lower().startswith("aws:"):
            raise invalid_parameter("aws: prefixed tag key names are not allowed for external use.")
        for text in (tag["Key"], tag["Value"]):
            if not all(c.isalnum() or c.isspace() or c in _TAG_SYMBOLS for c in text):
                raise invalid_parameter(f"Tags may contain letters, numbers, white space and the characters _ . : / = + - @ only: {text}")
    both = {**tags, **{tag["Key"]: tag["Value"] for tag in given}}
    if len(both) > MAX_TAGS:
        raise invalid_parameter(f"Too many tags: a resource may have at most {MAX_TAGS} tags")
    return both


def access_denied(context: Context, operation: str, arn: str) -> EngineError:
    """The error for a resource of another account or region."""
    user = f"arn:aws:iam::{context.namespace.account}:user/gateleg"
    return EngineError("AccessDeniedException", f"User: {user} is not authorized to perform: dynamodb:{operation} on resource: {arn}")


def _table_name(context: Context, operation: str, arn: str | None, member: object, path: str) -> str:
    """The table name in an ARN; `member` must be present too."""
    if arn is None:
        raise validation("Invalid TableArn")
    if not arn.startswith("arn:") and not _SHAPE.fullmatch(arn):
        raise validation("ARNs must start with 'arn:'")
    if member is None:
        raise validation(f"1 validation error detected: Value null at '{path}' failed to satisfy constraint: Member must not be null")
    parts = _ARN.fullmatch(arn)
    if parts is None:
        raise validation(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    region, account, resource = parts.groups()
    table = _TABLE.fullmatch(resource)
    if table is None:
        if re.match(r"table/[^/]+/(index|backup|export|import)/", resource):
            raise invalid_parameter(f"Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {arn}")
        raise validation(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    if (account, region) != (context.namespace.account, context.namespace.region):
        raise access_denied(context, operation, arn)
    return table[1]


def _require_table(context: Context, name: str, message: str) -> Table:
    table = context.catalog.find_table(context.namespace, name)
    if table is None:
        raise not_found(message)
    return table
